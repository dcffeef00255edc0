// Package entries reads and removes many entries of a store, some at a time.
package entries

import (
	"context"
	"iter"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// All iterates over the entries that q selects, and ends after an error. Limit is how
// many it reads at a time; zero: as many as a store returns.
func All(ctx context.Context, r store.Reader, q store.EntryQuery) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for {
			page, err := r.Entries(ctx, q)
			if err != nil {
				yield(store.Entry{}, err)
				return
			}
			for _, e := range page {
				if !yield(e, nil) {
					return
				}
				if q.After.ID = e.Key; q.Order == store.ByExpiry {
					q.After.Time = e.ExpiresAt
				}
			}
			if len(page) < store.Limit(q.Limit) {
				return
			}
		}
	}
}

// Of returns what read makes of the entries of a kind that have some keys, by key. It
// takes as many keys as a query does.
func Of[T any](ctx context.Context, r store.Reader, kind string, keys []string, read func(store.Entry) (T, error)) (map[string]T, error) {
	found := make(map[string]T, len(keys))
	if len(keys) == 0 {
		return found, nil
	}
	all, err := r.Entries(ctx, store.EntryQuery{Kind: kind, Keys: keys})
	for _, e := range all {
		if err == nil {
			found[e.Key], err = read(e)
		}
	}
	return found, err
}

// PurgeBatch is the largest number of entries of a kind that [Purge] removes.
const PurgeBatch = 100

// Purge removes up to [PurgeBatch] expired entries of each kind and reports
// whether there may be more. It looks for them before it starts an update, so a
// call that finds none does not take the write lock.
func Purge(ctx context.Context, st store.Store, now time.Time, kinds ...string) (more bool, err error) {
	var found []string
	for _, kind := range kinds {
		entries, err := st.Entries(ctx, expired(kind, now, 1))
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
			entries, err := tx.Entries(ctx, expired(kind, now, PurgeBatch))
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
			more = more || len(entries) == PurgeBatch
		}
		return nil
	})
	return more, err
}

// expired selects the entries that have expired by now, in whole milliseconds.
func expired(kind string, now time.Time, limit int) store.EntryQuery {
	return store.EntryQuery{Kind: kind, Order: store.ByExpiry, Expires: store.TimeRange{Before: now.Add(time.Millisecond)}, Limit: limit}
}
