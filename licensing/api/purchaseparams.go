package api

import "time"

// RecordPurchaseParams are what an event says about a purchase. A field that is not set
// says nothing.
type RecordPurchaseParams struct {
	// Reference identifies the purchase forever: 1–255 letters, digits and
	// . _ : @ -, beginning with a letter or a digit, and not with "trial:" or "license:". A prefix
	// names its source, such as "stripe:si_1". A subscription with several items
	// has one reference for each.
	Reference string `json:"-" path:"reference"`
	// At is the instant at which what the event says was true: that before the
	// purchase was read from the payment provider, for instance. At most 24 hours
	// ahead. Zero: now.
	At time.Time `json:"at" validate:"omitempty,instant" wire:"required"`

	CustomerID string `json:"customer_id" validate:"omitempty,text,customer" wire:"filled"`
	Name       string `json:"name" validate:"omitempty,text" wire:"filled"` // of the license; default: CustomerID
	PlanID     string `json:"plan_id" validate:"omitempty,identifier" wire:"filled"`
	Quantity   *int64 `json:"quantity" validate:"omitempty,min=1,max=1000000000"` // units of the plan; default: 1
	// Until is when the purchase ends unless it is renewed; null: never. Without
	// it, that is the plan's Duration after the first At that said active, or after the
	// end of an earlier purchase of the same line. The plan's UntilEnds is what ends then.
	Until Change[time.Time] `json:"until"`
	// Renews says what happens at Until: true: the customer is charged again without doing
	// anything; false: the purchase ends there. It only informs; no term follows from it.
	Renews *bool         `json:"renews"`
	State  PurchaseState `json:"state" validate:"omitempty,oneof=active paused ended refunded" wire:"filled"`
	Reason string        `json:"reason" validate:"omitempty,text" wire:"filled"` // of a suspension; recorded in the event
	// Metadata sets entries of the license's metadata; nil removes one. A purchase
	// has at most 50 names, including removed names.
	Metadata map[string]*string `json:"metadata"`

	// LicenseID is an existing license of the customer that the purchase is for, such
	// as that of a trial or of an earlier subscription; an add-on must have one. Set it in
	// each call that says active, or in none.
	LicenseID string `json:"license_id" validate:"omitempty,license" wire:"filled"`
}

// StartTrialParams are the parameters of the start of a trial.
type StartTrialParams struct {
	PlanID     string `json:"plan_id" validate:"identifier"` // must have a Duration
	CustomerID string `json:"customer_id" validate:"text,customer"`
	Name       string `json:"name" validate:"omitempty,text" wire:"filled"` // default: CustomerID
	// Subjects are what may have one trial of the product, beside the customer:
	// "device:…", "mail:…". Pass only an address that the customer has confirmed. Compared
	// exactly; only digests of them are stored.
	Subjects []string `json:"subjects" validate:"max=20,texts"`
}

// ListPurchasesParams are the parameters of Service.ListPurchases of package selling.
type ListPurchasesParams struct {
	LicenseID string  `query:"license_id"`                                                                                                       // the purchases of this license; empty: waiting purchases
	Waiting   Waiting `query:"waiting" validate:"omitempty,oneof=customer_id plan_id active unknown_plan other_product license_id license_full"` // without LicenseID: only purchases that wait for this
	Limit     int     `query:"limit" validate:"min=0,max=200"`                                                                                   // 0: 50; without LicenseID
	Cursor    string  `query:"cursor"`                                                                                                           // NextCursor of the previous page
}

// ReopenPurchaseParams are the parameters of Service.ReopenPurchase of package selling.
type ReopenPurchaseParams struct {
	Reference string    `json:"-" path:"reference" validate:"identifier"`
	At        time.Time `json:"at" validate:"omitempty,instant"`  // zero: now
	Reason    string    `json:"reason" validate:"omitempty,text"` // recorded in the event
}

// AllowTrialParams are the parameters of Service.AllowTrial of package selling.
type AllowTrialParams struct {
	LicenseID string `json:"-" path:"licenseID"`               // of the trial; it may be deleted
	Reason    string `json:"reason" validate:"omitempty,text"` // recorded in the event
}
