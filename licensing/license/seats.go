package license

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// seatsKind is the kind of entries that count the activations of a license that
// were not ended, whether or not their leases have ended. Key is the license's
// id, Data the count in decimal digits. Whatever adds, ends or deletes such an
// activation writes the count in the same Update. An admission compares it with
// the limit, so it costs the same however many activations there are.
//
// A count that is missing, as it is after a migration or an import, says
// nothing: the activations are counted, and the next admission stores the count.
const seatsKind = "seats"

// seatsBatch is how many activations one Update ends or changes on the way to
// an admission.
const seatsBatch = 100

// notEnded is the range of the leases of all activations that were not ended.
var notEnded = store.TimeRange{From: time.Unix(0, 0), OrNone: true}

// lapsedAt is the range of the leases that have ended at an instant.
func lapsedAt(at time.Time) store.TimeRange {
	return store.TimeRange{Before: at.Add(time.Millisecond)}
}

// countSeats sets f.count and f.taken. Leases that have ended take no seat, but
// it looks for them only if the license seems full.
func (f *finding) countSeats(ctx context.Context, r store.Reader, id string) (err error) {
	f.count, _, err = seatCount(ctx, r, id)
	f.taken = f.count
	if err != nil || !f.full() || f.count == 0 {
		return err
	}
	lapsed := 0
	q := store.ActivationQuery{LicenseID: id, LeaseEnds: lapsedAt(f.at), Limit: 1}
	if int64(f.count) > f.license.MaxActivations { // the limit was lowered: how many counts
		lapsed, err = r.CountActivations(ctx, q)
	} else {
		var rows []store.Activation
		rows, err = r.Activations(ctx, q)
		lapsed = len(rows)
	}
	f.taken -= lapsed
	return err
}

// seatCount returns how many activations of a license were not ended, and
// whether that count is stored.
func seatCount(ctx context.Context, r store.Reader, id string) (n int, stored bool, err error) {
	e, err := r.Entry(ctx, seatsKind, id)
	if errors.Is(err, store.ErrNotFound) {
		n, err = r.CountActivations(ctx, store.ActivationQuery{LicenseID: id, LeaseEnds: notEnded})
		return n, false, err
	}
	if err != nil {
		return 0, false, err
	}
	if n, err = strconv.Atoi(string(e.Data)); err != nil {
		return 0, false, fmt.Errorf("license %s: count of seats: %w", id, err)
	}
	return n, true, nil
}

// putSeats stores the count of a license.
func (tx *transaction) putSeats(ctx context.Context, id string, n int) error {
	return tx.PutEntries(ctx, store.Entry{Kind: seatsKind, Key: id, Data: strconv.AppendInt(nil, int64(n), 10), Move: store.Derived})
}

// removeSeats deletes the count of a license that is deleted.
func (tx *transaction) removeSeats(ctx context.Context, id string) error {
	err := tx.DeleteEntries(ctx, seatsKind, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// freeSeats ends activations whose leases have ended, as many as it takes to
// make one seat of a full license free. It changes a batch at most; if that was
// not enough and there may be more to end, more is true.
func (s *Service) freeSeats(ctx context.Context, tx *transaction, f *finding) (more bool, err error) {
	f.taken = f.count - f.own()
	need := int64(f.taken) - f.license.MaxActivations + 1
	if f.license.MaxActivations < 0 || need <= 0 {
		return false, nil
	}
	q := store.ActivationQuery{LicenseID: f.license.ID, LeaseEnds: lapsedAt(f.at), Limit: int(min(need+int64(f.own()), seatsBatch))}
	rows, err := tx.Activations(ctx, q)
	if err != nil {
		return false, err
	}
	for _, row := range rows {
		if f.seated && row.ID == f.seat.ID {
			continue // takeSeat replaces it
		}
		row.EndedAt, row.EndReason = row.LeaseEndsAt, string(ActivationLeaseEnded)
		if err := tx.PutActivation(ctx, row); err != nil {
			return false, err
		}
		f.count, f.taken, f.recount = f.count-1, f.taken-1, true
		need--
	}
	if need <= 0 {
		return false, nil
	}
	if len(rows) == seatsBatch {
		return true, tx.putSeats(ctx, f.license.ID, f.count)
	}
	cut, err := cutLeases(ctx, tx, f.license)
	f.recount = f.recount || cut > 0
	return false, err
}

// own returns 1 if the activation of the fingerprint asked about was not ended,
// and so is in f.count.
func (f *finding) own() int {
	if f.seated && f.seat.EndedAt.IsZero() {
		return 1
	}
	return 0
}

// cutLeases gives activations the lease that the license has now, at most a
// batch of those without a lease and of those with a longer one, and counts
// them. They were renewed before LeaseSeconds was set or shortened. A program
// that asks again when its last verdict told it to, which is within
// recheckValid, has a whole lease to do so.
func cutLeases(ctx context.Context, tx *transaction, l store.License) (n int, err error) {
	if l.LeaseSeconds < 0 {
		return 0, nil
	}
	end := leaseEnd(l, tx.now.Add(recheckValid))
	for _, ends := range []store.TimeRange{
		{Before: time.Unix(0, 0), OrNone: true},
		{From: end.Add(time.Millisecond)},
	} {
		rows, err := tx.Activations(ctx, store.ActivationQuery{LicenseID: l.ID, LeaseEnds: ends, Limit: seatsBatch})
		if err != nil {
			return 0, err
		}
		for _, row := range rows {
			row.LeaseEndsAt = end
			if err := tx.PutActivation(ctx, row); err != nil {
				return 0, err
			}
		}
		n += len(rows)
	}
	return n, nil
}

// cutAllLeases cuts the leases of a license in steps. It is best effort: an
// admission that finds the license full cuts what an interrupted call leaves.
func (s *Service) cutAllLeases(ctx context.Context, id string) {
	for {
		n := 0
		err := s.update(ctx, func(tx *transaction) error {
			rec, err := s.find(ctx, tx, id)
			if err != nil {
				return err
			}
			n, err = cutLeases(ctx, tx, rec)
			return err
		})
		if err != nil || n == 0 || s.tx != nil { // within a longer Update, one step
			return
		}
	}
}
