package dashboard_test

import (
	"net/http"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// TestFormsNoticeOtherChanges submits forms of records that someone else has
// changed since they were opened. Nothing is overwritten until the form, with its
// values kept, is submitted again.
func TestFormsNoticeOtherChanges(t *testing.T) {
	s := newSite(t)
	v := s.admin()
	l := s.license(license.CreateParams{Name: "Atlas"})
	c, _, err := s.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "Shop"})
	is.New(t).NoErr(err)
	w := s.webhook("https://shop.example/hooks")
	op := s.operator("sue@example.com", operator.RoleViewer)
	for _, tt := range []struct {
		page         string
		mine, theirs []string
		stored       func() string
		want         [2]string // after the conflict, and after the form is submitted again
	}{
		{
			"licenses/" + l.ID + "/edit", []string{"name", "Mine", "product_id", "atlas", "customer_id", "harbour-pilots"},
			[]string{"name", "Theirs", "product_id", "atlas", "customer_id", "harbour-pilots"},
			func() string { l, _ := s.Service().Get(t.Context(), l.ID); return l.Name }, [2]string{"Theirs", "Mine"},
		},
		{
			"settings/credentials/" + c.ID + "/edit", []string{"name", "Mine", "scopes", auth.ScopeLicenseRead}, []string{"name", "Theirs", "scopes", auth.ScopeLicenseRead},
			func() string { c, _ := s.Auth().GetClient(t.Context(), c.ID); return c.Name }, [2]string{"Theirs", "Mine"},
		},
		{
			"settings/webhooks/" + w.ID + "/edit", []string{"url", "https://mine.example/", "types", "all"}, []string{"url", "https://theirs.example/", "types", "all"},
			func() string { w, _ := s.Webhooks().Get(t.Context(), w.ID); return w.URL }, [2]string{"https://theirs.example/", "https://mine.example/"},
		},
		{
			"settings/operators/" + op.ID, []string{"change", "role", "role", "admin"}, []string{"change", "role", "role", "support"},
			func() string { op, _ := s.Operators().Get(t.Context(), op.ID); return string(op.Role) }, [2]string{"support", "admin"},
		},
	} {
		t.Run(tt.page, func(t *testing.T) {
			is := is.New(t)
			version := v.get(tt.page).hidden("version")
			is.Equal(v.change(tt.page, tt.theirs...).StatusCode, http.StatusSeeOther)
			a := v.post(tt.page, append(tt.mine, "version", version)...)
			is.Equal(a.StatusCode, http.StatusConflict)
			require.Contains(t, a.body, "was changed while the form was open")
			is.Equal(tt.stored(), tt.want[0])
			a = v.post(tt.page, append(tt.mine, "version", a.hidden("version"))...)
			is.Equal(a.StatusCode, http.StatusSeeOther)
			is.Equal(tt.stored(), tt.want[1])
		})
	}
}
