package licenses

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// longLeasesKind is the kind of entries that name licenses whose LeaseSeconds was set
// or shortened, and of which some activations still have a longer lease. Key is the
// license ID, and ExpiresAt is when to shorten them.
const longLeasesKind = "long_leases"

// shortens reports whether a change of LeaseSeconds ends leases earlier.
func shortens(was, is int64) bool { return is >= 0 && (was < 0 || is < was) }

// shortenLeases shortens a batch of the leases of a license, in the Update that sets
// or shortens its LeaseSeconds. If more may be left, an entry of longLeasesKind names
// the license: the call that made the Update shortens the rest after the commit or, if
// it is interrupted, Run does.
func (s Service) shortenLeases(ctx context.Context, tx *call.Tx, l record.License) error {
	rows, more, err := s.LongLeases(ctx, tx, l, tx.Now)
	if err == nil {
		err = tx.PutActivations(ctx, rows...)
	}
	if err != nil || !more {
		return err
	}
	tx.Then = cutAllLeases
	return tx.PutEntries(ctx, store.Entry{Kind: longLeasesKind, Key: l.ID, ExpiresAt: tx.Now, CreatedAt: tx.Now})
}

// LongLeases returns activations that were renewed before LeaseSeconds of their license
// was set or shortened, with leases that are as long as that, and whether there may be
// more: it returns at most a batch of activations without a lease and a batch with a
// longer one. A program that rechecks as its last verdict told it to, which is within
// Options.RecheckAfter, has a whole lease to do so.
func (s Service) LongLeases(ctx context.Context, r store.Reader, l record.License, now time.Time) (shortened []store.Activation, more bool, err error) {
	if l.LeaseSeconds < 0 {
		return nil, false, nil
	}
	end := LeaseEnd(l, now.Add(s.Opts.RecheckAfter))
	for _, ends := range []store.TimeRange{
		{Before: time.Unix(0, 0), OrNone: true},
		{From: end.Add(time.Millisecond)},
	} {
		long, left, err := longLeases(ctx, r, l.ID, ends, end)
		if err != nil {
			return nil, false, err
		}
		for _, a := range long {
			SetLease(&a, end, a.HeldUntil)
			shortened = append(shortened, a.Row())
		}
		more = more || left
	}
	return shortened, more, nil
}

// longLeases returns a batch of the activations in a range whose leases end
// after an instant, and whether there may be more. It leaves out activations that only
// a license file keeps in the range.
func longLeases(ctx context.Context, r store.Reader, id string, ends store.TimeRange, after time.Time) (long []record.Activation, more bool, err error) {
	for {
		rows, err := r.Activations(ctx, store.ActivationQuery{LicenseID: id, LeaseEnds: ends, Limit: SeatsBatch})
		if err != nil {
			return nil, false, err
		}
		for _, row := range rows {
			a, err := record.ReadActivation(row)
			if err != nil {
				return nil, false, err
			}
			if lease := LeaseOf(a); lease.IsZero() || lease.After(after) {
				long = append(long, a)
			}
		}
		if more = len(rows) == SeatsBatch; len(long) > 0 || !more {
			return long, more, nil
		}
		ends.From = rows[len(rows)-1].LeaseEndsAt.Add(time.Millisecond)
	}
}

// cutAllLeases shortens what is left of the leases of all licenses that entries of
// longLeasesKind name. It is best effort: Run does what it leaves.
func cutAllLeases(ctx context.Context, c *call.Call) {
	for {
		if more, err := Of(c).CutLongLeases(ctx); err != nil || !more {
			return
		}
	}
}

// CutLongLeases shortens a batch of the leases of a license that an entry of
// longLeasesKind names, and reports whether there may be more to do.
func (s Service) CutLongLeases(ctx context.Context) (more bool, err error) {
	more, err = s.DoDue(ctx, "purge", longLeasesKind, 1, func(tx *call.Tx, named []store.Entry) error {
		id, left := named[0].Key, false
		row, err := tx.License(ctx, id)
		if err == nil {
			var l record.License
			var rows []store.Activation
			if l, err = Read(row, tx.Now); err == nil {
				rows, left, err = s.LongLeases(ctx, tx, l, tx.Now)
			}
			if err == nil {
				err = tx.PutActivations(ctx, rows...)
			}
		} else if errors.Is(err, store.ErrNotFound) {
			err = nil
		}
		if err != nil || left {
			return err
		}
		return tx.DeleteEntries(ctx, longLeasesKind, id)
	})
	if err != nil {
		err = fmt.Errorf("long leases: %w", err)
	}
	return more, err
}

// LeaseOf returns when the lease of an activation ends; zero: never.
func LeaseOf(a record.Activation) time.Time {
	if !a.Lease.IsZero() {
		return a.Lease
	}
	return a.LeaseEndsAt
}

// SetLease sets the end of the lease and until when the seat is held.
func SetLease(a *record.Activation, lease, held time.Time) {
	a.LeaseEndsAt, a.Lease, a.HeldUntil = lease, time.Time{}, held
	if !lease.IsZero() && held.After(lease) {
		a.LeaseEndsAt, a.Lease = held, lease
	}
}

// LeaseEnd returns when a lease that starts now ends; zero: never.
func LeaseEnd(l record.License, now time.Time) time.Time {
	if l.LeaseSeconds < 0 {
		return time.Time{}
	}
	return now.Add(time.Duration(l.LeaseSeconds) * time.Second)
}

// SeatsBatch is how many activations one Update ends or changes for one
// Activate.
const SeatsBatch = 100
