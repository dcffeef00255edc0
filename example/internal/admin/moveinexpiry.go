package admin

import (
	"cmp"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// Keygen's strategies for licenses that have expired. With the others, RESTRICT_ACCESS
// and REVOKE_ACCESS, an expired license is not valid, as here.
const (
	keygenMaintain = "MAINTAIN_ACCESS" // valid for the releases before its expiry
	keygenAllow    = "ALLOW_ACCESS"    // valid for every release: the expiry ends nothing
)

// keygenFromActivation is the basis of licenses that begin to expire with their first
// activation, as those of plans that start so.
const keygenFromActivation = "FROM_FIRST_ACTIVATION"

// keygenBasis returns when licenses of a policy begin to expire.
func keygenBasis(policy keygenResource) string {
	return cmp.Or(policy.text("expirationBasis"), "FROM_CREATION")
}

// expirationOfPolicy sets what ends with the duration of a plan.
func (m *move) expirationOfPolicy(policy keygenResource, plan *api.PutPlanParams) {
	switch strategy := policy.text("expirationStrategy"); strategy {
	case "", "RESTRICT_ACCESS", "REVOKE_ACCESS":
	case keygenMaintain:
		plan.UntilEnds = api.UntilEndsUpdates
	case keygenAllow:
		plan.Duration = api.Duration{}
		m.leave("policies with expirationStrategy " + strategy + ", whose plans have no duration")
	default:
		m.leave("policies with expirationStrategy " + strategy + ", whose licenses expire")
	}
	switch basis := keygenBasis(policy); {
	case basis == "FROM_CREATION" || policy.number("duration") == nil:
	case basis == keygenFromActivation && !plan.Duration.IsZero():
		plan.Starts = api.StartsActivation
	default:
		m.leave("policies with expirationBasis " + basis + ": the duration of their plans begins with the purchase")
	}
}

// expirationOfLicense sets when a license or its updates end.
func (m *move) expirationOfLicense(l, policy keygenResource, row *api.LicenseRow) {
	expiry := l.time("expiry")
	if policy.ID == "" && expiry != nil {
		m.leave("licenses whose policy is not in the export, which expire at their expiry")
	}
	switch policy.text("expirationStrategy") {
	case keygenMaintain:
		row.UpdatesUntil = expiry
	case keygenAllow:
		if expiry != nil {
			row.Metadata["keygen_expiry"] = expiry.Format(time.RFC3339)
			m.leave("licenses with an expiry that ends nothing (" + keygenAllow + "), which is metadata now")
		}
	default:
		row.ExpiresAt = expiry
	}
	basis := keygenBasis(policy)
	if row.PlanID != "" && expiry == nil && basis == keygenFromActivation && policy.text("expirationStrategy") != keygenAllow && policy.number("duration") != nil {
		row.Starts = api.StartsActivation
		return
	}
	if expiry == nil && basis != "FROM_CREATION" && policy.number("duration") != nil {
		row.Metadata["keygen_expiration_basis"] = basis
		m.leave("licenses whose time has not begun (" + basis + "), which never end here until you set expires_at")
	}
}
