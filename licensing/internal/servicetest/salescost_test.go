package servicetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/sales"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A rowStore counts the rows that reads of lists return.
type rowStore struct {
	store.Store
	rows  int
	feeds int // reads of the feed
}

func (st *rowStore) View(ctx context.Context, fn func(store.Reader) error) error {
	return st.Store.View(ctx, func(r store.Reader) error { return fn(rowReader{r, st}) })
}

func (st *rowStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	return st.Store.Update(ctx, func(tx store.Tx) error { return fn(rowTx{tx, rowReader{tx, st}}) })
}

type rowTx struct {
	store.Tx
	rows rowReader
}

func (tx rowTx) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	return tx.rows.Licenses(ctx, q)
}

func (tx rowTx) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	return tx.rows.Events(ctx, q)
}

func (tx rowTx) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	return tx.rows.Entries(ctx, q)
}

type rowReader struct {
	store.Reader
	st *rowStore
}

func (r rowReader) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	list, err := r.Reader.Licenses(ctx, q)
	r.st.rows += len(list)
	return list, err
}

func (r rowReader) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	list, err := r.Reader.Events(ctx, q)
	r.st.feeds++
	r.st.rows += len(list)
	return list, err
}

func (r rowReader) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	list, err := r.Reader.Entries(ctx, q)
	r.st.rows += len(list)
	return list, err
}

// TestSalesCostIsBounded: what the pages about sales read does not depend on the number of
// licenses, but for those that end soon, of which they look at 1,000.
func TestSalesCostIsBounded(t *testing.T) {
	is := is.New(t)
	read := func(licenses int) int {
		st := &rowStore{Store: memory.New()}
		h := licensing.NewHandler(st, licensing.Options{Logger: discard})
		var rows strings.Builder
		for i := range licenses {
			ends := time.Now().AddDate(0, 0, 1+i%400).Format(time.RFC3339)
			fmt.Fprintf(&rows, `{"name":"n","product_id":"p","customer_id":"c","key":"a-key-of-the-old-system-%d","plan_id":"plan_%d","expires_at":%q,"max_activations":1}`+"\n", i, i%7, ends)
		}
		is.NoErr(h.Service().Import(t.Context(), strings.NewReader(rows.String()), func(api.RowResult) error { return nil }))
		rules := inner.Of(h.Service()).Sales()
		p, before := sales.PeriodOf("year", time.Now())
		rep, err := rules.Report(t.Context(), p, before)
		is.NoErr(err)
		is.Equal(rep.Active, int64(1000))               // nothing was counted
		is.Equal(rep.CountedTo != nil, licenses > 1000) // and it says so
		for more := true; more; {
			var err error
			_, more, err = rules.Count(t.Context())
			is.NoErr(err)
		}
		st.rows = 0
		rep, err = rules.Report(t.Context(), p, before)
		is.NoErr(err)
		is.Equal(rep.Active, int64(licenses))
		is.True(rep.CountedTo == nil)
		soon, err := rules.Soon(t.Context())
		is.NoErr(err)
		is.Equal(len(soon.Due), 20)
		return st.rows
	}
	few := read(1000)
	is.True(few < 200)
	require.AtMost(t, read(20_000), few+1000) // as many licenses as a report looks at
}

// TestNamesCostSalesNoRow: of a change that no number has, the count reads nothing but the
// event, also if the license has limits.
func TestNamesCostSalesNoRow(t *testing.T) {
	is := is.New(t)
	st := &rowStore{Store: memory.New()}
	s := licensing.NewHandler(st, licensing.Options{Logger: discard}).Service()
	rules := inner.Of(s).Sales()
	read := func(change api.UpdateLicenseParams) int {
		for more := true; more; { // what was there
			var err error
			_, more, err = rules.Count(t.Context())
			is.NoErr(err)
		}
		page, err := s.List(t.Context(), api.ListLicensesParams{Limit: 50})
		is.NoErr(err)
		for _, l := range page.Data {
			change.ID = l.ID
			_, err := s.Update(t.Context(), change)
			is.NoErr(err)
		}
		st.rows = 0
		n, _, err := rules.Count(t.Context())
		is.NoErr(err)
		is.Equal(n, 50)
		return st.rows
	}
	for range 50 {
		_, err := s.Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c", Terms: api.Terms{MaxActivations: new(int64(3))}})
		is.NoErr(err)
	}
	is.True(read(api.UpdateLicenseParams{Name: new("other")}) < 60)
	is.True(read(api.UpdateLicenseParams{MaxActivations: api.To(int64(4))}) > 150) // events, licenses, and what is counted of them
}

