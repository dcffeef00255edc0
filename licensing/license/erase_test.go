package license_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A readEvents counts the events that Updates read.
type readEvents struct {
	store.Store
	n int
}

type readEventsTx struct {
	store.Tx
	read *readEvents
}

func (r *readEvents) Update(ctx context.Context, fn func(store.Tx) error) error {
	return r.Store.Update(ctx, func(tx store.Tx) error { return fn(readEventsTx{tx, r}) })
}

func (tx readEventsTx) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	events, err := tx.Tx.Events(ctx, q)
	tx.read.n += len(events)
	return events, err
}

// TestEraseOfALongHistory: each batch costs the same, however much has
// happened to a license.
//
// Fault: the whole history is read again for every batch of it, and others
// wait for the write lock.
func TestEraseOfALongHistory(t *testing.T) {
	is := is.New(t)
	st := &readEvents{Store: memory.New()}
	s := license.New(st, license.Options{})
	l, err := s.Create(t.Context(), plain())
	is.NoErr(err)
	for i := range 500 {
		_, err := s.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: fmt.Sprint("pc-", i)})
		is.NoErr(err)
	}
	done, err := s.EraseCustomer(t.Context(), "cus_ada")
	is.NoErr(err)
	is.Equal(done.Events, 502)
	require.AtMost(t, st.n, 2*done.Events) // once by customer, once in the feed
}

// TestEraseAfterRetention erases a customer whose license moved to another
// customer, when retention has already removed the first customer's events.
//
// Fault: the event of the move is found only by way of the event before it.
func TestEraseAfterRetention(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, func(o *license.Options) { o.Events.Retention = 24 * time.Hour })
	l := f.create(t)
	f.now = f.now.Add(48 * time.Hour)
	moved, err := f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, CustomerID: ptr("cus_bob")})
	is.NoErr(err)
	for range 600 { // more than one batch of the feed
		f.create(t, func(p *api.CreateLicenseParams) { p.CustomerID = "cus_eve" })
	}
	second := f.create(t, func(p *api.CreateLicenseParams) { p.CustomerID = "cus_eve" })
	_, err = f.Update(t.Context(), api.UpdateLicenseParams{ID: second.ID, CustomerID: ptr("cus_ada")})
	is.NoErr(err)
	_, err = f.Update(t.Context(), api.UpdateLicenseParams{ID: second.ID, CustomerID: ptr("cus_bob")})
	is.NoErr(err)
	f.purgeEvents(t)
	is.Equal(f.events(t, l.ID), []string{api.EventLicenseUpdated})

	_, err = f.EraseCustomer(t.Context(), "cus_ada")
	is.NoErr(err)
	for after := int64(0); ; {
		events, err := f.store.Events(t.Context(), store.EventQuery{After: after})
		is.NoErr(err)
		if len(events) == 0 {
			break
		}
		for _, e := range events {
			after = e.Seq
			require.NotContains(t, string(e.Data)+e.CustomerID, "cus_ada")
			if e.Subject == l.ID {
				data := eventData(t, e)
				is.True(data.Erased)
				is.Equal(*data.License, withoutKey(moved)) // the next customer's part stays
			}
		}
	}
}

// TestEraseLeavesNothing looks for an erased customer in every record of the
// store: licenses, activations, events and entries.
func TestEraseLeavesNothing(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, func(p *api.CreateLicenseParams) {
		p.Name, p.CustomerID, p.Metadata = "Zaphod Beeblebrox", "zaphod@example.com", map[string]string{"seat": "zaphod"}
	})
	f.activate(t, l.Key, "zaphod-laptop")
	other := f.create(t, func(p *api.CreateLicenseParams) { p.CustomerID = "zaphod@example.com" })
	moved := f.create(t)
	_, err := f.Update(t.Context(), api.UpdateLicenseParams{ID: moved.ID, CustomerID: ptr("zaphod@example.com")})
	is.NoErr(err)
	_, err = f.Update(t.Context(), api.UpdateLicenseParams{ID: moved.ID, CustomerID: ptr("cus_bob")})
	is.NoErr(err)
	dump := func() string {
		var all strings.Builder
		is.NoErr(store.Export(t.Context(), f.store, &all))
		for q := (store.EntryQuery{}); ; { // the archive leaves out some
			entries, err := f.store.Entries(t.Context(), q)
			is.NoErr(err)
			if len(entries) == 0 {
				return strings.ToLower(all.String())
			}
			for _, e := range entries {
				fmt.Fprintln(&all, e.Kind, e.Key, string(e.Data))
				q.AfterKind, q.After.ID = e.Kind, e.Key
			}
		}
	}
	require.Greater(t, strings.Count(dump(), "zaphod"), 10)
	_, err = f.EraseCustomer(t.Context(), "zaphod@example.com")
	is.NoErr(err)
	for _, line := range strings.Split(dump(), "\n") {
		if strings.Contains(line, "zaphod") || strings.Contains(line, "beeblebrox") {
			t.Error(line)
		}
	}
	_, err = f.Get(t.Context(), other.ID)
	require.ErrorIs(t, err, api.ErrNotFound)
	is.Equal(search(t, f.Service, api.ListLicensesParams{Search: "bob"}), []string{moved.ID})
}

func withoutKey(l api.License) api.License {
	l.Key = ""
	return l
}

// TestEraseAfterACorrectionAndBack: the events under an ID that a customer had for a while
// are erased too.
//
// Fault: the correction back is blanked first, and nothing leads to them any more.
func TestEraseAfterACorrectionAndBack(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t)
	for _, id := range []string{"cus_adda", "cus_da", "cus_adda", "cus_ada"} {
		_, err := f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, CustomerID: &id})
		is.NoErr(err)
		_, err = f.Suspend(t.Context(), api.ChangeStateParams{ID: l.ID})
		is.NoErr(err)
		_, err = f.Reinstate(t.Context(), api.ChangeStateParams{ID: l.ID})
		is.NoErr(err)
	}
	_, err := f.EraseCustomer(t.Context(), "cus_ada")
	is.NoErr(err)
	events, err := f.store.Events(t.Context(), store.EventQuery{Subject: l.ID})
	is.NoErr(err)
	is.Equal(len(events), 14) // with those that created and deleted it
	for _, e := range events {
		is.Equal(e.CustomerID, "")
		is.True(eventData(t, e).Erased)
	}
}
