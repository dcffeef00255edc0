package catalog

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// What licenses are counted by. Days are in UTC in the layout [Day], instants in
// the layout [Instant].
const (
	State    = "state"    // by stored state: "active", "suspended", "revoked"
	Product  = "product"  // by product ID
	Customer = "customer" // by customer ID
	Created  = "created"  // by day of creation; deleted licenses do not count

	// These count licenses that are neither suspended nor revoked.
	Starts    = "starts"     // by day of StartsAt
	StartsAt  = "starts_at"  // by StartsAt itself
	Expires   = "expires"    // by day of ExpiresAt
	ExpiresAt = "expires_at" // by ExpiresAt itself
)

// The layouts of names by time. Names sort in order of time.
const (
	Day     = time.DateOnly
	Instant = "2006-01-02T15:04:05.000Z"
)

// A Count is the number of licenses with one name.
type Count struct {
	Name string
	N    int64
}

// countTerms returns the keys of the counts that include l: what it is counted
// by, a slash and the name.
func countTerms(_ context.Context, _ store.Reader, l record.License, _ *terms) (t terms, err error) {
	add := func(by, name string) {
		if name != "" {
			t.own = append(t.own, by+"/"+name)
		}
	}
	add(State, string(l.State))
	add(Product, l.ProductID)
	add(Customer, l.CustomerID)
	add(Created, l.CreatedAt.Format(Day))
	if l.State == store.StateActive && !l.StartsAt.IsZero() {
		add(Starts, l.StartsAt.Format(Day))
		add(StartsAt, l.StartsAt.Format(Instant))
	}
	if l.State == store.StateActive && !l.ExpiresAt.IsZero() {
		add(Expires, l.ExpiresAt.Format(Day))
		add(ExpiresAt, l.ExpiresAt.Format(Instant))
	}
	return t, nil
}

// writeCounts adds the changed counts to a batch.
func writeCounts(ctx context.Context, r store.Reader, g *generation, changes []change, b *batch) error {
	difference := map[string]int64{}
	for _, c := range changes {
		for _, term := range c.added {
			difference[term]++
		}
		for _, term := range c.gone {
			difference[term]--
		}
	}
	maps.DeleteFunc(difference, func(_ string, n int64) bool { return n == 0 })
	keys := slices.Sorted(maps.Keys(difference))
	stored, err := countsOf(ctx, r, g.Kind, keys)
	if err != nil {
		return err
	}
	for _, key := range keys {
		was, is := stored[key], stored[key]+difference[key]
		switch {
		case is > 0:
			b.put = append(b.put, store.Entry{Kind: g.Kind, Key: key, Data: strconv.AppendInt(nil, is, 10), Move: store.Derived})
		case is == 0:
			b.remove[g.Kind] = append(b.remove[g.Kind], key)
		default:
			return fmt.Errorf("count %s would be %d: %w", key, is, errBroken)
		}
		if (was == 0) == (is == 0) {
			continue
		}
		for _, name := range nameKeys(key) {
			if is > 0 {
				b.put = append(b.put, store.Entry{Kind: g.names(), Key: name, Move: store.Derived})
			} else {
				b.remove[g.names()] = append(b.remove[g.names()], name)
			}
		}
	}
	return nil
}

// countOf returns the count that an entry holds.
func countOf(e store.Entry) (int64, error) {
	n, err := strconv.ParseInt(string(e.Data), 10, 64)
	if err != nil {
		return 0, errors.Join(fmt.Errorf("count %s: %w", e.Key, err), errBroken)
	}
	return n, nil
}

// ReadCounts returns a page of the counts by something, with names in the byte
// order of names: From, Before, After.ID and Limit of q select the names. The
// kind is that of [Index.Answer] of Counts.
func ReadCounts(ctx context.Context, r store.Reader, kind, by string, q store.EntryQuery) ([]Count, error) {
	prefix := by + "/"
	q.Kind, q.From = kind, prefix+q.From
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
	list := make([]Count, len(entries))
	for i, e := range entries {
		if list[i].N, err = countOf(e); err != nil {
			return nil, err
		}
		list[i].Name = strings.TrimPrefix(e.Key, prefix)
	}
	return list, nil
}
