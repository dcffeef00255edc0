package license

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// longLeasesKind is the kind of entries that name licenses whose LeaseSeconds was set
// or shortened, and of which some activations still have a longer lease. Key is the
// license ID.
const longLeasesKind = "long_leases"

// shortens reports whether a change of LeaseSeconds ends leases earlier.
func shortens(was, is int64) bool { return is >= 0 && (was < 0 || is < was) }

// shortenLeases shortens a batch of the leases of a license, in the Update that sets
// or shortens its LeaseSeconds. If more may be left, an entry of longLeasesKind names
// the license: the call that made the Update shortens the rest after the commit or, if
// it is interrupted, Run does.
func (s *Service) shortenLeases(ctx context.Context, tx *transaction, l record.License) error {
	_, more, err := s.cutLeases(ctx, tx, l)
	if err != nil || !more {
		return err
	}
	tx.then = cutAllLeases
	return tx.PutEntries(ctx, store.Entry{Kind: longLeasesKind, Key: l.ID, CreatedAt: tx.now})
}

// cutLeases shortens leases to the license's current LeaseSeconds and returns how
// many it changed, and whether there may be more: it changes at most a batch of
// activations without a lease and a batch with a longer one. Those were renewed before
// LeaseSeconds was set or shortened. A program that rechecks as its last verdict told
// it to, which is within Options.RecheckAfter, has a whole lease to do so.
func (s *Service) cutLeases(ctx context.Context, tx *transaction, l record.License) (n int, more bool, err error) {
	if l.LeaseSeconds < 0 {
		return 0, false, nil
	}
	end := leaseEnd(l, tx.now.Add(s.opts.RecheckAfter))
	for _, ends := range []store.TimeRange{
		{Before: time.Unix(0, 0), OrNone: true},
		{From: end.Add(time.Millisecond)},
	} {
		long, left, err := longLeases(ctx, tx, l.ID, ends, end)
		if err != nil {
			return 0, false, err
		}
		rows := make([]store.Activation, len(long))
		for i, a := range long {
			setLease(&a, end, a.HeldUntil)
			rows[i] = a.Row()
		}
		if err := tx.PutActivations(ctx, rows...); err != nil {
			return 0, false, err
		}
		n, more = n+len(rows), more || left
	}
	return n, more, nil
}

// longLeases returns a batch of the activations in a range whose leases end
// after an instant, and whether there may be more. It leaves out activations that only
// a license file keeps in the range.
func longLeases(ctx context.Context, r store.Reader, id string, ends store.TimeRange, after time.Time) (long []record.Activation, more bool, err error) {
	for {
		rows, err := r.Activations(ctx, store.ActivationQuery{LicenseID: id, LeaseEnds: ends, Limit: seatsBatch})
		if err != nil {
			return nil, false, err
		}
		for _, row := range rows {
			a, err := record.ReadActivation(row)
			if err != nil {
				return nil, false, err
			}
			if lease := leaseOf(a); lease.IsZero() || lease.After(after) {
				long = append(long, a)
			}
		}
		if more = len(rows) == seatsBatch; len(long) > 0 || !more {
			return long, more, nil
		}
		ends.From = rows[len(rows)-1].LeaseEndsAt.Add(time.Millisecond)
	}
}

// cutAllLeases shortens what is left of the leases of all licenses that entries of
// longLeasesKind name. It is best effort: Run does what it leaves.
func cutAllLeases(ctx context.Context, s *Service) {
	for {
		if more, err := s.cutLongLeases(ctx); err != nil || !more {
			return
		}
	}
}

// cutLongLeases shortens a batch of the leases of a license that an entry of
// longLeasesKind names, and reports whether there may be more to do.
func (s *Service) cutLongLeases(ctx context.Context) (more bool, err error) {
	named, err := s.st.Entries(ctx, store.EntryQuery{Kind: longLeasesKind, Limit: 1})
	if err != nil || len(named) == 0 {
		return false, err
	}
	id := named[0].Key
	err = s.write(ctx, func(tx *transaction) error {
		left := false
		row, err := tx.License(ctx, id)
		if err == nil {
			var l record.License
			if l, err = record.ReadLicense(row); err == nil {
				_, left, err = s.cutLeases(ctx, tx, l)
			}
		} else if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		if err != nil || left {
			return err
		}
		return tx.removeEntry(ctx, longLeasesKind, id) // another process may have been first
	})
	if err != nil {
		return false, fmt.Errorf("leases of license %s: %w", id, err)
	}
	return true, nil
}
