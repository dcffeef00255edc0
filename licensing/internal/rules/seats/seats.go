package seats

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

// SeatsKind is the kind of entries that count the activations of a license
// that were not released or evicted, whether or not their leases have ended.
// Key is the license ID; Data is the count in decimal digits. Every Update
// that adds, ends or deletes such an activation also writes the count.
// Activate compares it with the limit, so its cost does not depend on the
// number of activations.
//
// A missing count, as after [store.Import], has no meaning: the
// activations are counted, and the next Activate stores the count.
const SeatsKind = "seats"

// lapsedAt is the range of leases that have ended at an instant.
func lapsedAt(at time.Time) store.TimeRange {
	return store.TimeRange{Before: at.Add(time.Millisecond)}
}

// countSeats sets f.count, f.spent and f.taken. Ended leases use no seat, but
// countSeats looks for them only if the license seems full.
func (f *facts) countSeats(ctx context.Context, r store.Reader, id string) (err error) {
	if f.count, _, err = seatCount(ctx, r, id); err != nil {
		return err
	}
	if err = f.countSpent(ctx, r, id); err != nil {
		return err
	}
	f.taken = f.count + f.spent
	if !f.full() || f.count == 0 {
		return nil
	}
	// One ended lease makes room, or more if the limit was lowered.
	need := int64(f.taken) - f.license.MaxActivations + 1
	if need > store.MaxLimit {
		live, err := countActivations(ctx, r, store.ActivationQuery{LicenseID: id, LiveAt: f.at})
		f.taken = live + f.spent
		return err
	}
	lapsed, err := r.Activations(ctx, store.ActivationQuery{LicenseID: id, LeaseEnds: lapsedAt(f.at), Limit: int(need)})
	f.taken -= len(lapsed)
	return err
}

// countActivations counts what q selects, page by page.
func countActivations(ctx context.Context, r store.Reader, q store.ActivationQuery) (n int, err error) {
	for {
		rows, err := r.Activations(ctx, q)
		n += len(rows)
		if err != nil || len(rows) < store.MaxLimit {
			return n, err
		}
		q.After = rows[len(rows)-1].ID
	}
}

// seatCount returns how many activations of a license were not released or
// evicted, and whether that count is stored.
func seatCount(ctx context.Context, r store.Reader, id string) (n int, stored bool, err error) {
	e, err := r.Entry(ctx, SeatsKind, id)
	if errors.Is(err, store.ErrNotFound) {
		n, err = countActivations(ctx, r, store.ActivationQuery{LicenseID: id, LiveAt: time.Unix(0, 0)})
		return n, false, err
	}
	if err == nil {
		n, err = readSeatCount(e)
	}
	return n, err == nil, err
}

// A SeatNumber is the number of activations of a license that were not released or
// evicted.
type SeatNumber struct {
	N       int
	AtLeast bool // there can be more, because counting stopped at [store.MaxLimit]
}

// SeatCounts returns how many activations of the given licenses were not
// released or evicted, by license ID. Activations whose leases have ended are
// included until their seats are needed, so the number of a license with leases
// is an upper bound. It reads the stored counts together. The activations of a
// license without a stored count, as after a move to another store, are read: up to
// [store.MaxLimit] of them. A license without activations has the zero number or is
// missing. It takes at most 1,000 IDs. A caller limited to some products gets
// [api.ErrProductForbidden].
func (s Service) SeatCounts(ctx context.Context, ids []string) (map[string]SeatNumber, error) {
	if s.Caller.Products != nil {
		return nil, fmt.Errorf("seat counts: %w", api.ErrProductForbidden)
	}
	counts, err := SeatCounts(ctx, s.Reader(), ids)
	if err != nil {
		return nil, fmt.Errorf("seat counts: %w", err)
	}
	return counts, nil
}

// SeatCounts is SeatCounts on one reader.
func SeatCounts(ctx context.Context, r store.Reader, ids []string) (map[string]SeatNumber, error) {
	counts, err := entries.Of(ctx, r, SeatsKind, ids, func(e store.Entry) (SeatNumber, error) {
		n, err := readSeatCount(e)
		return SeatNumber{N: n}, err
	})
	for _, id := range ids {
		if _, stored := counts[id]; stored || err != nil {
			continue
		}
		var rows []store.Activation
		rows, err = r.Activations(ctx, store.ActivationQuery{LicenseID: id, LiveAt: time.Unix(0, 0), Limit: store.MaxLimit})
		counts[id] = SeatNumber{len(rows), len(rows) == store.MaxLimit}
	}
	return counts, err
}

func readSeatCount(e store.Entry) (int, error) {
	n, err := strconv.Atoi(string(e.Data))
	if err != nil {
		return 0, fmt.Errorf("license %s: count of seats: %w", e.Key, err)
	}
	return n, nil
}

// putSeats stores the seat count of a license.
func putSeats(ctx context.Context, tx *call.Tx, id string, n int) error {
	return tx.PutEntries(ctx, store.Entry{Kind: SeatsKind, Key: id, Data: strconv.AppendInt(nil, int64(n), 10), Move: store.Derived})
}

// freeSeats ends activations whose leases have ended, as many as needed to
// free one seat of a full license. It changes at most one batch; if that was
// not enough and more may have ended, more is true.
func (s Service) freeSeats(ctx context.Context, tx *call.Tx, f *facts) (more bool, err error) {
	if err := f.countSpent(ctx, tx, f.license.ID); err != nil {
		return false, err
	}
	f.taken = f.count - f.own() + f.spent
	need := int64(f.taken) - f.license.MaxActivations + 1
	if f.license.MaxActivations < 0 || need <= 0 {
		return false, nil
	}
	q := store.ActivationQuery{LicenseID: f.license.ID, LeaseEnds: lapsedAt(f.at), Limit: int(min(need+int64(f.own()), licenses.SeatsBatch))}
	rows, err := tx.Activations(ctx, q)
	if err != nil {
		return false, err
	}
	ended := slices.DeleteFunc(slices.Clone(rows), func(row store.Activation) bool {
		return f.seated && row.ID == f.seat.ID // takeSeat replaces it
	})
	for i, row := range ended {
		a, err := record.ReadActivation(row)
		if err != nil {
			return false, err
		}
		a.EndedAt, a.EndReason = a.LeaseEndsAt, string(api.ActivationLeaseEnded)
		ended[i] = a.Row()
		f.count, f.taken, f.recount = f.count-1, f.taken-1, true
		need--
	}
	if err := tx.PutActivations(ctx, ended...); err != nil {
		return false, err
	}
	if need <= 0 {
		return false, nil
	}
	if len(rows) == licenses.SeatsBatch {
		return true, putSeats(ctx, tx, f.license.ID, f.count)
	}
	cut, _, err := licenses.Of(s.Call).CutLeases(ctx, tx, f.license)
	f.recount = f.recount || cut > 0
	return false, err
}

// own returns 1 if the fingerprint has an activation that f.count includes.
func (f *facts) own() int {
	if f.seated && f.seat.EndedAt.IsZero() {
		return 1
	}
	return 0
}
