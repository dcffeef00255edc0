// Package oracle compares a backend with store/memory, by random changes and
// questions. It is for tests only.
package oracle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A chance draws from few values, so that what it draws meets often.
type chance struct {
	*rand.Rand
	keys []string
}

func pick[T any](c chance, from ...T) T { return from[c.IntN(len(from))] }

func (c chance) id() string  { return fmt.Sprint("i", c.IntN(12)) }
func (c chance) key() string { return pick(c, c.keys...) }
func (c chance) opt() string { return pick(c, "", "", c.key()) }
func (c chance) doc() []byte { return pick(c, nil, []byte("{}"), []byte("\x00\xff")) }

func (c chance) time() time.Time {
	return pick(c, time.Time{}, time.Unix(-3e9, 0), time.UnixMilli(-1), time.UnixMilli(0), time.UnixMilli(1),
		time.UnixMicro(1_500), time.Unix(2e9, 999_999_999), time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC), time.Unix(1e11, 0)).
		In(time.FixedZone("", 3600*c.IntN(3)))
}

func (c chance) span() store.TimeRange {
	return pick(c, store.TimeRange{}, store.TimeRange{From: c.time(), Before: c.time(), OrNone: c.IntN(2) == 0})
}

func (c chance) after() store.Position {
	return pick(c, store.Position{}, store.Position{Time: c.time().Truncate(time.Millisecond), ID: pick(c, c.id(), c.key())})
}

func (c chance) limit() int { return pick(c, 0, 1, 2, 5) }

func (c chance) license() store.License {
	return store.License{
		ID: c.id(), Key: c.id() + c.opt(), CustomerID: c.key(), ProductID: c.key(),
		State: store.State(c.opt()), StartsAt: c.time(), ExpiresAt: c.time(), Text: c.key() + c.opt(), Document: c.doc(),
	}
}

func (c chance) activation() store.Activation {
	return store.Activation{
		LicenseID: c.id(), ID: c.id(), Fingerprint: c.key(), LeaseEndsAt: c.time(), EndedAt: pick(c, time.Time{}, c.time()),
		Document: c.doc(),
	}
}

func (c chance) event() store.Event {
	return store.Event{
		Seq: c.Int64N(200), ID: c.id(), Type: c.key(), Time: c.time(), Actor: c.opt(), RequestID: c.opt(),
		Subject: c.opt(), ProductID: c.opt(), CustomerID: c.opt(), Data: c.doc(),
	}
}

// change draws a change.
func (c chance) change(ctx context.Context) func(store.Tx) (any, error) {
	plain := func(fn func(store.Tx) error) func(store.Tx) (any, error) {
		return func(tx store.Tx) (any, error) { return nil, fn(tx) }
	}
	keys := slices.Compact([]string{c.key(), c.key()})
	l, l2, id, key, kind, through, limit := c.license(), c.license(), c.id(), c.key(), pick(c, "x", "y"), c.Int64N(200), c.IntN(4)-1
	a, a2, v, v2 := c.activation(), c.activation(), c.event(), c.event()
	a2.LicenseID, a2.Fingerprint = a.LicenseID, a.Fingerprint+"2" // so that only one thing can be wrong
	ids := slices.Compact([]string{a.ID, a2.ID})
	e := store.Entry{Kind: kind, Key: key, Owner: c.opt(), Data: c.doc(), ExpiresAt: c.time(), CreatedAt: c.time()}
	return pick(c,
		plain(func(tx store.Tx) error { return tx.CreateLicenses(ctx, l) }),
		plain(func(tx store.Tx) error { return tx.CreateLicenses(ctx, l, l2) }),
		plain(func(tx store.Tx) error { return tx.UpdateLicense(ctx, l) }),
		func(tx store.Tx) (any, error) { // another text and nothing else
			old, err := tx.License(ctx, l.ID)
			if old.Text = l.Text; err == nil {
				err = tx.UpdateLicense(ctx, old)
			}
			return nil, err
		},
		plain(func(tx store.Tx) error { return tx.DeleteLicense(ctx, id) }),
		plain(func(tx store.Tx) error { return tx.PutActivations(ctx, a) }),
		plain(func(tx store.Tx) error { return tx.PutActivations(ctx, a, a2) }),
		plain(func(tx store.Tx) error { return tx.DeleteActivations(ctx, a.LicenseID, ids...) }),
		plain(func(tx store.Tx) error { return tx.AppendEvents(ctx, v, v2) }),
		plain(func(tx store.Tx) error { return tx.ReplaceEvent(ctx, v) }),
		func(tx store.Tx) (any, error) { return tx.DeleteEvents(ctx, through, limit) },
		plain(func(tx store.Tx) error { return tx.PutEntries(ctx, e) }),
		plain(func(tx store.Tx) error {
			return tx.DeleteEntries(ctx, kind, keys...)
		}),
	)
}

