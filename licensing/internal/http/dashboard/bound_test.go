package dashboard_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A slowSearch is a store that takes longer for 30 licenses than a search may take.
type slowSearch struct{ store.Store }

func (s slowSearch) FindLicenses(ctx context.Context, q store.LicenseQuery) ([]store.License, string, error) {
	time.Sleep(251 * time.Millisecond)
	q.Limit = min(q.Limit, 30)
	return s.Store.FindLicenses(ctx, q)
}

// TestSearchStops: a search that stops before its end says how far it has come and
// continues there, in both orders and directions. A number of matches that is not
// exact is marked.
func TestSearchStops(t *testing.T) {
	t.Parallel() // it sleeps
	is := is.New(t)
	s := newSiteOn(t, slowSearch{memory.New()}, licensing.Options{})
	for i := range 80 { // one a day from 1 March
		name := fmt.Sprint("Common ", i)
		if i == 10 || i == 70 {
			name = fmt.Sprint("Rare ", i)
		}
		s.license(license.CreateParams{Name: name})
		s.advance(24 * time.Hour)
	}
	v := s.admin()
	first := v.get("search?q=rare")
	is.Equal(found(first), []string{"Rare 70"})
	require.Contains(t, first.body, `<p class="note" role="status">Searched back to 20 April 2026 · <a href="./licenses?q=rare&amp;cursor=`)
	second := v.link(first, "Continue")
	is.Equal(names(second), "")
	require.Contains(t, second.body, "Searched back to 21 March 2026 · <a", "No matches found yet")
	third := v.link(second, "Continue")
	is.Equal(names(third), "Rare 10")
	require.NotContains(t, third.body, "Searched ", `rel="next"`)
	back := v.link(third, "Previous")
	is.Equal(names(back), "")
	require.Contains(t, back.body, "Searched up to 10 April 2026 · <a")
	is.Equal(names(v.link(back, "Continue")), "Rare 70")

	list := v.get("licenses?q=rare&sort=oldest")
	is.Equal(names(list), "Rare 10")
	require.Contains(t, list.body, "Searched up to 30 March 2026 · <a")
	require.Contains(t, list.body, "1&#43; matching licenses. A number with + is a minimum")
	require.Contains(t, list.body, `Suspended</a>`)
	require.NotContains(t, list.body, "Suspended <") // none so far, which is not known

	none := v.get("search?q=number-0")
	require.Contains(t, none.body, "No matches found yet.", ">Search in keys</a>")
	require.NotContains(t, none.body, "No matches</h2>")
	require.Contains(t, v.link(none, "Search in keys").body, "No matching licenses")
}