// TestCountsBatches: an Update counts 500 changes, and passes 1,000 that change no number.
func TestCountsBatches(t *testing.T) {
	is := is.New(t)
	s := licensing.NewHandler(memory.New(), licensing.Options{Logger: discard}).Service()
	rules := inner.Of(s).Sales()
	count := func(want int, wantMore bool) {
		t.Helper()
		n, more, err := rules.Count(t.Context())
		is.NoErr(err)
		is.Equal(n, want)
		is.Equal(more, wantMore)
	}
	var ids []string
	for range 510 {
		l, err := s.Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c"})
		is.NoErr(err)
		ids = append(ids, l.ID)
	}
	count(500, true)
	count(10, true)  // and the licenses were not looked at
	count(500, true) // licenses
	count(10, false) // all of them
	for i := range 1100 {
		_, err := s.Update(t.Context(), api.UpdateLicenseParams{ID: ids[0], Name: new(fmt.Sprint(i))})
		is.NoErr(err)
	}
	count(1000, true)
	count(100, false)
	count(0, false)
}

// TestMixedEventsAreReadInPages: a batch that is almost full does not read event by event.
func TestMixedEventsAreReadInPages(t *testing.T) {
	is := is.New(t)
	st := &rowStore{Store: memory.New()}
	s := licensing.NewHandler(st, licensing.Options{Logger: discard}).Service()
	rules := inner.Of(s).Sales()
	count := func() (n int) {
		n, _, err := rules.Count(t.Context())
		is.NoErr(err)
		return n
	}
	create := func() string {
		l, err := s.Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c"})
		is.NoErr(err)
		return l.ID
	}
	id := create()
	for count() > 0 { // from now on, names count nothing
	}
	for range 499 {
		create()
	}
	for i := range 500 {
		_, err := s.Update(t.Context(), api.UpdateLicenseParams{ID: id, Name: new(fmt.Sprint(i))})
		is.NoErr(err)
	}
	st.feeds = 0
	for count() > 0 {
	}
	require.AtMost(t, st.feeds, 20)
}

// A beforeUpdate is a store that does something before its next Update.
type beforeUpdate struct {
	store.Store
	do func()
}

func (st *beforeUpdate) Update(ctx context.Context, fn func(store.Tx) error) error {
	if do := st.do; do != nil {
		st.do = nil
		do()
	}
	return st.Store.Update(ctx, fn)
}

// TestTwoProcessesCountOnce: another process counts the events that this one has read.
func TestTwoProcessesCountOnce(t *testing.T) {
	is := is.New(t)
	st := &beforeUpdate{Store: memory.New()}
	s := licensing.NewHandler(st, licensing.Options{Logger: discard}).Service()
	other := inner.Of(licensing.NewHandler(st.Store, licensing.Options{Logger: discard}).Service()).Sales()
	for range 10 {
		_, err := s.Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c"})
		is.NoErr(err)
	}
	st.do = func() {
		n, _, err := other.Count(t.Context())
		is.NoErr(err)
		is.Equal(n, 10)
	}
	rules := inner.Of(s).Sales()
	n, more, err := rules.Count(t.Context())
	is.NoErr(err)
	is.Equal(n, 0)
	is.True(more)
	p, before := sales.PeriodOf("year", time.Now())
	rep, err := rules.Report(t.Context(), p, before)
	is.NoErr(err)
	is.Equal(rep.Active, int64(10))
	is.Equal(rep.Total.ByHand, int64(10))
}
