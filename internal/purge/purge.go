// Package purge removes expired entries from a store in small batches.
package purge

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Batch is the largest number of entries of a kind that [Expired] removes.
const Batch = 100

// Expired removes up to [Batch] expired entries of each kind and reports
// whether there may be more. It looks for them before it starts an update, so a
// call that finds none does not take the write lock.
func Expired(ctx context.Context, st store.Store, now time.Time, kinds ...string) (more bool, err error) {
	var found []string
	for _, kind := range kinds {
		entries, err := st.Entries(ctx, query(kind, now, 1))
		if err != nil {
			return false, err
		}
		if len(entries) > 0 {
			found = append(found, kind)
		}
	}
	if found == nil {
		return false, nil
	}
	err = st.Update(ctx, func(tx store.Tx) error {
		more = false
		for _, kind := range found {
			entries, err := tx.Entries(ctx, query(kind, now, Batch))
			if err != nil {
				return err
			}
			keys := make([]string, len(entries))
			for i, e := range entries {
				keys[i] = e.Key
			}
			if err := tx.DeleteEntries(ctx, kind, keys...); err != nil {
				return err
			}
			more = more || len(entries) == Batch
		}
		return nil
	})
	return more, err
}

// query selects the entries that have expired by now, in whole milliseconds.
func query(kind string, now time.Time, limit int) store.EntryQuery {
	return store.EntryQuery{Kind: kind, Order: store.ByExpiry, Expires: store.TimeRange{Before: now.Add(time.Millisecond)}, Limit: limit}
}
