package webhook

import (
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// list returns the IDs of all pages of the webhooks of a caller.
func list(t *testing.T, s *Service, limit int) (ids []string, pages int) {
	t.Helper()
	for p := (api.ListWebhooksParams{Limit: limit}); ; pages++ {
		page, err := s.List(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range page.Data {
			ids = append(ids, w.ID)
		}
		if page.HasMore != (page.NextCursor != "") || page.HasMore && len(page.Data) != limit {
			t.Errorf("a page of %d with more: %t, cursor %q", len(page.Data), page.HasMore, page.NextCursor)
		}
		if p.Cursor = page.NextCursor; !page.HasMore {
			return ids, pages + 1
		}
	}
}

// TestPagesOfWebhooks: every page continues after the one before, also for a
// caller who sees few of the webhooks.
func TestPagesOfWebhooks(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	as := f.In(f.rules.As(license.Caller{Actor: "client:cid_1", Products: []string{"p"}}))
	var all, mine []string
	for i := range 103 {
		f.now = f.now.Add(time.Millisecond)
		s := f.Service
		if i%20 == 1 {
			s = as
		}
		w, _, err := s.Create(t.Context(), api.CreateWebhookParams{URL: "https://x.example/"})
		is.NoErr(err)
		if all = append(all, w.ID); s == as {
			mine = append(mine, w.ID)
		}
	}
	for _, limit := range []int{1, 7, 100, 103, 200} {
		got, pages := list(t, f.Service, limit)
		is.Equal(got, all)
		is.Equal(pages, (103+limit-1)/limit)
	}
	is.Equal(len(mine), 6)
	for _, limit := range []int{1, 4, 6, 200} {
		got, pages := list(t, as, limit)
		is.Equal(got, mine)
		is.Equal(pages, (6+limit-1)/limit)
	}
	page, err := f.List(t.Context(), api.ListWebhooksParams{})
	is.NoErr(err)
	is.Equal(len(page.Data), 50)
	for range 2 {
		_, err = f.Test(t.Context(), all[0])
		is.NoErr(err)
	}
	deliveries, err := f.Deliveries(t.Context(), api.ListDeliveriesParams{WebhookID: all[0], Limit: 1})
	is.NoErr(err)
	for _, p := range []api.ListWebhooksParams{{Limit: 201}, {Limit: -1}, {Cursor: "x"}, {Cursor: deliveries.NextCursor}} {
		_, err = f.List(t.Context(), p)
		require.ErrorIs(t, err, api.ErrInvalid)
	}
}

// Troubled webhooks fail or are disabled; the longest comes first.
func TestTroubledWebhooks(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	var ids []string
	for range 4 {
		w, _ := f.webhook(t)
		ids = append(ids, w.ID)
	}
	troubled := func() (got []string) {
		t.Helper()
		hooks, err := inner.Of(f.Service).Troubled(t.Context())
		is.NoErr(err)
		for _, w := range hooks {
			got = append(got, w.ID)
		}
		return got
	}
	report := func(id string, got result) {
		_, err := f.reportOn(t.Context(), id, got)
		is.NoErr(err)
	}
	is.Equal(len(troubled()), 0)
	report(ids[2], resultFailed)
	f.now = f.now.Add(day)
	report(ids[1], resultGone)
	is.Equal(troubled(), []string{ids[2], ids[1]})
	limited, err := inner.Of(f.In(f.rules.As(license.Caller{Products: []string{"p"}}))).Troubled(t.Context())
	is.NoErr(err)
	is.Equal(len(limited), 0) // they receive events of all products
	report(ids[2], resultDelivered)
	is.Equal(troubled(), ids[1:2])
	_, err = f.Update(t.Context(), api.UpdateWebhookParams{ID: ids[1], Status: ptr(api.WebhookActive)})
	is.NoErr(err)
	is.Equal(len(troubled()), 0)
}
