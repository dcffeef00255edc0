// Package entries reads and removes many entries of a store, some at a time.
package entries

import (
	"context"
	"errors"
	"iter"
	"slices"
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

// Remove deletes the entries that q selects.
func Remove(ctx context.Context, tx store.Tx, q store.EntryQuery) error {
	var keys []string
	for e, err := range All(ctx, tx, q) {
		if err != nil {
			return err
		}
		keys = append(keys, e.Key)
	}
	for some := range slices.Chunk(keys, store.MaxLimit) {
		if err := tx.DeleteEntries(ctx, q.Kind, some...); err != nil {
			return err
		}
	}
	return nil
}

// Follow makes the entries that follow from a record those of is, where they were those of
// was, and writes more beside them.
func Follow(ctx context.Context, tx store.Tx, was, is []store.Entry, more ...store.Entry) error {
	if err := Drop(ctx, tx, was, is); err != nil || len(is)+len(more) == 0 {
		return err
	}
	return tx.PutEntries(ctx, append(more, is...)...)
}

// Drop deletes those entries of was that are not in is.
func Drop(ctx context.Context, tx store.Tx, was, is []store.Entry) error {
	for _, e := range was {
		if slices.ContainsFunc(is, func(o store.Entry) bool { return o.Kind == e.Kind && o.Key == e.Key }) {
			continue
		}
		if err := tx.DeleteEntries(ctx, e.Kind, e.Key); err != nil {
			return err
		}
	}
	return nil
}

// Of returns what read makes of the entries of a kind that have some keys, by key. It
// takes as many keys as a query does.
func Of[T any](ctx context.Context, r store.Reader, kind string, keys []string, read func(store.Entry) (T, error)) (map[string]T, error) {
	found := make(map[string]T, len(keys))
	var all []store.Entry
	var err error
	switch len(keys) {
	case 0:
	case 1: // which costs less
		var e store.Entry
		if e, err = r.Entry(ctx, kind, keys[0]); errors.Is(err, store.ErrNotFound) {
			return found, nil
		}
		all = []store.Entry{e}
	default:
		all, err = r.Entries(ctx, store.EntryQuery{Kind: kind, Keys: keys, Limit: len(keys)})
	}
	for _, e := range all {
		if err == nil {
			found[e.Key], err = read(e)
		}
	}
	return found, err
}

// Page returns what read makes of up to limit entries of a kind after a key, in the
// order of their keys. Next is the key of the last one if the list continues, and
// empty otherwise.
func Page[T any](ctx context.Context, r store.Reader, kind, after string, limit int, read func(store.Entry) (T, error)) (data []T, next string, err error) {
	entries, err := r.Entries(ctx, store.EntryQuery{Kind: kind, After: store.Position{ID: after}, Limit: limit + 1})
	if err != nil {
		return nil, "", err
	}
	if len(entries) > limit {
		entries, next = entries[:limit], entries[limit-1].Key
	}
	for _, e := range entries {
		record, err := read(e)
		if err != nil {
			return nil, "", err
		}
		data = append(data, record)
	}
	return data, next, nil
}

// PurgeBatch is the largest number of entries of a kind that [Purge] removes.
const PurgeBatch = 100

// Purge removes up to [PurgeBatch] expired entries of each kind and reports
// whether there may be more. It looks for them before it starts an update, so a
// call that finds none does not take the write lock.
func Purge(ctx context.Context, st store.Store, now time.Time, kinds ...string) (more bool, err error) {
	var found []string
	for _, kind := range kinds {
		entries, err := st.Entries(ctx, Expired(kind, now, 1))
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
			entries, err := tx.Entries(ctx, Expired(kind, now, PurgeBatch))
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

// Expired selects the entries that have expired by now, in whole milliseconds.
func Expired(kind string, now time.Time, limit int) store.EntryQuery {
	return store.EntryQuery{Kind: kind, Order: store.ByExpiry, Expires: store.TimeRange{Before: now.Add(time.Millisecond)}, Limit: limit}
}
