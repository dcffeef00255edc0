package seats

import (
	"context"
	"errors"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/meters"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A decision is what Validate or Activate decided on a Reader: the verdict, and what
// write stores for it. Its facts are those after write.
type decision struct {
	facts
	verdict VerdictWithFile
	offer   offer
	renews  bool // the activation is stored with its new lease

	takes    bool                                  // the activation is new
	start    func(context.Context, *call.Tx) error // stores that the license begins with it; nil: it does not
	evicted  *record.Activation                    // whose seat it takes; nil: a free one
	replaced string                                // ID of the fingerprint's earlier activation
	unspent  bool                                  // the spent seat of the fingerprint is removed
	swept    []string                              // IDs of activations that ended long ago
	units    *meters.Ledger                        // counts the activation; nil: no meter does

	// leases are activations whose leases have ended or were shortened. They are
	// stored even if the activation is refused.
	leases  []store.Activation
	recount bool  // the stored count is missing or outdated
	refused error // why there is no activation: only leases and the count are stored
}

// errMoreLeases refuses an activation until more leases have ended: decide again.
var errMoreLeases = errors.New("more leases have ended")

// write stores a decision.
func (s Service) write(ctx context.Context, tx *call.Tx, d *decision) error {
	if len(d.leases) > 0 {
		if err := tx.PutActivations(ctx, d.leases...); err != nil {
			return err
		}
	}
	if d.refused != nil {
		return putSeats(ctx, tx, d.license.ID, d.count)
	}
	if d.start != nil {
		if err := d.start(ctx, tx); err != nil {
			return err
		}
	}
	if d.takes {
		if err := s.vacate(ctx, tx, d); err != nil {
			return err
		}
	}
	if (d.takes || d.renews) && d.offer.hold.IsZero() { // otherwise commit stores it
		if err := tx.PutActivations(ctx, d.seat.Row()); err != nil {
			return err
		}
	}
	if d.takes {
		if err := meters.Of(s.Call).Put(ctx, tx, d.units); err != nil {
			return err
		}
		if err := s.appendSeat(ctx, tx, api.EventActivationCreated, d.license, d.seat, api.EventData{}); err != nil {
			return err
		}
		if err := putSeats(ctx, tx, d.license.ID, d.count); err != nil {
			return err
		}
	}
	return s.commit(ctx, tx, d)
}

// vacate stores what a new activation displaces.
func (s Service) vacate(ctx context.Context, tx *call.Tx, d *decision) error {
	if d.evicted != nil {
		if err := s.endSeat(ctx, tx, d.license, d.evicted, api.ActivationEvicted, "", false); err != nil {
			return err
		}
	}
	gone := d.swept
	if d.replaced != "" {
		gone = append(gone, d.replaced)
	}
	if len(gone) > 0 {
		if err := tx.DeleteActivations(ctx, d.license.ID, gone...); err != nil {
			return err
		}
	}
	if !d.unspent {
		return nil
	}
	return tx.DeleteEntries(ctx, SpentKind, spentKey(d.license.ID, d.fingerprint))
}
