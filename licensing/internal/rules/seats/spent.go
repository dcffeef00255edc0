package seats

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A license file holds the seat of its activation: the program may run from
// the file, so the seat counts until the file has expired on every clock.
// The store's LeaseEndsAt of an activation is the later of the end of its
// lease and HeldUntil, so admission, the index and the sweep need no rule of
// their own for held seats.

// holdFor returns until when a file that expires at exp holds its seat. The
// clocks of the processes that share a store may differ by the leeway.
func holdFor(exp time.Time) time.Time { return exp.Add(licensefile.Leeway) }

// hold holds the seat of an activation for a file of a generation.
func hold(a *record.Activation, until time.Time, generation int64) {
	licenses.SetLease(a, licenses.LeaseOf(*a), until)
	a.HeldGeneration = generation
}

// SpentKind is the kind of the entries that name spent seats: those of activations
// that were released, evicted or, with a transfer, deleted while they were held. Key is
// a spentKey; Owner is the license ID, and ExpiresAt is HeldUntil. A license without a
// limit has them too, because it may get one.
const SpentKind = "spent_seat"

// A spentSeat is the data of such an entry.
type spentSeat struct {
	Forced bool `json:"forced,omitempty"` // released or evicted, which needed force
}

// leastSpent is how many spent seats every license may have: with one seat, a
// customer moves to another machine and back.
const leastSpent = 3

// needsForce reports whether an activation ends only by force. A license has at most as many spent
// seats as MaxActivations and leastSpent, with Options.HoldOffline none; one more is a
// [*api.SeatHeldError], unless it is forced, and so is the seat of an office. The seat that the fingerprint own spent
// does not count: it takes a seat again.
func (s Service) needsForce(ctx context.Context, r store.Reader, now time.Time, l record.License, a record.Activation, force bool, own string) (forced bool, err error) {
	if l = s.lendable(l); !a.HeldUntil.After(now) || l.MaxActivations < 0 {
		return false, nil
	}
	var most int64
	if !s.Opts.HoldOffline && !lentToOffice(a, now) {
		most = max(l.MaxActivations, leastSpent)
	}
	n, err := spentSeats(ctx, r, l.ID, now, most, func(e store.Entry) bool { return e.Key != spentKey(l.ID, own) })
	if err != nil {
		return false, err
	}
	if forced = n >= most; forced && !force {
		return false, &api.SeatHeldError{OfflineUntil: a.HeldUntil}
	}
	return forced, nil
}

func putSpent(ctx context.Context, tx *call.Tx, a record.Activation, forced bool) error {
	return tx.PutEntries(ctx, store.Entry{
		Kind: SpentKind, Key: spentKey(a.LicenseID, a.Fingerprint), Owner: a.LicenseID, ExpiresAt: a.HeldUntil, CreatedAt: tx.Now,
		Data: record.Encode(spentSeat{Forced: forced}),
	})
}

// SpendAll records that activations end with a transfer. The seats that license files
// hold are spent.
func SpendAll(ctx context.Context, tx *call.Tx, rows []store.Activation) error {
	for _, row := range rows {
		a, err := record.ReadActivation(row)
		if err == nil && a.EndedAt.IsZero() && a.HeldUntil.After(tx.Now) {
			err = putSpent(ctx, tx, a, false)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// spentUntil returns until when the program of a spent seat may run from an earlier file;
// zero: the fingerprint has not spent one.
func spentUntil(ctx context.Context, r store.Reader, licenseID, fingerprint string) (time.Time, error) {
	e, err := r.Entry(ctx, SpentKind, spentKey(licenseID, fingerprint))
	if errors.Is(err, store.ErrNotFound) {
		return time.Time{}, nil
	}
	return e.ExpiresAt, err
}

// RemoveSpent deletes the spent seats of a license.
func RemoveSpent(ctx context.Context, tx *call.Tx, licenseID string) error {
	return entries.Remove(ctx, tx, store.EntryQuery{Kind: SpentKind, Order: store.ByExpiry, Owner: licenseID})
}

// spentKey returns the license ID, a slash and the digest of the fingerprint, so that a
// seat which outlives its activation is still known as that of the fingerprint.
func spentKey(licenseID, fingerprint string) string {
	return licenseID + "/" + licensefile.FingerprintHash(licenseID, fingerprint)
}

// spentSeats counts the spent seats of a license that counts accepts, up to most.
func spentSeats(ctx context.Context, r store.Reader, id string, now time.Time, most int64, counts func(store.Entry) bool) (n int64, err error) {
	if most == 0 {
		return 0, nil
	}
	q := store.EntryQuery{
		Kind: SpentKind, Order: store.ByExpiry, Owner: id, Expires: store.TimeRange{From: now.Add(time.Millisecond)},
		Limit: int(min(most+1, store.MaxLimit)),
	}
	for row, err := range entries.All(ctx, r, q) {
		if err != nil {
			return 0, fmt.Errorf("spent seats: %w", err)
		}
		if counts(row) {
			n++
		}
		if n == most {
			break
		}
	}
	return n, nil
}

// countSpent sets f.spent. Only with Options.HoldOffline does a spent seat keep
// a program from taking a seat: no held seat can be released then, but those of
// a time without a limit were. A forced release frees its seat nevertheless.
func (f *facts) countSpent(ctx context.Context, r store.Reader, id string) error {
	f.spent = 0
	if !f.holdOffline || f.license.MaxActivations < 0 {
		return nil
	}
	own := spentKey(id, f.fingerprint)
	n, err := spentSeats(ctx, r, id, f.at, f.license.MaxActivations+1, func(e store.Entry) bool {
		var seat spentSeat
		return e.Key != own && call.Decode(e.Data, &seat) == nil && !seat.Forced
	})
	f.spent = int(n)
	return err
}
