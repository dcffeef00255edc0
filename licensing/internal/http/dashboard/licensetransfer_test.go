package dashboard_test

import (
	"net/http"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A license goes to another customer, with a new key or the same one, and a form that
// another change has overtaken transfers nothing.
func TestTransferForm(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Ada of Former", CustomerID: "ada", Metadata: map[string]string{"email": "ada@example.com"}, Terms: api.Terms{MaxActivations: ptr[int64](1)}})
	_, err := s.Service().Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "former"})
	is.NoErr(err)
	page := "licenses/" + l.ID
	form := page + "/transfer"
	require.Contains(t, v.get(page).body, `data-dialog href="../`+form)
	s.operator("sue@example.com", operator.RoleSupport)
	require.NotContains(t, s.signedIn("sue@example.com").get(page).body, `data-dialog href="../`+form) // only to ask an admin

	seen := v.get(form)
	require.Contains(t, seen.body, "It is now ada.", "edit the license instead")
	require.Contains(t, v.change(form).body, `id="f-customer_id-error"`)
	require.Contains(t, v.change(form, "customer_id", "ada").body, `id="f-customer_id-error"`)
	is.Equal(v.follow(v.change(form, "customer_id", "grace", "name", "Grace Hopper", "reason", "Sold")).notice(), "The license has been transferred to the customer.")
	moved, err := s.Service().Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal([]any{moved.CustomerID, moved.Name, len(moved.Metadata), moved.Key != l.Key}, []any{"grace", "Grace Hopper", 0, true})
	seats, err := s.Service().ListActivations(t.Context(), api.ListActivationsParams{LicenseID: l.ID, Ended: true})
	is.NoErr(err)
	is.Equal(len(seats.Data), 0)
	require.Contains(t, v.get("audit?subject="+l.ID).body, "Sold")

	overtaken := v.post(form, "customer_id", "eve", "version", seen.hidden("version"))
	is.Equal(overtaken.StatusCode, http.StatusConflict)
	require.Contains(t, overtaken.body, "was changed while the form was open", "It is now grace.")
	is.Equal(v.change(form, "customer_id", "eve", "keep_key", "yes").StatusCode, http.StatusSeeOther)
	kept, err := s.Service().Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal([]string{kept.CustomerID, kept.Name, kept.Key}, []string{"eve", "eve", moved.Key})

	_, err = s.Service().Revoke(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	require.NotContains(t, v.get(page).body, form)
	is.Equal(v.get(form).StatusCode, http.StatusConflict)
}
