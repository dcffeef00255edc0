package seats

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
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
		n, err = ReadCount(e)
	}
	return n, err == nil, err
}

// ReadCount returns the count of an entry of SeatsKind.
func ReadCount(e store.Entry) (int, error) {
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

// own returns 1 if the fingerprint has an activation that f.count includes.
func (f *facts) own() int {
	if f.seated && f.seat.EndedAt.IsZero() {
		return 1
	}
	return 0
}
