package seats

import (
	"context"
	"errors"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/meters"
	"github.com/seed-d8a106b4/licensekit/store"
)

// decide decides whether the fingerprint, if there is one, keeps its activation or gets a
// new one on the valid license that find returns, and which file it gets for ask. It writes
// nothing. A refusal is an error if nothing is to be stored for it.
func (s Service) decide(ctx context.Context, r store.Reader, find func(store.Reader, time.Time) (facts, error), now time.Time, p *api.ActivateKeyParams, ask *fileAsk) (d decision, err error) {
	if d.facts, err = find(r, now); err != nil {
		return d, err
	}
	if p.Fingerprint != "" {
		if err := d.findActivation(ctx, r, p.Fingerprint); err != nil {
			return d, err
		}
		switch {
		case !d.holdsSeat():
			err := s.takeSeat(ctx, r, *p, &d)
			if d.recount && (err == errMoreLeases || errors.Is(err, api.ErrDenied) || errors.Is(err, api.ErrSeatHeld)) {
				d.refused = err
				return d, nil
			}
			if err != nil {
				return d, err
			}
		case ask == nil || !ask.issue || ask.holder && s.Owner == nil: // otherwise the program has not been seen
			d.keepSeat(*p)
		}
	}
	if d.verdict.Verdict, err = evaluate(question{fingerprint: p.Fingerprint}, d.facts); err != nil || ask == nil {
		return d, err
	}
	if d.offer, err = s.offerFile(ctx, r, d.facts, d.verdict.Verdict, *ask); err != nil {
		return d, err
	}
	if d.offer.refused != nil && ask.issue {
		return d, &api.NoFileError{Reason: *d.offer.refused} // no seat without the file
	}
	d.verdict.take(d.offer)
	return d, nil
}

// repeats reports whether the fingerprint has an activation that Activate leaves unchanged.
// The verdict of d is then the answer. Its reads are on no snapshot, which would take a
// database server two round trips more: it counts if the license that find returns is the
// same afterwards.
func (s Service) repeats(ctx context.Context, find func(store.Reader, time.Time) (facts, error), d *decision, p api.ActivateKeyParams) (bool, error) {
	r := s.Reader()
	if err := d.findActivation(ctx, r, p.Fingerprint); err != nil || !d.holdsSeat() {
		return false, err
	}
	if d.keepSeat(p); d.renews {
		return false, nil
	}
	var err error
	if d.verdict.Verdict, err = evaluate(question{fingerprint: p.Fingerprint}, d.facts); err != nil {
		return false, err
	}
	if d.verdict.Meters, err = meters.Uses(ctx, r, d.license, d.at); err != nil {
		return false, err
	}
	after, err := find(r, d.at)
	return err == nil && after.license.Revision == d.license.Revision, nil
}

// begin makes the license of d, if its time begins with its first activation, what it
// becomes by that.
func (s Service) begin(ctx context.Context, r store.Reader, d *decision) (err error) {
	if !d.license.Awaits {
		return nil
	}
	if d.license, d.start, err = s.Started(ctx, r, d.license, d.at); err == nil {
		d.facts, err = d.ifValid(d.asked)
	}
	return err
}

// keepSeat renews the active activation of the fingerprint.
func (d *decision) keepSeat(p api.ActivateKeyParams) {
	d.renews = d.renewSeat()
	if p.PerProcess && !d.seat.PerProcess { // approved in a browser, which does not know
		d.seat.PerProcess, d.renews = true, true
	}
	if p.Name != "" && p.Name != d.seat.Name {
		d.seat.Name, d.renews = p.Name, true
	}
	if metadata := call.EncodeMap(p.Metadata); len(metadata) > 0 && string(metadata) != string(d.seat.Metadata) {
		d.seat.Metadata, d.renews = metadata, true
	}
}

// takeSeat gives the fingerprint a new activation, and frees a seat for it first if it
// must. Before an error, it may have ended leases.
func (s Service) takeSeat(ctx context.Context, r store.Reader, p api.ActivateKeyParams, d *decision) (err error) {
	if err := s.begin(ctx, r, d); err != nil {
		return err
	}
	var counted bool
	if d.count, counted, err = seatCount(ctx, r, d.license.ID); err != nil {
		return err
	}
	d.recount = !counted && d.count > 0
	if !p.PerProcess {
		if d.units, err = s.reserve(ctx, r, d.facts); err != nil {
			return err
		}
	}
	if err := s.freeSeats(ctx, r, d); err != nil {
		return err
	}
	if d.full() {
		if err := s.evict(ctx, r, p.TakeOver, d); err != nil {
			return err
		}
	}
	var held time.Time
	if d.seated { // the fingerprint's earlier activation, which has ended
		held, d.replaced = d.seat.HeldUntil, d.seat.ID
		d.count -= d.own()
	}
	if held.After(d.at) || d.holdOffline { // with the latter, a transfer may have deleted the activation
		spent, err := spentUntil(ctx, r, d.license.ID, p.Fingerprint)
		if err != nil {
			return err
		}
		held, d.unspent = call.LastOf(held, spent), !spent.IsZero()
	}
	d.takes, d.seated, d.seat = true, true, record.Activation{
		Activation: store.Activation{
			LicenseID:   d.license.ID,
			ID:          store.NewID("act", d.at),
			Fingerprint: p.Fingerprint,
		},
		Name:       p.Name,
		CreatedAt:  d.at,
		LastSeenAt: d.at,
		Metadata:   call.EncodeMap(p.Metadata),
		PerProcess: p.PerProcess,
	}
	licenses.SetLease(&d.seat, licenses.LeaseEnd(d.license, d.at), held)
	d.count++
	if call.IsOfficeSeat(p.Fingerprint) { // one of many in the Update
		return nil
	}
	return d.sweep(ctx, r)
}

// evict chooses the activation of a full license that ends to free its seat.
func (s Service) evict(ctx context.Context, r store.Reader, takeOver string, d *decision) error {
	denied, err := d.deniedFull()
	if err != nil {
		return err
	}
	if takeOver == "" || d.taken == d.spent || int64(d.taken) > d.license.MaxActivations {
		return denied
	}
	var victim record.Activation
	if takeOver == api.TakeOverOldest {
		oldest, err := r.Activations(ctx, store.ActivationQuery{LicenseID: d.license.ID, LiveAt: d.at, Limit: 1})
		if err != nil {
			return err
		}
		if len(oldest) == 0 { // the stored count is not that of the activations
			return denied
		}
		if victim, err = record.ReadActivation(oldest[0]); err == nil && lentToOffice(victim, d.at) {
			victim, err = oldestProgram(ctx, r, victim, d.at)
		}
		if err != nil {
			return err
		}
	} else if victim, err = seat(ctx, r, d.license.ID, takeOver); errors.Is(err, api.ErrNotFound) {
		return denied
	} else if err != nil {
		return err
	}
	if activationStatusAt(victim, d.at) != api.ActivationLive {
		return denied
	}
	if _, err := s.needsForce(ctx, r, d.at, d.license, victim, false, d.fingerprint); err != nil {
		return err
	}
	d.evicted = &victim
	d.count--
	return nil
}

// deniedFull returns the error for a license that is valid but has no free
// seat.
func (f facts) deniedFull() (*api.DeniedError, error) {
	l, err := licenses.FromRecord(f.license, f.at)
	if err != nil {
		return nil, err
	}
	l.Key, l.Reference = "", ""
	v := deny(f.fullReason())
	v.License, v.RecheckAfter = &l, call.Seconds(f.recheck)
	return &api.DeniedError{Verdict: v}, nil
}

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
