package dashboard_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A workStore counts the rows that reads return or count, and one for each call.
type workStore struct {
	store.Store
	workReader
}

type workReader struct {
	store.Reader
	work *atomic.Int64
}

func newWorkStore() workStore {
	st := memory.New()
	return workStore{st, workReader{st, new(atomic.Int64)}}
}

func (st workStore) View(ctx context.Context, fn func(store.Reader) error) error {
	return st.Store.View(ctx, func(r store.Reader) error { return fn(workReader{r, st.work}) })
}

func (st workStore) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	return st.workReader.Licenses(ctx, q)
}

func (st workStore) CountLicenses(ctx context.Context, q store.LicenseQuery, edges ...store.Position) ([]int64, error) {
	return st.workReader.CountLicenses(ctx, q, edges...)
}

func (st workStore) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	return st.workReader.Events(ctx, q)
}

func (st workStore) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	return st.workReader.Entries(ctx, q)
}

func (st workStore) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	return st.workReader.Activations(ctx, q)
}

func (r workReader) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	list, err := r.Reader.Licenses(ctx, q)
	r.work.Add(int64(1 + len(list)))
	return list, err
}

func (r workReader) CountLicenses(ctx context.Context, q store.LicenseQuery, edges ...store.Position) ([]int64, error) {
	numbers, err := r.Reader.CountLicenses(ctx, q, edges...)
	for _, n := range numbers {
		r.work.Add(int64(1 + int(n)))
	}
	return numbers, err
}

func (r workReader) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	list, err := r.Reader.Events(ctx, q)
	r.work.Add(int64(1 + len(list)))
	return list, err
}

func (r workReader) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	list, err := r.Reader.Entries(ctx, q)
	r.work.Add(int64(1 + len(list)))
	return list, err
}

func (r workReader) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	list, err := r.Reader.Activations(ctx, q)
	r.work.Add(int64(1 + len(list)))
	return list, err
}

// TestOverviewAfterAChange does at most twice the work that it does with 1,000 licenses:
// more are counted once for all changes of a minute, and the page says when.
func TestOverviewAfterAChange(t *testing.T) {
	is := is.New(t)
	work := func(licenses int) int {
		st := newWorkStore()
		s := newSiteOn(t, st, licensing.Options{})
		v := s.admin()
		var rows strings.Builder
		for i := range licenses - 1 {
			ends := s.clock().AddDate(0, 0, i%700-100).Format(time.RFC3339)
			fmt.Fprintf(&rows, `{"name":"n","product_id":"p","customer_id":"c","key":"a-key-of-the-old-system-%d","plan_id":"plan_%d","expires_at":%q,"max_activations":1}`+"\n", i, i%7, ends)
		}
		is.NoErr(s.Service().Import(t.Context(), strings.NewReader(rows.String()), func(api.RowResult) error { return nil }))
		v.get("")
		s.activate(s.license(api.CreateLicenseParams{Name: "n"}), "pc", "PC")
		st.work.Store(0)
		after := v.get("")
		did := int(st.work.Load())
		if licenses == 1000 {
			require.Contains(t, after.body, "1,000 licenses</h2>", ">atlas</a></span> <span>1</span>")
			require.NotContains(t, after.body, "As of")
			return did
		}
		require.Contains(t, after.body, "19,999 licenses</h2>", "<p class=\"muted small\">As of 12:00.</p>")
		s.advance(time.Minute + time.Second)
		require.Contains(t, v.get("").body, "20,000 licenses</h2>", "As of 12:01.")
		return did
	}
	few := work(1000)
	is.True(few > 1000)
	require.AtMost(t, work(20_000), 2*few)
}
