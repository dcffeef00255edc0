package license

import (
	"slices"
	"strings"
)

// The event types of expiry notices and webhooks.
const (
	EventLicenseExpiring = "license.expiring" // see Options.Events.ExpiryNotices
	EventLicenseExpired  = "license.expired"

	EventWebhookCreated  = "webhook.created"
	EventWebhookUpdated  = "webhook.updated"
	EventWebhookDisabled = "webhook.disabled"
	EventWebhookDeleted  = "webhook.deleted"
	EventWebhookTest     = "webhook.test" // sent only to its own webhook
)

// EventTypes returns every event type, including those of clients and
// operators.
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

// matchType reports whether a pattern, an event type or a family such as
// "license.*", matches an event type.
func matchType(pattern, eventType string) bool {
	if family, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasSuffix(family, ".") && strings.HasPrefix(eventType, family)
	}
	return pattern == eventType
}

// MatchTypes reports whether any pattern matches an event type. No patterns
// match every type.
func MatchTypes(patterns []string, eventType string) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return matchType(p, eventType) })
}

// IsTypePattern reports whether a pattern matches any known event type.
func IsTypePattern(pattern string) bool {
	return slices.ContainsFunc(EventTypes(), func(t string) bool { return matchType(pattern, t) })
}
