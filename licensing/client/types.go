package client

import "github.com/seed-d8a106b4/licensekit/licensing/api"

// The types of package api, which documents their fields.
type (
	Code              = api.Code
	License           = api.License
	LicenseStatus     = api.LicenseStatus
	Activation        = api.Activation
	ActivationStatus  = api.ActivationStatus
	Verdict           = api.Verdict
	Reason            = api.Reason
	LicenseFile       = api.LicenseFile
	Refusal           = api.Refusal
	RefusalDay        = api.RefusalDay
	RefusedCall       = api.RefusedCall
	Event             = api.Event
	EventData         = api.EventData
	EventFile         = api.EventFile
	FieldChange       = api.FieldChange
	FieldError        = api.FieldError
	Webhook           = api.Webhook
	WebhookSecret     = api.WebhookSecret
	WebhookStatus     = api.WebhookStatus
	WebhookWithSecret = api.WebhookWithSecret
	ResumeFrom        = api.ResumeFrom
	RenewFrom         = api.RenewFrom
	RenewExtend       = api.RenewExtend
	UntilEnds         = api.UntilEnds
	Delivery          = api.Delivery
	DeliveryStatus    = api.DeliveryStatus
	Attempt           = api.Attempt
	Change[T any]     = api.Change[T]
	Version           = api.Version
	Duration          = api.Duration
	Match             = api.Match
	LicenseRow        = api.LicenseRow
	Plan              = api.Plan
	Fulfillment       = api.Fulfillment
	FulfilledField    = api.FulfilledField
	FulfillResult     = api.FulfillResult
	Waiting           = api.Waiting
	PurchaseState     = api.PurchaseState
	Trial             = api.Trial

	CreateLicenseParams     = api.CreateLicenseParams
	UpdateLicenseParams     = api.UpdateLicenseParams
	DeleteLicenseParams     = api.DeleteLicenseParams
	ListLicensesParams      = api.ListLicensesParams
	ExportLicensesParams    = api.ExportLicensesParams
	MoveLicenseParams       = api.MoveLicenseParams
	RenewLicenseParams      = api.RenewLicenseParams
	RekeyLicenseParams      = api.RekeyLicenseParams
	TransferLicenseParams   = api.TransferLicenseParams
	ExplainLicenseParams    = api.ExplainLicenseParams
	ListRefusalsParams      = api.ListRefusalsParams
	ValidateKeyParams       = api.ValidateKeyParams
	ActivateKeyParams       = api.ActivateKeyParams
	DeactivateKeyParams     = api.DeactivateKeyParams
	ListActivationsParams   = api.ListActivationsParams
	ReleaseActivationParams = api.ReleaseActivationParams
	IssueFileParams         = api.IssueFileParams
	IssueFileByKeyParams    = api.IssueFileByKeyParams
	VoidFilesParams         = api.VoidFilesParams
	ListEventsParams        = api.ListEventsParams
	PutPlanParams           = api.PutPlanParams
	ListPlansParams         = api.ListPlansParams
	DeletePlanParams        = api.DeletePlanParams
	ApplyPlanParams         = api.ApplyPlanParams
	FulfillParams           = api.FulfillParams
	StartTrialParams        = api.StartTrialParams
	CreateWebhookParams     = api.CreateWebhookParams
	UpdateWebhookParams     = api.UpdateWebhookParams
	RotateWebhookParams     = api.RotateWebhookParams
	ListWebhooksParams      = api.ListWebhooksParams
	ListDeliveriesParams    = api.ListDeliveriesParams
	ResendDeliveryParams    = api.ResendDeliveryParams
)

// To returns a Change that sets a field to v.
func To[T any](v T) Change[T] { return api.To(v) }

// ToOptional returns a Change that sets a field to *v, or that leaves it unchanged if
// v is nil.
func ToOptional[T any](v *T) Change[T] { return api.ToOptional(v) }

// ToNull returns a Change that sets a field to null.
func ToNull[T any]() Change[T] { return api.ToNull[T]() }

// The statuses of a license, an activation, a webhook and a delivery, the events
// that a webhook may resume from, the start of a renewal, and the states of a
// purchase.
const (
	LicenseActive    = api.LicenseActive
	LicenseScheduled = api.LicenseScheduled
	LicenseExpired   = api.LicenseExpired
	LicenseSuspended = api.LicenseSuspended
	LicenseRevoked   = api.LicenseRevoked

	ActivationLive       = api.ActivationLive
	ActivationLeaseEnded = api.ActivationLeaseEnded
	ActivationReleased   = api.ActivationReleased
	ActivationEvicted    = api.ActivationEvicted

	WebhookActive   = api.WebhookActive
	WebhookPaused   = api.WebhookPaused
	WebhookDisabled = api.WebhookDisabled

	ResumeFromStop = api.ResumeFromStop
	ResumeFromNow  = api.ResumeFromNow

	FromLater     = api.FromLater
	FromExpiry    = api.FromExpiry
	ExtendLicense = api.ExtendLicense
	ExtendUpdates = api.ExtendUpdates
	FromNow       = api.FromNow

	UntilEndsLicense = api.UntilEndsLicense
	UntilEndsUpdates = api.UntilEndsUpdates

	PurchaseActive = api.PurchaseActive
	PurchasePaused = api.PurchasePaused
	PurchaseEnded  = api.PurchaseEnded

	DeliveryPending   = api.DeliveryPending
	DeliverySucceeded = api.DeliverySucceeded
	DeliveryFailed    = api.DeliveryFailed
)

// isComplete reports whether a decoded response has what every response of its
// type has, which tells a response of the service from another one.
func isComplete(response any) bool {
	switch r := response.(type) {
	case License:
		return r.ID != ""
	case Activation:
		return r.ID != ""
	case Verdict:
		return r.Code != "" && (r.Valid && r.License != nil || !r.Valid && len(r.Reasons) > 0)
	case LicenseFile:
		return r.ID != "" && r.File != ""
	case EventPage:
		return r.Data != nil && r.NextCursor != ""
	case Webhook:
		return r.ID != ""
	case WebhookWithSecret:
		return r.ID != ""
	case Delivery:
		return r.ID != ""
	case Plan:
		return r.ID != ""
	case Fulfillment:
		return r.Result != ""
	case Trial:
		return r.License.ID != ""
	case Token:
		return r.AccessToken != "" && r.ExpiresIn > 0
	case Metadata:
		return r.Issuer != ""
	case Health:
		return r.Status != ""
	case interface{ hasData() bool }:
		return r.hasData()
	}
	return true
}
