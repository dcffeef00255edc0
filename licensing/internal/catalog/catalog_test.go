package catalog_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/catalog"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// A fixture is a store with the rules that change it, and a catalog.
type fixture struct {
	*license.Service
	*catalog.Catalog
	store store.Store
	now   time.Time
}

func newFixture(st store.Store) *fixture {
	f := &fixture{store: st, now: start}
	f.Service = license.New(st, license.Options{Now: func() time.Time { return f.now }, Events: license.EventOptions{Retention: 24 * time.Hour}})
	f.Catalog = catalog.New(st, feed.PurgedThrough)
	return f
}

// purge removes the events that are past their retention.
func (f *fixture) purge(t *testing.T) {
	t.Helper()
	retention := feed.Retention{Store: f.store, Now: func() time.Time { return f.now }, Keep: f.Options().Events.Retention}
	for more := true; more; {
		var err error
		if more, err = retention.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// create adds n licenses of a customer.
func (f *fixture) create(t *testing.T, customer string, n int) (l license.License) {
	t.Helper()
	var err error
	for range n {
		if l, err = f.Create(t.Context(), license.CreateParams{Name: "Ada's license", ProductID: "atlas", CustomerID: customer}); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// customers returns the counts by customer, and how far they lag.
func (f *fixture) customers(t *testing.T) (text string, lag *catalog.Lag) {
	t.Helper()
	lag, err := f.Answer(t.Context(), nil, func(in catalog.Snapshot) error {
		list, err := in.Counts(t.Context(), catalog.Customer, store.EntryQuery{})
		text = fmt.Sprint(list)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text, lag
}

// exact returns the counts by customer, which must not lag.
func (f *fixture) exact(t *testing.T) string {
	t.Helper()
	text, lag := f.customers(t)
	if lag != nil {
		t.Fatalf("%s lag by %+v", text, *lag)
	}
	return text
}

// kinds returns the number of entries of every kind.
func (f *fixture) kinds(t *testing.T) map[string]int {
	t.Helper()
	kinds := map[string]int{}
	for q := (store.EntryQuery{}); ; {
		entries, err := f.store.Entries(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if len(entries) == 0 {
			return kinds
		}
		for _, e := range entries {
			kinds[e.Kind]++
			q.AfterKind, q.After.ID = e.Kind, e.Key
		}
	}
}

func TestAnswersIncludeEveryChangeBeforeTheQuestion(t *testing.T) {
	is := is.New(t)
	f := newFixture(storetest.Twice(memory.New()))
	is.Equal(f.exact(t), "[]")
	ada := f.create(t, "ada", 1)
	is.Equal(f.exact(t), "[{ada 1}]")
	f.create(t, "bob", 1500)
	is.NoErr(f.Catalog.Index(t.Context())) // several batches
	is.Equal(f.exact(t), "[{ada 1} {bob 1500}]")
	_, err := f.Update(t.Context(), license.UpdateParams{ID: ada.ID, CustomerID: &[]string{"eve"}[0]})
	is.NoErr(err)
	is.Equal(f.exact(t), "[{bob 1500} {eve 1}]")
	is.NoErr(f.Delete(t.Context(), license.DeleteParams{ID: ada.ID}))
	is.Equal(f.exact(t), "[{bob 1500}]")
	is.Equal(f.kinds(t)["index.1.license"], 1500)
}

// TestTwoCatalogsOnOneStore: whichever catalog indexes first, the other reads
// again and counts nothing twice.
func TestTwoCatalogsOnOneStore(t *testing.T) {
	is := is.New(t)
	st := &hookStore{Store: memory.New()}
	f, other := newFixture(st), newFixture(st.Store)
	for range 3 {
		f.create(t, "ada", 1)
		st.before = func() { st.before = nil; other.exact(t) } // between the read and the Update
		is.Equal(f.exact(t), other.exact(t))
		is.True(st.before == nil) // it happened
	}
	is.Equal(f.exact(t), "[{ada 3}]")
}

// A hookStore calls before, if set, before each Update, and fails Updates with
// err, if set.
type hookStore struct {
	store.Store
	before func()
	err    error
}

func (s *hookStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	if s.before != nil {
		s.before()
	}
	if s.err != nil {
		return s.err
	}
	return s.Store.Update(ctx, fn)
}

// TestBehindRetention: the catalog does not hold retention back, and scans the
// licenses when events that it has not read are gone.
func TestBehindRetention(t *testing.T) {
	is := is.New(t)
	f := newFixture(memory.New())
	ada := f.create(t, "ada", 3)
	is.Equal(f.exact(t), "[{ada 3}]")
	f.create(t, "bob", 2)
	is.NoErr(f.Delete(t.Context(), license.DeleteParams{ID: ada.ID}))
	f.now = f.now.Add(48 * time.Hour)
	f.create(t, "eve", 1)
	f.purge(t)
	events, err := f.store.Events(t.Context(), store.EventQuery{})
	is.NoErr(err)
	is.Equal(len(events), 1)
	is.Equal(f.exact(t), "[{ada 2} {bob 2} {eve 1}]")
	is.NoErr(f.Catalog.Index(t.Context()))
	kinds := f.kinds(t)
	is.Equal(kinds["index.1.count"]+kinds["index.1.license"], 0) // the build before is gone
	is.Equal(kinds["index.2.license"], 5)
}

// TestImport imports an archive with purged events into a store whose empty
// catalog exists already and is asked during the import.
func TestImport(t *testing.T) {
	is := is.New(t)
	from := newFixture(memory.New())
	from.create(t, "ada", 3)
	from.now = from.now.Add(48 * time.Hour)
	from.create(t, "bob", 700)
	from.purge(t)
	is.NoErr(from.Catalog.Index(t.Context()))
	is.Equal(from.exact(t), "[{ada 3} {bob 700}]")
	var archive bytes.Buffer
	is.NoErr(store.Export(t.Context(), from.store, &archive))
	is.True(!strings.Contains(archive.String(), "index.")) // derived entries do not move

	st := &hookStore{Store: memory.New()}
	to := newFixture(st)
	is.Equal(to.exact(t), "[]")
	updates := 0
	busy := newFixture(st.Store)
	st.before = func() { updates++; busy.customers(t) }
	is.NoErr(store.Import(t.Context(), st, bytes.NewReader(archive.Bytes())))
	is.True(updates > 2)
	st.before = nil
	is.NoErr(to.Catalog.Index(t.Context()))
	is.Equal(to.exact(t), "[{ada 3} {bob 700}]")
}

// TestEarlierRelease: the counts that an earlier release maintained answer until
// the index is built, and are deleted then.
func TestEarlierRelease(t *testing.T) {
	is := is.New(t)
	st := &hookStore{Store: memory.New()}
	f := newFixture(st)
	f.create(t, "ada", 3)
	var old []store.Entry
	for i := range 500 {
		old = append(old, store.Entry{Kind: "count", Key: fmt.Sprintf("customer/%03d", i), Data: []byte("7")})
	}
	for _, key := range []string{"expires/2026-01-01", "expires_at/2026-03-01T11:59:59.999Z", "expires_at/2026-03-01T12:00:00.000Z"} {
		old = append(old, store.Entry{Kind: "count", Key: key, Data: []byte("2")})
	}
	is.NoErr(st.Update(t.Context(), func(tx store.Tx) error { return tx.PutEntries(t.Context(), old...) }))
	st.err = errors.New("read-only")
	text, lag := f.customers(t)
	is.True(strings.HasPrefix(text, "[{000 7} {001 7}"))
	is.True(errors.Is(lag.Err, st.err))
	_, err := f.Answer(t.Context(), nil, func(in catalog.Snapshot) error {
		n, err := in.Between(t.Context(), catalog.Expires, time.Time{}, start)
		is.Equal(n, int64(4)) // it did not count by the hour
		return err
	})
	is.NoErr(err)
	st.err = nil
	is.Equal(f.exact(t), "[{ada 3}]")
	is.NoErr(f.Catalog.Index(t.Context()))
	is.Equal(f.kinds(t)["count"], 0)

	is.NoErr(st.Update(t.Context(), func(tx store.Tx) error { return tx.PutEntries(t.Context(), old...) })) // an old archive
	is.NoErr(f.Catalog.Clean(t.Context()))
	is.Equal(f.kinds(t)["count"], 0)
	is.Equal(f.exact(t), "[{ada 3}]")
}

// TestReadOnlyStore: the answer is what was indexed before, and says so.
func TestReadOnlyStore(t *testing.T) {
	is := is.New(t)
	st := &hookStore{Store: memory.New()}
	f := newFixture(st)
	f.create(t, "ada", 3)
	is.Equal(f.exact(t), "[{ada 3}]")
	f.create(t, "ada", 1)
	st.err = store.ErrUnavailable
	text, lag := f.customers(t)
	is.Equal(text, "[{ada 3}]")
	is.Equal(*lag, catalog.Lag{Percent: 75, Err: st.err})
}

// TestWithinAnUpdate: nothing catches up inside an Update, and the answer says
// whether it lags.
func TestWithinAnUpdate(t *testing.T) {
	is := is.New(t)
	f := newFixture(memory.New())
	f.create(t, "ada", 1)
	is.Equal(f.exact(t), "[{ada 1}]")
	is.NoErr(f.Atomically(t.Context(), func(s *license.Service) error {
		page, err := s.Customers(t.Context(), license.NamesParams{})
		is.NoErr(err)
		is.Equal(page.Data, []license.NameCount{{Name: "ada", N: 1}})
		is.True(page.Indexing == nil)
		_, err = s.Create(t.Context(), license.CreateParams{Name: "n", ProductID: "p", CustomerID: "bob"})
		is.NoErr(err)
		page, err = s.Customers(t.Context(), license.NamesParams{})
		is.Equal(page.Data, []license.NameCount{{Name: "ada", N: 1}})
		is.Equal(*page.Indexing, license.Indexing{Percent: 50})
		return err
	}))
	is.Equal(f.exact(t), "[{ada 1} {bob 1}]")
}

// TestDamage: an index whose entries contradict each other is built again, and
// never shows a negative count.
func TestDamage(t *testing.T) {
	is := is.New(t)
	for name, damage := range map[string]func(store.Tx) error{
		"count too low": func(tx store.Tx) error {
			return tx.PutEntries(t.Context(), store.Entry{Kind: "index.1.count", Key: "customer/ada", Data: []byte("0")})
		},
		"count missing":  func(tx store.Tx) error { return tx.DeleteEntries(t.Context(), "index.1.count", "customer/ada") },
		"record garbled": func(tx store.Tx) error { return nil },
	} {
		f := newFixture(memory.New())
		l := f.create(t, "ada", 1)
		is.Equal(f.exact(t), "[{ada 1}]")
		is.NoErr(f.store.Update(t.Context(), func(tx store.Tx) error {
			if name == "record garbled" {
				return tx.PutEntries(t.Context(), store.Entry{Kind: "index.1.license", Key: l.ID, Data: []byte("{")})
			}
			return damage(tx)
		}))
		is.NoErr(f.Delete(t.Context(), license.DeleteParams{ID: l.ID}))
		f.create(t, "bob", 1)
		is.Equal(f.exact(t), "[{bob 1}]")
	}
}
