package dashboard_test

import (
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestReadableChanges checks how the audit log and the activity of a license
// describe changed fields.
func TestReadableChanges(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	end := s.now.AddDate(0, 11, 0)
	l := s.license(api.CreateLicenseParams{
		Name: "Atlas", ExpiresAt: &end,
		Terms: api.Terms{Entitlements: map[string]any{"seats": 5, "export": true, "tier": "gold"}}, Metadata: map[string]string{"order": "A-1"},
	})
	ctx := t.Context()
	_, err := s.Service().Renew(ctx, api.RenewLicenseParams{ID: l.ID, Duration: api.Duration{Years: 1}})
	is.NoErr(err)
	grace, most, product := int64(3*86400), int64(12000), "compass"
	later := end.AddDate(1, 0, 1).Add(90_000 * time.Second)
	_, err = s.Service().Update(ctx, api.UpdateLicenseParams{
		ID: l.ID, ProductID: &product, ExpiresAt: api.To(later), GraceSeconds: &grace, MaxActivations: api.To(most), LeaseSeconds: api.To(int64(900)),
		Entitlements: api.To(map[string]any{"seats": 10, "tier": nil, "sso": true}),
		Metadata:     api.To(map[string]*string{"order": new("B-2"), "note": new("paid")}),
	})
	is.NoErr(err)
	_, err = s.Service().Update(ctx, api.UpdateLicenseParams{ID: l.ID, ExpiresAt: api.ToNull[time.Time](), MaxActivations: api.ToNull[int64]()})
	is.NoErr(err)
	c, _, err := s.Auth().CreateClient(ctx, auth.CreateClientParams{Name: "Shop"})
	is.NoErr(err)
	_, err = s.Auth().UpdateClient(ctx, auth.UpdateClientParams{ID: c.ID, Products: &[]string{"atlas", "compass"}, Disabled: new(true)})
	is.NoErr(err)
	_, _, err = s.Auth().RotateSecret(ctx, auth.RotateSecretParams{ClientID: c.ID})
	is.NoErr(err)

	s.plan(api.PutPlanParams{ID: "extra"})
	s.plan(api.PutPlanParams{ID: "extra", Kind: api.PlanAddOn})
	_, err = s.Service().VoidFiles(ctx, api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)

	for page, lines := range map[string][]string{
		"audit": {
			"A purchase makes: a license → an extra for a license", "Generation of license files: 1 → 2",
			"Expires: 1 Feb 2027 → 1 Feb 2028", "Expires: 1 Feb 2028, 12:00:00 UTC → 3 Feb 2028, 13:00:00 UTC", "Expires: 3 Feb 2028, 13:00:00 UTC → no expiry",
			"Grace period: none → 3 days", "Maximum activations: unlimited → 12,000", "Maximum activations: 12,000 → unlimited", "Free the seat after … without contact: none → 15 minutes",
			"Entitlement seats: 5 → 10", "Entitlement tier: gold → removed", "Entitlement sso added", "Metadata order: A-1 → B-2", "Metadata note: none → paid",
			"Product: atlas → compass", "Products: all products → atlas, compass", "Disabled: no → yes", "Secrets changed",
		},
		"audit?subject=" + l.ID: {"Expires: 1 Feb 2027 → 1 Feb 2028", "Entitlement seats: 5 → 10"},
	} {
		a := v.get(page)
		for _, line := range lines {
			if !a.says(">" + line + "<") {
				t.Errorf("%s does not contain %q", page, line)
			}
		}
		require.NotContains(t, a.body, "Entitlement export") // unchanged
	}
}
