package license

import (
	"slices"
	"strings"
)

// The types of events that the clock and webhooks give rise to.
const (
	EventLicenseExpiring = "license.expiring" // see Options.Events.ExpiryNotices
	EventLicenseExpired  = "license.expired"

	EventWebhookCreated  = "webhook.created"
	EventWebhookUpdated  = "webhook.updated"
	EventWebhookDisabled = "webhook.disabled"
	EventWebhookDeleted  = "webhook.deleted"
	EventWebhookTest     = "webhook.test" // sent to the webhook that it is about, and to no other
)

// EventTypes returns every type of event that can stand in the feed, those
// about clients and operators included.
func EventTypes() []string {
	return []string{
		EventLicenseCreated, EventLicenseUpdated, EventLicenseSuspended, EventLicenseReinstated, EventLicenseRevoked,
		EventLicenseRenewed, EventLicenseRekeyed, EventLicenseDeleted, EventLicenseExpiring, EventLicenseExpired,
		EventActivationCreated, EventActivationReleased, EventActivationEvicted,
		EventCustomerErased,
		EventWebhookCreated, EventWebhookUpdated, EventWebhookDisabled, EventWebhookDeleted, EventWebhookTest,
		"client.created", "client.updated", "client.rotated", "client.disabled",
		"operator.created", "operator.updated", "operator.signed_in", "operator.signed_out", "operator.sign_in_failed",
	}
}

// MatchType reports whether a type of event is the one that the pattern names:
// a type, or a family such as "license.*".
func MatchType(pattern, eventType string) bool {
	if family, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasSuffix(family, ".") && strings.HasPrefix(eventType, family)
	}
	return pattern == eventType
}

// MatchTypes reports whether one of the patterns matches; none of them at all
// stands for every type.
func MatchTypes(patterns []string, eventType string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return MatchType(p, eventType) })
}

// IsTypePattern reports whether a pattern of [MatchType] matches any type that
// there is.
func IsTypePattern(pattern string) bool {
	return slices.ContainsFunc(EventTypes(), func(t string) bool { return MatchType(pattern, t) })
}
