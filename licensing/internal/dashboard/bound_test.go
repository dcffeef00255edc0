package dashboard_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/matryer/is"

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
	is.True(first.says(`<p class="note" role="status">Searched back to 20 April 2026 · <a href="./licenses?q=rare&amp;cursor=`))
	second := v.link(first, "Continue")
	is.Equal(names(second), "")
	is.True(second.says("Searched back to 21 March 2026 · <a") && second.says("No matches found yet"))
	third := v.link(second, "Continue")
	is.Equal(names(third), "Rare 10")
	is.True(!third.says("Searched ") && !third.says(`rel="next"`))
	back := v.link(third, "Previous")
	is.Equal(names(back), "")
	is.True(back.says("Searched up to 10 April 2026 · <a"))
	is.Equal(names(v.link(back, "Continue")), "Rare 70")

	list := v.get("licenses?q=rare&sort=oldest")
	is.Equal(names(list), "Rare 10")
	is.True(list.says("Searched up to 30 March 2026 · <a"))
	is.True(list.says("1&#43; matching licenses. A number with + is a minimum"))
	is.True(list.says(`Suspended</a>`) && !list.says("Suspended <")) // none so far, which is not known

	none := v.get("search?q=number-0")
	is.True(none.says("No matches found yet.") && none.says(">Search in keys</a>"))
	is.True(!none.says("No matches</h2>"))
	is.True(v.link(none, "Search in keys").says("No matching licenses"))
}
