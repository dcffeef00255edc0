package servicetest

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestPortalOpensTheOnlyLicense: a customer with one license sees it instead of a list,
// with the key before anything else but its name and state, and its forms work from there.
func TestPortalOpensTheOnlyLicense(t *testing.T) {
	is := is.New(t)
	host := newPortalHost(t, licensing.Options{}, licensing.Portal{})
	l, seat := host.license("cus_ada", "Workshop")
	host.license("cus_bo", "Other")
	page := host.visit("GET", "", nil).Body.String()
	require.Contains(t, page, "<title>Workshop</title>", `action="./`+l.ID+`/release"`, `<details><summary id="offline">`)
	require.NotContains(t, page, "All your licenses")
	is.True(strings.Index(page, l.Key) < strings.Index(page, "<dl>")) // the state is beside the name
	w := host.visit("POST", l.ID+"/release", url.Values{"device": {seat.ID}})
	is.Equal(w.Code, http.StatusSeeOther)

	_, err := host.Handler.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: "shop:1", At: host.Clock.Now(), CustomerID: "cus_ada", PlanID: "later", State: api.PurchaseActive})
	is.NoErr(err)
	require.Contains(t, host.visit("GET", "", nil).Body.String(), "We have your purchase", "<title>Your licenses</title>") // both are shown
	host.license("cus_bo", "Second")
	host.user = "cus_bo"
	require.Contains(t, host.visit("GET", "", nil).Body.String(), "<title>Your licenses</title>", "Other", "Second")
	host.user = "cus_eve"
	require.Contains(t, host.visit("GET", "", nil).Body.String(), "You have no licenses yet.")
}

// TestPortalRenew: the page of a license that has an end links the shop of the host, and
// that of a license that is full, too.
func TestPortalRenew(t *testing.T) {
	is := is.New(t)
	var asked []string
	host := newPortalHost(t, licensing.Options{}, licensing.Portal{Renew: func(l api.License) string {
		asked = append(asked, l.ID)
		if l.ProductID == "compass" {
			return ""
		}
		return "https://shop.example/renew?license=" + l.ID + "&a=b"
	}})
	links := func(id string) (list []string) {
		for _, m := range regexp.MustCompile(`<a class="go" href="([^"]*)">([^<]*)<`).FindAllStringSubmatch(host.visit("GET", id, nil).Body.String(), -1) {
			is.True(strings.HasPrefix(m[1], "https://shop.example/renew?license=lic_"))
			list = append(list, m[2])
		}
		return list
	}
	l, _ := host.license("cus_ada", "Workshop")
	is.Equal(links(l.ID), nil) // it has no end, and a free seat
	_, err := host.Handler.Service().Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "second"})
	is.NoErr(err)
	is.Equal(links(l.ID), []string{"More devices"})
	end := host.Clock.Now().Add(time.Hour)
	_, err = host.Handler.Service().Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, ExpiresAt: api.To(end)})
	is.NoErr(err)
	is.Equal(links(l.ID), []string{"Renew", "More devices"})
	require.Contains(t, host.visit("GET", l.ID, nil).Body.String(), "<dt>Valid until</dt>")
	host.Clock.Advance(2 * time.Hour)
	is.Equal(links(l.ID), []string{"Renew", "More devices"})
	page := host.visit("GET", l.ID, nil).Body.String()
	require.Contains(t, page, "<dt>Ended on</dt>")
	require.NotContains(t, page, "<dt>Valid until</dt>")
	other, err := host.Handler.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Other", ProductID: "compass", CustomerID: "cus_ada", ExpiresAt: &end})
	is.NoErr(err)
	is.Equal(links(other.ID), nil)
	is.Equal(asked[len(asked)-1], other.ID)
	asked = nil
	_, err = host.Handler.Service().Revoke(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	is.Equal(links(l.ID), nil)
	is.Equal(asked, nil)
}

// TestPortalHistory: the page of a license shows its five latest events in words, without
// who caused them and why, and none of a former customer.
func TestPortalHistory(t *testing.T) {
	is := is.New(t)
	host := newPortalHost(t, licensing.Options{}, licensing.Portal{})
	l, _ := host.license("cus_ada", "Workshop")
	history := func() []string {
		page := host.visit("GET", l.ID, nil).Body.String()
		require.NotContains(t, page, "a secret reason", "License updated")
		var list []string
		page = strings.NewReplacer("<bdi>", "", "</bdi>", "").Replace(page)
		for _, m := range regexp.MustCompile(`</time> <span dir="auto">([^<]*)<`).FindAllStringSubmatch(page, -1) {
			list = append(list, m[1])
		}
		return list
	}
	is.Equal(history(), []string{"desk of cus_ada added", "License created"})
	s, ctx := host.Handler.Service(), t.Context()
	_, err := s.Update(ctx, api.UpdateLicenseParams{ID: l.ID, Metadata: api.To(map[string]*string{"a": new("b")})})
	is.NoErr(err)
	_, err = s.Suspend(ctx, api.ChangeStateParams{ID: l.ID, Reason: "a secret reason"})
	is.NoErr(err)
	_, err = s.Reinstate(ctx, api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	_, err = s.Rekey(ctx, api.RekeyLicenseParams{ID: l.ID})
	is.NoErr(err)
	is.Equal(history(), []string{"New license key", "Active again", "Paused", "desk of cus_ada added", "License created"})
	_, err = s.Transfer(ctx, api.TransferLicenseParams{ID: l.ID, CustomerID: "cus_bo"})
	is.NoErr(err)
	host.user = "cus_bo"
	is.Equal(history(), []string{"License received"})
}
