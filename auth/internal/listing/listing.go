// Package listing reads a page of the records of a kind.
package listing

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/store"
)

// Page returns up to limit records after a key, in the order of their keys. Next
// is the key of the last one if the list continues, and empty otherwise.
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
