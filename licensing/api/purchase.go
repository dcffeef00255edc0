package api

import "time"

// A Purchase is what a customer has bought, as it was last reported under its reference.
type Purchase struct {
	Object    string         `json:"object"` // always "purchase"
	Reference string         `json:"reference"`
	Result    PurchaseResult `json:"result"`
	// Waiting is what the purchase waits for; empty: nothing. With a license,
	// [WaitingUnknownPlan] is about a later plan: the purchase keeps the terms of the one
	// before. With any other, it does not count.
	Waiting Waiting `json:"waiting,omitempty"`
	// License is the license of the purchase; nil: it has none, or this is an element of a list,
	// which has only LicenseID.
	License *License `json:"license,omitempty"`
	// Governs reports that this purchase determines the plan, lease and offline time of its
	// license now. Of the bases that count, that is the one that was active first at the
	// latest instant.
	Governs bool `json:"governs"`
	// Counts reports that the purchase is now a part of what its license allows.
	Counts bool `json:"counts"`
	// StartsAt is when the purchase starts to count; nil: when it was active first, or
	// nothing is known of it.
	StartsAt *time.Time `json:"starts_at,omitempty"`
	// EndsAt is when the purchase ends, without its grace period; nil: never, or nothing is
	// known of it.
	EndsAt *time.Time `json:"ends_at,omitempty"`
	// Clamped reports that the quantity buys more than a license may have: 1,000,000
	// activations, or 1,000,000,000,000 units of a meter.
	Clamped bool `json:"clamped"`

	LicenseID  string `json:"license_id,omitempty"` // also of a license that was deleted
	CustomerID string `json:"customer_id,omitempty"`
	ProductID  string `json:"product_id,omitempty"`
	// Fields are the stored fields of events, by their JSON names, with the At
	// of the event that set each. Entries of metadata are "metadata/" and the name.
	Fields map[string]PurchaseField `json:"fields"`

	FirstActiveAt *time.Time `json:"first_active_at"`
	// ActivatedAt is when the license was first activated, if the plan starts with that;
	// nil: not yet.
	ActivatedAt *time.Time `json:"activated_at,omitempty"`
	RefundedAt  *time.Time `json:"refunded_at,omitempty"` // the first At that said refunded and counts
	EndedAt     *time.Time `json:"ended_at"`              // the first At that said ended and counts
	ReopenedAt  *time.Time `json:"reopened_at"`           // events up to then that said ended do not count
	CreatedAt   time.Time  `json:"created_at,omitzero"`   // zero: nothing was stored
	UpdatedAt   time.Time  `json:"updated_at,omitzero"`
}

// A PurchaseField is the value of a field of a purchase, and the At of the event
// that set it.
type PurchaseField struct {
	Value any       `json:"value"`
	At    time.Time `json:"at"`
}

// A PurchaseResult says what a request did to the license of a purchase.
type PurchaseResult string

// The values of Purchase.Result. A read has that of a call that says
// nothing new.
const (
	PurchaseResultCreated   PurchaseResult = "created"
	PurchaseResultChanged   PurchaseResult = "changed"
	PurchaseResultUnchanged PurchaseResult = "unchanged"
	PurchaseResultWaiting   PurchaseResult = "waiting" // there is no license yet; see Purchase.Waiting
	PurchaseResultRevoked   PurchaseResult = "revoked" // the license is; nothing was stored
	PurchaseResultDeleted   PurchaseResult = "deleted" // the license was, or the customer was erased; nothing was stored

	// PurchaseResultTransferred: the license has been transferred, and the event names the
	// former customer or none. What it says of a person was not stored. License is nil,
	// and Fields are empty.
	PurchaseResultTransferred PurchaseResult = "transferred"
)

// A Waiting is what a purchase waits for.
type Waiting string

// The values of Purchase.Waiting.
const (
	WaitingCustomer     Waiting = "customer_id"   // no event has named the customer
	WaitingPlan         Waiting = "plan_id"       // no event has named the plan
	WaitingActive       Waiting = "active"        // no event has said active
	WaitingUnknownPlan  Waiting = "unknown_plan"  // there is no plan with that ID
	WaitingOtherProduct Waiting = "other_product" // the plan is one of another product than the license
	WaitingLicenseID    Waiting = "license_id"    // it is of an add-on, and no event has named the license
	WaitingLicenseFull  Waiting = "license_full"  // the license has 100 purchases that are not over, or 500 in all
)

// A PurchaseState is the state of a purchase that an event reports.
type PurchaseState string

// The states of a purchase.
const (
	// PurchaseActive: it is paid for. A payment that is late is still active: the
	// grace period of the plan decides how long the license stays valid.
	PurchaseActive PurchaseState = "active"
	// PurchasePaused: the license is suspended.
	PurchasePaused PurchaseState = "paused"
	// PurchaseEnded is final: the purchase ends at the earlier of Until and the first At
	// that said so, without a grace period. With [UntilEndsUpdates], only its updates end
	// then.
	PurchaseEnded PurchaseState = "ended"
	// PurchaseRefunded is final, also after ended: the purchase of any plan ends at the
	// first At that said so, as after a refund or a lost dispute.
	PurchaseRefunded PurchaseState = "refunded"
)

// A Trial is the result of the start of a trial.
type Trial struct {
	Object  string  `json:"object"`  // always "trial"
	Started bool    `json:"started"` // false: the customer had this trial already
	License License `json:"license"`
}
