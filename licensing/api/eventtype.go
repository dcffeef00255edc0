package api

// The types of events. The list may grow. The comment of each says when the service
// appends the event; it is the text of docs/eventtypes.md and of openapi.json.
const (
	EventLicenseCreated     = "license.created"     // A license was created, imported or sold.
	EventLicenseUpdated     = "license.updated"     // Fields of a license changed, by hand, by a plan or by a purchase.
	EventLicenseSuspended   = "license.suspended"   // A license was suspended; its programs are refused until it is reinstated.
	EventLicenseReinstated  = "license.reinstated"  // A suspended license is in force again.
	EventLicenseRevoked     = "license.revoked"     // A license was revoked, for good.
	EventLicenseRenewed     = "license.renewed"     // The end of a license was moved to a later time.
	EventLicenseRekeyed     = "license.rekeyed"     // A license got a new key; the old key is refused.
	EventLicenseTransferred = "license.transferred" // A license was given to another customer.
	EventLicenseClaimed     = "license.claimed"     // A customer claimed a license with its key.
	EventLicenseDeleted     = "license.deleted"     // A license was deleted.
	EventLicenseExpiring    = "license.expiring"    // A license, or purchases of it, will end soon; Options.Events.ExpiryNotices says how soon.
	EventLicenseExpired     = "license.expired"     // A license has reached its end; a grace period may have begun.
	EventLicenseLapsed      = "license.lapsed"      // The grace period of a license has ended.

	EventActivationCreated  = "activation.created"  // A device took a seat.
	EventActivationReleased = "activation.released" // A seat was released by its program, its customer or an operator.
	EventActivationEvicted  = "activation.evicted"  // Another device took over the seat.

	EventActivationLimit = "activation.limit_reached" // An activation was refused because no seat is free; at most once in 24 hours for a license.

	EventFileIssued  = "license_file.issued" // An activation got its first license file, or one with other terms than the last.
	EventFilesVoided = "license_file.voided" // The license files of a license were declared void.

	EventPlanCreated = "plan.created" // A plan was created.
	EventPlanUpdated = "plan.updated" // The terms of a plan changed. Licenses keep theirs until the plan is rolled out.
	EventPlanDeleted = "plan.deleted" // A plan was deleted.

	EventTrialAllowed = "trial.allowed" // An operator allowed another trial.

	EventUsageCounted   = "usage.counted"           // What a meter has counted since the last such event; at most once an hour.
	EventUsageThreshold = "usage.threshold_reached" // The use of a meter has reached 80 or 100 % of its limit.

	EventCustomerSuspended  = "customer.suspended"   // All licenses of a customer were suspended.
	EventCustomerReinstated = "customer.reinstated"  // The suspension of a customer has ended.
	EventCustomerLinkMailed = "customer.link_mailed" // An operator mailed a customer a link to the customer pages. The event does not have the address.
	EventCustomerErased     = "customer.erased"      // A customer was erased. A receiver that has the customer recognizes it by salt and digest, and erases its copy.

	EventLicensesExported = "license_export.created" // An operator exported licenses with their keys.

	EventWebhookCreated  = "webhook.created"  // A webhook was created.
	EventWebhookUpdated  = "webhook.updated"  // A webhook changed.
	EventWebhookDisabled = "webhook.disabled" // The service disabled a webhook, because its deliveries failed for days.
	EventWebhookDeleted  = "webhook.deleted"  // A webhook was deleted.
	EventWebhookTest     = "webhook.test"     // A test, sent only to its own webhook.

	EventSigningKeyCreated     = "signing_key.created"     // A signing key of license files was created.
	EventSigningKeyRotated     = "signing_key.rotated"     // A signing key became the active one.
	EventSigningKeyRetired     = "signing_key.retired"     // A signing key was retired.
	EventSigningKeyCompromised = "signing_key.compromised" // A signing key was marked as compromised.

	EventClientCreated  = "client.created"  // An API client was created.
	EventClientUpdated  = "client.updated"  // An API client changed, or one of its secrets was revoked.
	EventClientRotated  = "client.rotated"  // An API client got a new secret.
	EventClientDisabled = "client.disabled" // An API client was disabled; its tokens are refused.
	EventClientDeleted  = "client.deleted"  // An API client was deleted.

	EventOperatorCreated      = "operator.created"        // An operator of the dashboard was added.
	EventOperatorUpdated      = "operator.updated"        // An operator changed.
	EventOperatorSignedIn     = "operator.signed_in"      // An operator signed in.
	EventOperatorSignedOut    = "operator.signed_out"     // An operator signed out, or was signed out.
	EventOperatorSignInFailed = "operator.sign_in_failed" // A sign-in to the dashboard failed.
)

// EventTypes returns every event type.
func EventTypes() []string {
	return []string{
		EventLicenseCreated, EventLicenseUpdated, EventLicenseSuspended, EventLicenseReinstated, EventLicenseRevoked,
		EventLicenseRenewed, EventLicenseRekeyed, EventLicenseTransferred, EventLicenseClaimed, EventLicenseDeleted, EventLicenseExpiring, EventLicenseExpired, EventLicenseLapsed,
		EventActivationCreated, EventActivationReleased, EventActivationEvicted, EventActivationLimit,
		EventFileIssued, EventFilesVoided,
		EventPlanCreated, EventPlanUpdated, EventPlanDeleted, EventTrialAllowed,
		EventUsageCounted, EventUsageThreshold, EventCustomerSuspended, EventCustomerReinstated, EventCustomerLinkMailed, EventCustomerErased, EventLicensesExported,
		EventWebhookCreated, EventWebhookUpdated, EventWebhookDisabled, EventWebhookDeleted, EventWebhookTest,
		EventSigningKeyCreated, EventSigningKeyRotated, EventSigningKeyRetired, EventSigningKeyCompromised,
		EventClientCreated, EventClientUpdated, EventClientRotated, EventClientDisabled, EventClientDeleted,
		EventOperatorCreated, EventOperatorUpdated, EventOperatorSignedIn, EventOperatorSignedOut, EventOperatorSignInFailed,
	}
}
