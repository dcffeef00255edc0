package dashboard

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// TestPageTimeAtScale measures every page with 1,000 and with 100,000 licenses.
// The shortest time must not more than double, except that of a search: other load on
// the machine only makes a page take longer.
func TestPageTimeAtScale(t *testing.T) {
	if testing.Short() {
		t.Skip("fills a store with 100,000 licenses")
	}
	small, large := newLargeHost(t, 1_000), newLargeHost(t, 100_000)
	pages := dashboardPages(t)
	pages = slices.DeleteFunc(pages, func(page string) bool { // these redirect
		return slices.Contains([]string{"sign-in", "setup", "join", "sign-in-code", "settings"}, page)
	})
	pages = append(pages,
		"licenses?status=active", "licenses?status=expired", "licenses?status=suspended", "licenses?product=product-3",
		"licenses?product=product-3&status=active", "licenses?q=customer-7&status=active", "licenses?customer=customer-7", "licenses?q=number+00007", "licenses?q=customer-7", "licenses?q={id}", "licenses?q={key}",
		"licenses?expires=30d", "licenses?expires=past30d", "licenses?{next}", "search?q=number+00007", "customers?q=customer-",
		"audit?type=license.suspended", "audit?subject={id}", "audit?customer=customer-7",
	)
	for _, page := range pages {
		t.Run(page, func(t *testing.T) {
			x, y := small.cost(t, page), large.cost(t, page)
			most := func() time.Duration {
				if strings.Contains(page, "q=") || page == "search" { // it searches all licenses, in a limited time
					return max(2*x, time.Second)
				}
				return 2 * x
			}
			for n := 0; n < 8 || n < 200 && y > most(); n++ {
				x, y = min(x, small.cost(t, page)), min(y, large.cost(t, page))
			}
			t.Logf("%v with 1,000, %v with 100,000", x, y)
			if y > most() {
				t.Errorf("the page takes %v with 1,000 licenses and %v with 100,000", x, y)
			}
		})
	}
}

// largeHost is a host with many licenses.
type largeHost struct {
	*host
	cookie  *http.Cookie
	one     api.License
	next    string
	address func(path string) string
}

func newLargeHost(t *testing.T, n int) *largeHost {
	t.Helper()
	is := is.New(t)
	ctx := t.Context()
	r := &largeHost{host: newHost(t)}
	op := r.admin(t)
	r.cookie = r.host.cookie(t, adminEmail, adminPassword)
	now := time.Now().UTC()
	const batch = 500 // in one Update
	for done := 0; done < n; done += batch {
		is.NoErr(r.Service().Atomically(ctx, func(s *license.Service) error {
			for i := done; i < done+batch; i++ {
				expires := now.AddDate(0, 0, i%700-100)
				l, err := s.Create(ctx, api.CreateLicenseParams{
					Name: fmt.Sprintf("Number %05d", i), ProductID: fmt.Sprintf("product-%d", i%20), CustomerID: fmt.Sprintf("customer-%d", i%(n/10)), ExpiresAt: &expires,
					Metadata: map[string]string{"email": fmt.Sprintf("customer-%d@mail.example", i%(n/10))},
				})
				if err == nil && i%5 == 0 && expires.After(now) {
					_, err = s.Activate(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc"})
				}
				if err == nil && i%10 == 1 {
					_, err = s.Suspend(ctx, api.ChangeStateParams{ID: l.ID})
				}
				if err != nil {
					return err
				}
				r.one = l
			}
			return nil
		}))
	}
	clientID := ""
	for i := range 60 {
		c, _, err := r.Auth().CreateClient(ctx, auth.CreateClientParams{Name: fmt.Sprintf("Client %d", i)})
		is.NoErr(err)
		clientID = c.ID
	}
	page, err := r.Service().List(ctx, api.ListLicensesParams{NewestFirst: true, Limit: 50})
	is.NoErr(err)
	r.next = page.NextCursor
	r.address = r.addresses(t, op.ID, r.one.ID, clientID)
	return r
}

// cost requests a page and returns the time that the handler took.
func (r *largeHost) cost(t *testing.T, page string) time.Duration {
	t.Helper()
	page = r.address(strings.NewReplacer("={id}", "="+r.one.ID, "{key}", r.one.Key, "{next}", "cursor="+r.next).Replace(page))
	req := httptest.NewRequest(http.MethodGet, "http://localhost/dashboard/"+page, nil)
	req.AddCookie(r.cookie)
	w := httptest.NewRecorder()
	start := time.Now()
	r.ServeHTTP(w, req)
	d := time.Since(start)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d: %s", page, w.Code, w.Body)
	}
	return d
}
