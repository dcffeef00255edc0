package api

import "time"

// DeleteLicenseParams select a license.
type DeleteLicenseParams struct {
	ID      string    `json:"-" path:"licenseID"`
	IfMatch []Version `json:"-" header:"If-Match"` // as in [UpdateLicenseParams]
}

// ChangeStateParams are the parameters of a suspension, a reinstatement and a
// revocation.
type ChangeStateParams struct {
	ID string `json:"-" path:"licenseID"`
	// Reason becomes the license's StatusReason, which license key holders
	// can read in verdicts, and is recorded in the event. At most 255
	// characters.
	Reason  string    `json:"reason" validate:"omitempty,text"`
	IfMatch []Version `json:"-" header:"If-Match"` // as in [UpdateLicenseParams]
}

// ChangeCustomerStateParams are the parameters of a suspension and a reinstatement of a customer.
type ChangeCustomerStateParams struct {
	CustomerID string `json:"-" path:"customerID"`
	// Reason becomes the StatusReason of the customer's licenses, as in
	// [ChangeStateParams].
	Reason string `json:"reason" validate:"omitempty,text"`
}

// A CustomerSuspension is the result of a suspension or a reinstatement of a customer.
type CustomerSuspension struct {
	Object     string `json:"object"` // always "customer_suspension"
	CustomerID string `json:"customer_id"`
	Suspended  bool   `json:"suspended"`
	Licenses   int    `json:"licenses"` // that the call has changed
}

// RenewLicenseParams are the parameters of a renewal.
type RenewLicenseParams struct {
	ID string `json:"-" path:"licenseID"`
	// Exactly one of ExpiresAt, UpdatesUntil and Duration must be set.
	ExpiresAt    *time.Time `json:"expires_at" validate:"omitempty,instant" wire:"nullable"`
	UpdatesUntil *time.Time `json:"updates_until" validate:"omitempty,instant" wire:"nullable"`
	Duration     Duration   `json:"duration"`
	// Extend is what Duration moves. Default: [RenewExtendLicense].
	Extend RenewExtend `json:"extend" validate:"omitempty,oneof=license updates" wire:"filled"`
	// From is the start of Duration. Default: [RenewFromLater].
	From    RenewFrom `json:"from" validate:"omitempty,oneof=later expiry now" wire:"filled"`
	Reason  string    `json:"reason" validate:"omitempty,text"` // recorded in the event
	IfMatch []Version `json:"-" header:"If-Match"`              // as in [UpdateLicenseParams]
}

// A RenewFrom is the start of a renewal's duration.
type RenewFrom string

// The values of RenewFrom.
const (
	RenewFromLater  RenewFrom = "later"  // the later of the present end and now: no paid time is lost
	RenewFromExpiry RenewFrom = "expiry" // the present end
	RenewFromNow    RenewFrom = "now"
)

// A RenewExtend is the end that a renewal's duration moves.
type RenewExtend string

// The values of RenewExtend.
const (
	RenewExtendLicense RenewExtend = "license" // ExpiresAt
	RenewExtendUpdates RenewExtend = "updates" // UpdatesUntil
)

// RekeyLicenseParams are the parameters of a new license key.
type RekeyLicenseParams struct {
	ID      string    `json:"-" path:"licenseID"`
	Key     string    `json:"key" validate:"omitempty,key" wire:"filled"` // as in [CreateLicenseParams]; empty: generate one
	Reason  string    `json:"reason" validate:"omitempty,text"`           // recorded in the event
	IfMatch []Version `json:"-" header:"If-Match"`                        // as in [UpdateLicenseParams]
}

// TransferLicenseParams are the parameters of a transfer to another customer.
type TransferLicenseParams struct {
	ID         string `json:"-" path:"licenseID"`
	CustomerID string `json:"customer_id" validate:"text,customer"`
	// Name and Metadata replace those of the license, which may say something about
	// the former customer. Default: CustomerID, and none.
	Name     string            `json:"name" validate:"omitempty,text" wire:"filled"`
	Metadata map[string]string `json:"metadata" wire:"nullable,max=50,each=500"`
	KeepKey  bool              `json:"keep_key"`                         // false: the license gets a new key
	Reason   string            `json:"reason" validate:"omitempty,text"` // recorded in the event
	IfMatch  []Version         `json:"-" header:"If-Match"`              // as in [UpdateLicenseParams]
}

// ClaimLicenseParams are the parameters of a claim.
type ClaimLicenseParams struct {
	Key        string `json:"key" validate:"required" wire:"credential"`    // as the customer typed it
	CustomerID string `json:"customer_id" validate:"text,customer"`         // of the customer who claims the license
	Name       string `json:"name" validate:"omitempty,text" wire:"filled"` // of the license; empty: it stays
	// Email is the address of the customer; empty: the license has none afterwards.
	Email string `json:"email" validate:"omitempty,address" wire:"filled"`
}

// MaxBatch is how many licenses one call of CreateBatch creates at most.
const MaxBatch = 100

// CreateBatchParams are the parameters of a batch of licenses that are alike. Key must be
// empty: each license gets a key of its own.
type CreateBatchParams struct {
	Count int `json:"count" validate:"min=1,max=100" wire:"required"` // at most [MaxBatch]
	CreateLicenseParams
}

// A Batch is the result of CreateBatch.
type Batch struct {
	Object string    `json:"object"` // always "license_batch"
	Data   []License `json:"data"`   // in the order of their IDs
}

// ChangeCustomerIDParams are the parameters of a change of a customer's ID.
type ChangeCustomerIDParams struct {
	CustomerID string `json:"-" path:"customerID" validate:"text"` // the old ID
	To         string `json:"to" validate:"text,customer"`
	Reason     string `json:"reason" validate:"omitempty,text"` // recorded in the events
}

// ExplainLicenseParams ask for the verdict on a license. Fields that are not set
// are not checked.
type ExplainLicenseParams struct {
	ID           string    `json:"-" path:"licenseID"`
	At           time.Time `query:"at" validate:"omitempty,instant"` // zero: now
	ProductID    string    `query:"product_id" validate:"omitempty,text"`
	CustomerID   string    `query:"customer_id" validate:"omitempty,text"`
	Fingerprint  string    `query:"fingerprint" validate:"omitempty,text"`
	BuiltAt      time.Time `query:"built_at" validate:"omitempty,instant"` // as in [ValidateKeyParams]
	Entitlements []string  `query:"entitlements" validate:"max=100,texts"`
}

// ListRefusalsParams select the refusals of a license.
type ListRefusalsParams struct {
	ID string `json:"-" path:"licenseID"`
}
