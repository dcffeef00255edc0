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

// What licenses are counted by. Days are in UTC in the layout [Day].
const (
	State    = "state"    // by stored state: "active", "suspended", "revoked"
	Product  = "product"  // by product ID
	Customer = "customer" // by customer ID
	Created  = "created"  // by day of creation; deleted licenses do not count

	// These count licenses that are neither suspended nor revoked. See also
	// [Snapshot.Between].
	Starts  = "starts"  // by day of StartsAt
	Expires = "expires" // by day of ExpiresAt
)

// Day is the layout of names by day. Names sort in order of time.
const Day = time.DateOnly

// A Count is the number of licenses with one name.
type Count struct {
	Name string
	N    int64
}

// counted is what a license is counted by. Times are as in [stamp]; starts and
// expires are zero if the license is suspended or revoked.
type counted struct {
	state, product, customer string
	created, starts, expires int64
}

func countedOf(l record.License) counted {
	c := counted{state: string(l.State), product: l.ProductID, customer: l.CustomerID, created: stamp(l.CreatedAt)}
	if l.State == store.StateActive {
		c.starts, c.expires = stamp(l.StartsAt), stamp(l.ExpiresAt)
	}
	return c
}

// stamp returns a time in milliseconds of Unix time, plus one; zero: none.
func stamp(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli() + 1
}

// keys returns the keys of the counts that include the license: what it is counted
// by, a slash and the name.
func (c counted) keys() (keys []string) {
	add := func(by, name string) {
		if name != "" {
			keys = append(keys, by+"/"+name)
		}
	}
	addTime := func(by string, stamp int64, units []unit) {
		for _, u := range units {
			if stamp != 0 {
				add(by+u.suffix, time.UnixMilli(stamp-1).UTC().Format(u.layout))
			}
		}
	}
	add(State, c.state)
	add(Product, c.product)
	add(Customer, c.customer)
	addTime(Created, c.created, units[:1])
	addTime(Starts, c.starts, units)
	addTime(Expires, c.expires, units)
	return keys
}

// putCounts adds the changed counts to the batch.
func (b *batch) putCounts(ctx context.Context, r store.Reader, g *generation, changes []change) error {
	difference := map[string]int64{}
	for _, c := range changes {
		if c.was.counted == c.is.counted {
			continue
		}
		for _, key := range c.is.counted.keys() {
			difference[key]++
		}
		for _, key := range c.was.counted.keys() {
			difference[key]--
		}
	}
	maps.DeleteFunc(difference, func(_ string, n int64) bool { return n == 0 })
	keys := slices.Sorted(maps.Keys(difference))
	kind := g.counts()
	stored, err := countsOf(ctx, r, kind, keys)
	if err != nil {
		return err
	}
	for _, key := range keys {
		was, is := stored[key], stored[key]+difference[key]
		switch {
		case is > 0:
			b.put = append(b.put, store.Entry{Kind: kind, Key: key, Data: strconv.AppendInt(nil, is, 10), Move: store.Derived})
		case is == 0:
			b.remove[kind] = append(b.remove[kind], key)
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

// Counts returns a page of the counts by something, with names in the byte order
// of names: From, Before, After.ID and Limit of q select the names.
func (s Snapshot) Counts(ctx context.Context, by string, q store.EntryQuery) ([]Count, error) {
	prefix := by + "/"
	q.Kind, q.From = s.g.counts(), prefix+q.From
	if q.Before == "" {
		q.Before = store.PrefixEnd(prefix)
	} else {
		q.Before = prefix + q.Before
	}
	if q.After.ID != "" {
		q.After.ID = prefix + q.After.ID
	}
	entries, err := s.r.Entries(ctx, q)
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