// question draws a read; the first result tells what it asks.
func (c chance) question(ctx context.Context) (any, func(store.Reader) (any, error)) {
	id, key, kind, down := c.id(), c.key(), pick(c, "x", "y"), c.IntN(2) == 0
	licenses := store.LicenseQuery{
		CustomerID: c.opt(), ProductID: c.opt(), State: store.State(c.opt()), Starts: c.span(), Expires: c.span(),
		Order: store.LicenseOrder(c.IntN(3)), Descending: down, After: c.after(), Limit: c.limit(),
	}
	if c.IntN(4) == 0 {
		licenses.Order, licenses.IDs = store.ByID, []string{c.id(), c.id(), c.id()}
	}
	found := licenses
	found.IDs, found.KeyPart = nil, pick(c, "", "", c.key(), "i")
	for range c.IntN(3) {
		found.Text = append(found.Text, pick(c, "", c.key()))
	}
	counted := licenses
	counted.IDs, counted.Descending, counted.After, counted.Limit = nil, false, store.Position{}, 0
	edges := make([]store.Position, c.IntN(5))
	for i := range edges {
		edges[i] = c.after()
	}
	slices.SortFunc(edges, func(a, b store.Position) int {
		if counted.Order == store.ByID {
			return cmp.Compare(a.ID, b.ID)
		}
		return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.ID, b.ID))
	})
	names := store.NamesQuery{By: store.NameOrder(c.IntN(2)), After: c.opt(), Limit: c.limit()}
	prints := store.ActivationQuery{FingerprintPrefix: pick(c, c.key(), "a"), AfterFingerprint: c.opt(), AfterLicenseID: pick(c, "", c.id()), Limit: c.limit()}
	seats := store.ActivationQuery{LicenseID: id, LiveAt: c.time(), LeaseEnds: c.span(), After: pick(c, "", c.id()), Limit: c.limit()}
	events := store.EventQuery{Subject: c.opt(), CustomerID: c.opt(), ProductID: c.opt(), After: pick(c, 0, c.Int64N(200)), Descending: down, Limit: c.limit()}
	entries := pick(c,
		store.EntryQuery{Kind: kind, Order: store.ByExpiry, Owner: c.opt(), Expires: c.span(), After: c.after(), Limit: c.limit()},
		store.EntryQuery{Kind: kind, From: c.opt(), Before: c.opt(), Descending: down, After: c.after(), Limit: c.limit()},
		store.EntryQuery{Kind: kind, Keys: []string{c.key(), c.key()}, Descending: down, Limit: c.limit()})
	switch c.IntN(14) {
	case 0:
		return id, func(r store.Reader) (any, error) { return r.License(ctx, id) }
	case 1:
		return id + key, func(r store.Reader) (any, error) { return r.LicenseByKey(ctx, id+key) }
	case 2:
		return [2]string{id, key}, func(r store.Reader) (any, error) { return r.Activation(ctx, id, key) }
	case 3:
		return seats, func(r store.Reader) (any, error) { return r.Activations(ctx, seats) }
	case 4:
		return events, func(r store.Reader) (any, error) { return r.Events(ctx, events) }
	case 5:
		return [2]string{kind, key}, func(r store.Reader) (any, error) { return r.Entry(ctx, kind, key) }
	case 6:
		return entries, func(r store.Reader) (any, error) { return r.Entries(ctx, entries) }
	case 7:
		return prints, func(r store.Reader) (any, error) { return r.Activations(ctx, prints) }
	case 8:
		return names, func(r store.Reader) (any, error) { return r.LicenseNames(ctx, names) }
	case 9:
		return []any{counted, edges}, func(r store.Reader) (any, error) { return r.CountLicenses(ctx, counted, edges...) }
	case 10, 11:
		return found, func(r store.Reader) (any, error) {
			rows, next, err := r.FindLicenses(ctx, found)
			return []any{rows, next}, err
		}
	default:
		return licenses, func(r store.Reader) (any, error) { return r.Licenses(ctx, licenses) }
	}
}

// sentinelOf returns what the contract says of err.
func sentinelOf(err error) error {
	for _, sentinel := range []error{store.ErrNotFound, store.ErrExists} {
		if errors.Is(err, sentinel) {
			return sentinel
		}
	}
	return err
}

// same compares what two stores returned. An empty slice and nil are the same.
func same(a, b any) bool { return fmt.Sprintf("%T %+v", a, a) == fmt.Sprintf("%T %+v", b, b) }

// Compare makes random changes to st, an empty store, and to a store in memory, and
// asks both the same random questions, for a number of rounds but not longer than
// limit. With anyBytes, some strings are not UTF-8 or have a NUL, which no store has to
// accept.
func Compare(t *testing.T, st store.Store, rounds int, limit time.Duration, anyBytes bool) {
	t.Helper()
	ctx := t.Context()
	seed := rand.Uint64()
	c := chance{rand.New(rand.NewPCG(seed, 0)), []string{"a", "A", "ab", "é", "e\u0301", "%", "許"}}
	if anyBytes {
		c.keys = append(c.keys, "\x00", "a\x00b", "\xff\xfe")
	}
	there := memory.New()
	end := time.Now().Add(limit)
	round, full := 0, 0
	for ; round < rounds && time.Now().Before(end); round++ {
		for range 5 {
			change := c.change(ctx)
			var got, want any
			var err1, err2 error
			if err := errors.Join(
				st.Update(ctx, func(tx store.Tx) error { got, err1 = change(tx); return nil }),
				there.Update(ctx, func(tx store.Tx) error { want, err2 = change(tx); return nil }),
			); err != nil {
				t.Fatalf("seed %d, round %d: %v", seed, round, err)
			}
			if sentinelOf(err1) != sentinelOf(err2) || !same(got, want) {
				t.Fatalf("seed %d, round %d: a change answered\n%+v %v, want\n%+v %v", seed, round, got, err1, want, err2)
			}
		}
		for range 20 {
			question, ask := c.question(ctx)
			got, err1 := ask(st)
			want, err2 := ask(there)
			if sentinelOf(err1) != sentinelOf(err2) || !same(got, want) {
				t.Fatalf("seed %d, round %d: %+v\n got %+v %v\nwant %+v %v", seed, round, question, got, err1, want, err2)
			}
			if v := reflect.ValueOf(got); v.Kind() == reflect.Slice && v.Len() > 1 {
				full++
			}
		}
	}
	if full <= round/2 {
		t.Errorf("%d lists had several rows in %d rounds: there was little to compare", full, round)
	}
}
