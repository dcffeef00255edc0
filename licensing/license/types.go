package license

import "github.com/seed-d8a106b4/licensekit/licensing/api"

// The types that Go and the API share. Package api documents their fields.
type (
	License          = api.License
	Status           = api.LicenseStatus
	Version          = api.Version
	Activation       = api.Activation
	ActivationStatus = api.ActivationStatus
	Verdict          = api.Verdict
	VerdictCode      = api.VerdictCode
	Reason           = api.Reason
	Refusal          = api.Refusal
	RefusalDay       = api.RefusalDay
	RefusedCall      = api.RefusedCall
	Event            = api.Event
	EventData        = api.EventData
	EventFile        = api.EventFile
	FieldChange      = api.FieldChange
	Duration         = api.Duration
	RenewFrom        = api.RenewFrom
	RenewExtend      = api.RenewExtend
	Change[T any]    = api.Change[T]
	Plan             = api.Plan
	Fulfillment      = api.Fulfillment
	FulfilledField   = api.FulfilledField
	FulfillResult    = api.FulfillResult
	Waiting          = api.Waiting
	PurchaseState    = api.PurchaseState
	UntilEnds        = api.UntilEnds
	Trial            = api.Trial

	CreateParams          = api.CreateLicenseParams
	UpdateParams          = api.UpdateLicenseParams
	Match                 = api.Match
	DeleteParams          = api.DeleteLicenseParams
	MoveParams            = api.MoveLicenseParams
	RenewParams           = api.RenewLicenseParams
	RekeyParams           = api.RekeyLicenseParams
	TransferParams        = api.TransferLicenseParams
	ListParams            = api.ListLicensesParams
	ImportRow             = api.LicenseRow
	ValidateParams        = api.ValidateKeyParams
	ExplainParams         = api.ExplainLicenseParams
	ActivateParams        = api.ActivateKeyParams
	DeactivateParams      = api.DeactivateKeyParams
	ListActivationsParams = api.ListActivationsParams
	ReleaseParams         = api.ReleaseActivationParams
	RefusalsParams        = api.ListRefusalsParams
	IssueFileParams       = api.IssueFileParams
	EventsParams          = api.ListEventsParams
	PutPlanParams         = api.PutPlanParams
	ListPlansParams       = api.ListPlansParams
	DeletePlanParams      = api.DeletePlanParams
	ApplyPlanParams       = api.ApplyPlanParams
	FulfillParams         = api.FulfillParams
	StartTrialParams      = api.StartTrialParams
)

// To returns a Change that sets a field to v.
func To[T any](v T) Change[T] { return api.To(v) }

// ToOptional returns a Change that sets a field to *v, or that leaves it unchanged if
// v is nil.
func ToOptional[T any](v *T) Change[T] { return api.ToOptional(v) }

// ToNull returns a Change that sets a field to null.
func ToNull[T any]() Change[T] { return api.ToNull[T]() }

// ParseVersion parses the form of Version.String; see [api.ParseVersion].
func ParseVersion(s string) (Version, bool) { return api.ParseVersion(s) }

// ParseDuration is [api.ParseDuration] with an [*InvalidError] for the field
// "duration".
func ParseDuration(s string) (Duration, error) {
	d, err := api.ParseDuration(s)
	if err != nil {
		return Duration{}, Invalid("duration", CodeInvalidFormat, err.Error())
	}
	return d, nil
}

// The statuses of a license, in order of precedence.
const (
	StatusRevoked   = api.LicenseRevoked
	StatusSuspended = api.LicenseSuspended
	StatusExpired   = api.LicenseExpired
	StatusScheduled = api.LicenseScheduled
	StatusActive    = api.LicenseActive
)

// The values of RenewFrom.
const (
	FromLater     = api.FromLater
	FromExpiry    = api.FromExpiry
	ExtendLicense = api.ExtendLicense
	ExtendUpdates = api.ExtendUpdates
	FromNow       = api.FromNow
)

// TakeOverOldest evicts the oldest active activation.
const TakeOverOldest = api.TakeOverOldest

// The statuses of an activation. Only a live activation uses a seat.
const (
	ActivationLive       = api.ActivationLive
	ActivationLeaseEnded = api.ActivationLeaseEnded
	ActivationReleased   = api.ActivationReleased
	ActivationEvicted    = api.ActivationEvicted
)

// The codes of a verdict, in the order of the reasons.
const (
	VerdictValid              = api.VerdictValid
	VerdictInGrace            = api.VerdictInGrace
	VerdictNotFound           = api.VerdictNotFound
	VerdictRevoked            = api.VerdictRevoked
	VerdictSuspended          = api.VerdictSuspended
	VerdictExpired            = api.VerdictExpired
	VerdictScheduled          = api.VerdictScheduled
	VerdictProductMismatch    = api.VerdictProductMismatch
	VerdictCustomerMismatch   = api.VerdictCustomerMismatch
	VerdictNotActivated       = api.VerdictNotActivated
	VerdictLeaseEnded         = api.VerdictLeaseEnded
	VerdictEvicted            = api.VerdictEvicted
	VerdictUpdatesEnded       = api.VerdictUpdatesEnded
	VerdictActivationLimit    = api.VerdictActivationLimit
	VerdictEntitlementMissing = api.VerdictEntitlementMissing

	FileTooLarge = api.FileTooLarge
)

// What the end of a purchase ends.
const (
	UntilEndsLicense = api.UntilEndsLicense
	UntilEndsUpdates = api.UntilEndsUpdates
)

// The states of a purchase.
const (
	PurchaseActive = api.PurchaseActive
	PurchasePaused = api.PurchasePaused
	PurchaseEnded  = api.PurchaseEnded
)

// What a request did to the license of a purchase.
const (
	FulfillCreated     = api.FulfillCreated
	FulfillChanged     = api.FulfillChanged
	FulfillUnchanged   = api.FulfillUnchanged
	FulfillWaiting     = api.FulfillWaiting
	FulfillRevoked     = api.FulfillRevoked
	FulfillDeleted     = api.FulfillDeleted
	FulfillTransferred = api.FulfillTransferred
)

// What a purchase waits for.
const (
	WaitingCustomer     = api.WaitingCustomer
	WaitingPlan         = api.WaitingPlan
	WaitingActive       = api.WaitingActive
	WaitingUnknownPlan  = api.WaitingUnknownPlan
	WaitingOtherProduct = api.WaitingOtherProduct
)

// The codes of a [FieldError]. The list may grow.
const (
	CodeRequired          = api.FieldRequired
	CodeTooLong           = api.FieldTooLong
	CodeTooMany           = api.FieldTooMany
	CodeInvalidCharacters = api.FieldInvalidCharacters
	CodeInvalidFormat     = api.FieldInvalidFormat
	CodeOutOfRange        = api.FieldOutOfRange
	CodeUnknown           = api.FieldUnknown
	CodeImmutable         = api.FieldImmutable
	CodeTaken             = api.FieldTaken
	CodeInvalidJSON       = api.FieldInvalidJSON
)
