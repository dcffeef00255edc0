package license

import "github.com/seed-d8a106b4/licensekit/licensing/api"

const (
	EventLicenseCreated     = api.EventLicenseCreated
	EventLicenseUpdated     = api.EventLicenseUpdated
	EventLicenseSuspended   = api.EventLicenseSuspended
	EventLicenseReinstated  = api.EventLicenseReinstated
	EventLicenseRevoked     = api.EventLicenseRevoked
	EventLicenseRenewed     = api.EventLicenseRenewed
	EventLicenseRekeyed     = api.EventLicenseRekeyed
	EventLicenseTransferred = api.EventLicenseTransferred
	EventLicenseDeleted     = api.EventLicenseDeleted
	EventLicenseExpiring    = api.EventLicenseExpiring
	EventLicenseExpired     = api.EventLicenseExpired
	EventActivationCreated  = api.EventActivationCreated
	EventActivationReleased = api.EventActivationReleased
	EventActivationEvicted  = api.EventActivationEvicted
	EventFileIssued         = api.EventFileIssued
	EventFilesVoided        = api.EventFilesVoided
	EventPlanCreated        = api.EventPlanCreated
	EventPlanUpdated        = api.EventPlanUpdated
	EventPlanDeleted        = api.EventPlanDeleted
	EventTrialAllowed       = api.EventTrialAllowed
	EventCustomerErased     = api.EventCustomerErased
	EventLicensesExported   = api.EventLicensesExported
)

func EventTypes() []string { return api.EventTypes() }
