package license

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// The kinds of tallies. Every change of a license updates them in the same
// Update. Days are in UTC in the layout [TallyDay], instants in the layout
// [TallyInstant].
const CountKind = "count"

// What licenses are counted by. Days are in UTC, in the form of [TallyDay],
// instants in that of [TallyInstant].
const (
	TallyState    = "state"    // by stored state: "active", "suspended", "revoked"
	TallyProduct  = "product"  // by product id
	TallyCustomer = "customer" // by customer id
	TallyCreated  = "created"  // by day of creation; deleted licenses do not count

	// These count licenses that are neither suspended nor revoked.
	TallyStarts    = "starts"     // by day of StartsAt
	TallyStartsAt  = "starts_at"  // by StartsAt itself
	TallyExpires   = "expires"    // by day of ExpiresAt
	TallyExpiresAt = "expires_at" // by ExpiresAt itself
)

// The layouts of tally names by time. Names sort in order of time.
const (
	TallyDay     = time.DateOnly
	TallyInstant = "2006-01-02T15:04:05.000Z"
)

// tallyNames returns the tallies that count l, by kind; an empty name: none.
func tallyNames(l store.License) [8][2]string {
	at := func(t time.Time, layout string) string {
		if t.IsZero() || l.State != store.StateActive {
			return ""
		}
		return t.Format(layout)
	}
	return [8][2]string{
		{TallyState, string(l.State)},
		{TallyProduct, l.ProductID},
		{TallyCustomer, l.CustomerID},
		{TallyCreated, l.CreatedAt.Format(TallyDay)},
		{TallyStarts, at(l.StartsAt, TallyDay)},
		{TallyStartsAt, at(l.StartsAt, TallyInstant)},
		{TallyExpires, at(l.ExpiresAt, TallyDay)},
		{TallyExpiresAt, at(l.ExpiresAt, TallyInstant)},
	}
}

// derive updates what is derived from a license, its counts and its search
// words, for a change from before to after. The zero record means that the
// license does not exist.
func (tx *transaction) derive(ctx context.Context, before, after store.License) error {
	if err := tx.tally(ctx, before, after); err != nil {
		return err
	}
	return tx.index(ctx, before, after)
}

// tally updates the tallies for a change of a license from before to after. The
// zero record means that the license does not exist.
func (tx *transaction) tally(ctx context.Context, before, after store.License) error {
	was, is := tallyNames(before), tallyNames(after)
	changes := map[string]int64{}
	for i := range is {
		if before.ID != "" && after.ID != "" && was[i] == is[i] {
			continue
		}
		if before.ID != "" && was[i][1] != "" {
			changes[was[i][0]+"/"+was[i][1]]--
		}
		if after.ID != "" && is[i][1] != "" {
			changes[is[i][0]+"/"+is[i][1]]++
		}
	}
	return tx.addCounts(ctx, changes)
}

// addCounts adds to counts: it reads all of them, and writes all of them.
func (tx *transaction) addCounts(ctx context.Context, changes map[string]int64) error {
	keys := slices.Sorted(maps.Keys(changes))
	if len(keys) == 0 {
		return nil
	}
	entries, err := tx.Entries(ctx, store.EntryQuery{Kind: CountKind, Keys: keys})
	if err != nil {
		return err
	}
	stored := make(map[string]int64, len(entries))
	for _, e := range entries {
		if stored[e.Key], err = countOf(e); err != nil {
			return err
		}
	}
	var changed []store.Entry
	var zero []string
	for _, key := range keys {
		switch n, there := stored[key]; {
		case n+changes[key] != 0:
			changed = append(changed, store.Entry{Kind: CountKind, Key: key, Data: strconv.AppendInt(nil, n+changes[key], 10)})
		case there:
			zero = append(zero, key)
		}
	}
	if len(zero) > 0 {
		if err := tx.DeleteEntries(ctx, CountKind, zero...); err != nil {
			return err
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return tx.PutEntries(ctx, changed...)
}

// countOf returns the count that an entry holds.
func countOf(e store.Entry) (int64, error) {
	n, err := strconv.ParseInt(string(e.Data), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("count %s: %w", e.Key, err)
	}
	return n, nil
}

// counts returns a page of the counts of one name, in the order of what they
// count, byte by byte.
func counts(ctx context.Context, r store.Reader, name string, q store.EntryQuery) ([]NameCount, error) {
	prefix := name + "/"
	q.Kind, q.From = CountKind, prefix+q.From
	if q.Before == "" {
		q.Before = store.PrefixEnd(prefix)
	} else {
		q.Before = prefix + q.Before
	}
	if q.After.ID != "" {
		q.After.ID = prefix + q.After.ID
	}
	entries, err := r.Entries(ctx, q)
	if err != nil {
		return nil, err
	}
	list := make([]NameCount, len(entries))
	for i, e := range entries {
		if list[i].N, err = countOf(e); err != nil {
			return nil, err
		}
		list[i].Name = strings.TrimPrefix(e.Key, prefix)
	}
	return list, nil
}
