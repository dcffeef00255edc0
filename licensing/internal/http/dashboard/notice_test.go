package dashboard_test

import (
	"crypto/rand"
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

func TestNoticeIsShownOnce(t *testing.T) {
	hosted := operator.Operator{ID: "host-ada", Email: "ada@host.example", Role: operator.RoleAdmin}
	for name, opts := range map[string]licensing.Options{
		"built-in sign-in":           {},
		"Options.Dashboard.Operator": {Dashboard: licensing.DashboardOptions{Operator: func(http.ResponseWriter, *http.Request) (operator.Operator, bool) { return hosted, true }}},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			s := newSiteOn(t, memory.New(), opts)
			v := s.visitor()
			if opts.Dashboard.Operator == nil {
				v = s.admin()
			}
			l := s.license(api.CreateLicenseParams{Name: "Atlas"})
			a := v.post("licenses/" + l.ID + "/suspend")
			is.Equal(a.StatusCode, http.StatusSeeOther)
			is.Equal(v.follow(a).notice(), "The license has been suspended.")
			is.Equal(v.follow(a).notice(), "") // a reload or a bookmark
			_, err := s.Service().Reinstate(t.Context(), api.ChangeStateParams{ID: l.ID})
			is.NoErr(err)
			is.Equal(v.follow(a).notice(), "")
		})
	}
}

func TestNoticeCannotBeForged(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Atlas"})
	for _, token := range []string{"ended", "updated", rand.Text(), "%01"} {
		page := v.get("licenses/" + l.ID + "?done=" + token)
		is.Equal(page.StatusCode, http.StatusOK)
		is.Equal(page.notice(), "")
	}

	// The mark of a form has the ID of what the form created.
	once := v.get("licenses/new").hidden("once")
	v.post("licenses/new", "once", once, "name", "Atlas", "product_id", l.ProductID, "customer_id", l.CustomerID, "term", "never")
	is.Equal(v.get("licenses?done="+once).notice(), "")

	// Another operator does not see the notice and does not consume it.
	a := v.post("licenses/" + l.ID + "/suspend")
	s.operator("vic@example.com", operator.RoleViewer)
	vic := s.signedIn("vic@example.com")
	is.Equal(vic.follow(a).notice(), "")
	query := a.Header.Get("Location")[strings.Index(a.Header.Get("Location"), "?"):]
	is.Equal(vic.get("licenses/new"+query).StatusCode, http.StatusForbidden)
	is.Equal(v.follow(a).notice(), "The license has been suspended.")
}
