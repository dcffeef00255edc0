package servicetest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestOfficeChecks: a check of a program is one request at an office, whose store has other
// terms than the file of the vendor, and the first check after a renewal gets what the new
// file says.
func TestOfficeChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := time.Now().AddDate(1, 0, 0).Add(time.Millisecond)
		n := newClosedNetwork(t, api.Terms{
			MaxActivations: new(int64(2)), Entitlements: map[string]any{"users": 25, "edition": "pro"},
			GraceSeconds: 60,
		})
		_, err := n.vendor.Service().Update(t.Context(), api.UpdateLicenseParams{ID: n.license.ID, ExpiresAt: api.To(end), UpdatesUntil: api.To(end)})
		n.NoErr(err)
		n.run(n.answer(2, 90*24), 2)
		_, err = n.office.Load().Service().Update(t.Context(), api.UpdateLicenseParams{
			ID: n.license.ID, Name: new("Somebody"), Entitlements: api.To(map[string]any{"users": 999}), ExpiresAt: api.To(time.Now().Add(time.Hour)),
		})
		n.NoErr(err)
		_, err = n.office.Load().Service().VoidFiles(t.Context(), api.ChangeStateParams{ID: n.license.ID})
		n.NoErr(err)
		p := n.open("pc-1")
		p.cable.asked.Store(0)
		time.Sleep(10 * n.lease)
		if asked := p.cable.asked.Load(); asked < 20 || asked > 23 {
			t.Errorf("%d requests; want one for each half of a lease, of which a check may be a tenth early", asked)
		}
		v, err := n.office.Load().Service().Validate(t.Context(), api.ValidateKeyParams{Key: n.license.Key, Entitlements: []string{"edition"}})
		n.NoErr(err)
		n.Equal(v.Code, api.VerdictValid)
		n.Equal(v.License.Entitlements, map[string]any{"users": 25.0, "edition": "pro"})
		n.Equal(v.License.Name, "Acme Ltd")

		_, err = n.vendor.Service().Update(t.Context(), api.UpdateLicenseParams{ID: n.license.ID, Entitlements: api.To(map[string]any{"users": 30})})
		n.NoErr(err)
		n.run(n.answer(2, 90*24), 2)
		time.Sleep(n.lease / 2)
		n.Equal(p.Status().Entitlements, map[string]any{"users": 30.0, "edition": "pro"})
	})
}

// TestOfficeEndsWithLicense: after the end of the license, with its grace period, an office
// lends nothing, and says why.
func TestOfficeEndsWithLicense(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := time.Now().Add(24 * time.Hour)
		n := newClosedNetwork(t, api.Terms{MaxActivations: new(int64(2)), GraceSeconds: 12 * 60 * 60})
		_, err := n.vendor.Service().Update(t.Context(), api.UpdateLicenseParams{ID: n.license.ID, ExpiresAt: api.To(end)})
		n.NoErr(err)
		n.run(n.answer(2, 90*24), 2)
		p := n.open("pc-1")
		verdict := func() api.Code {
			v, err := n.office.Load().Service().Validate(t.Context(), api.ValidateKeyParams{Key: n.license.Key})
			n.NoErr(err)
			return v.Code
		}
		n.Equal(verdict(), api.VerdictValid)
		time.Sleep(25 * time.Hour)
		n.Equal(verdict(), api.VerdictInGrace)
		n.Equal(p.Status().Code, api.VerdictInGrace)
		time.Sleep(12 * time.Hour)
		n.Equal(verdict(), api.VerdictExpired)
		n.Equal(p.Status().Code, api.VerdictExpired)
		n.Equal(p.Status().ExpiresAt, end.UTC().Truncate(time.Second))
		n.Equal(n.open("pc-2").Status().Code, api.VerdictExpired)
	})
}
