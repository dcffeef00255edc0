package api

// The event types of licenses, activations, plans, customers and webhooks. The list may
// grow.
const (
	EventLicenseCreated     = "license.created"
	EventLicenseUpdated     = "license.updated"
	EventLicenseSuspended   = "license.suspended"
	EventLicenseReinstated  = "license.reinstated"
	EventLicenseRevoked     = "license.revoked"
	EventLicenseRenewed     = "license.renewed"
	EventLicenseRekeyed     = "license.rekeyed"
	EventLicenseTransferred = "license.transferred"
	EventLicenseDeleted     = "license.deleted"
	EventLicenseExpiring    = "license.expiring" // see Options.Events.ExpiryNotices
	EventLicenseExpired     = "license.expired"
	EventLicenseLapsed      = "license.lapsed" // the grace period has ended

	EventActivationCreated  = "activation.created"
	EventActivationReleased = "activation.released"
	EventActivationEvicted  = "activation.evicted"

	EventFileIssued  = "license_file.issued" // the first file of an activation, or one with other terms than the last
	EventFilesVoided = "license_file.voided" // see Service.VoidFiles of package license

	EventPlanCreated = "plan.created"
	EventPlanUpdated = "plan.updated"
	EventPlanDeleted = "plan.deleted"

	EventTrialAllowed = "trial.allowed" // see Service.AllowTrial of package selling

	EventUsageCounted   = "usage.counted"           // what was used since the last such event, at most once an hour
	EventUsageThreshold = "usage.threshold_reached" // 80 or 100 % of a limit

	EventCustomerSuspended  = "customer.suspended"
	EventCustomerReinstated = "customer.reinstated"
	EventCustomerErased     = "customer.erased"

	EventLicensesExported = "license_export.created" // an export that contains license keys

	EventWebhookCreated  = "webhook.created"
	EventWebhookUpdated  = "webhook.updated"
	EventWebhookDisabled = "webhook.disabled"
	EventWebhookDeleted  = "webhook.deleted"
	EventWebhookTest     = "webhook.test" // sent only to its own webhook
)

// EventTypes returns every event type, including those of webhooks, clients
// and operators.
func EventTypes() []string {
	return []string{
		EventLicenseCreated, EventLicenseUpdated, EventLicenseSuspended, EventLicenseReinstated, EventLicenseRevoked,
		EventLicenseRenewed, EventLicenseRekeyed, EventLicenseTransferred, EventLicenseDeleted, EventLicenseExpiring, EventLicenseExpired, EventLicenseLapsed,
		EventActivationCreated, EventActivationReleased, EventActivationEvicted,
		EventFileIssued, EventFilesVoided,
		EventPlanCreated, EventPlanUpdated, EventPlanDeleted, EventTrialAllowed,
		EventUsageCounted, EventUsageThreshold, EventCustomerSuspended, EventCustomerReinstated, EventCustomerErased, EventLicensesExported,
		EventWebhookCreated, EventWebhookUpdated, EventWebhookDisabled, EventWebhookDeleted, EventWebhookTest,
		"signing_key.created", "signing_key.rotated", "signing_key.retired", "signing_key.compromised",
		"client.created", "client.updated", "client.rotated", "client.disabled", "client.deleted",
		"operator.created", "operator.updated", "operator.signed_in", "operator.signed_out", "operator.sign_in_failed",
	}
}
