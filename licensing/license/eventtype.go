package license

// The event types of expiry notices.
const (
	EventLicenseExpiring = "license.expiring" // see Options.Events.ExpiryNotices
	EventLicenseExpired  = "license.expired"
)

// EventTypes returns every event type, including those of webhooks, clients
// and operators.
func EventTypes() []string {
	return []string{
		EventLicenseCreated, EventLicenseUpdated, EventLicenseSuspended, EventLicenseReinstated, EventLicenseRevoked,
		EventLicenseRenewed, EventLicenseRekeyed, EventLicenseTransferred, EventLicenseDeleted, EventLicenseExpiring, EventLicenseExpired,
		EventActivationCreated, EventActivationReleased, EventActivationEvicted,
		EventFileIssued, EventFilesVoided,
		EventPlanCreated, EventPlanUpdated, EventPlanDeleted, EventTrialAllowed,
		EventCustomerErased, EventLicensesExported,
		"webhook.created", "webhook.updated", "webhook.disabled", "webhook.deleted", "webhook.test",
		"signing_key.created", "signing_key.rotated", "signing_key.retired", "signing_key.compromised",
		"client.created", "client.updated", "client.rotated", "client.disabled", "client.deleted",
		"operator.created", "operator.updated", "operator.signed_in", "operator.signed_out", "operator.sign_in_failed",
	}
}
