package api

import "time"

// StartLinkParams describe an installation of a program that a customer is to activate
// in a browser.
type StartLinkParams struct {
	ProductID   string `json:"product_id" validate:"text"`
	Fingerprint string `json:"fingerprint" validate:"text,machine"`
	Name        string `json:"name" validate:"omitempty,text"` // describes the activation to the customer and to operators
	// AlsoProductID is the product of a bundle of which the program accepts a license too, if
	// that has an entitlement that is named as ProductID. AlsoFingerprint is the fingerprint
	// of the installation in such a license. Default: Fingerprint.
	AlsoProductID   string `json:"also_product_id,omitempty" validate:"omitempty,text" wire:"filled"`
	AlsoFingerprint string `json:"also_fingerprint,omitempty" validate:"omitempty,text,machine" wire:"filled"`
}

// A Link is the request of an installation to be activated by a customer. It ends after
// 10 minutes.
type Link struct {
	Object string `json:"object"` // "link"
	// Secret is for the program alone, which asks with it whether the customer has
	// approved: see [PollLinkParams].
	Secret    string    `json:"secret"`
	Code      string    `json:"code"` // for the customer: two groups of four letters
	URL       string    `json:"url"`  // of the page with the code, for the browser of the customer
	ExpiresAt time.Time `json:"expires_at"`
	Interval  int64     `json:"interval"` // how many seconds to wait between two polls
}

// PollLinkParams ask what the customer has decided on a link.
type PollLinkParams struct {
	Secret string `json:"secret" validate:"required,max=255"`
}

// A LinkState is what the customer has decided on a link. The answer stays the same until
// the link ends, so that a lost one can be asked for again.
type LinkState struct {
	Object string     `json:"object"` // "link_state"
	Status LinkStatus `json:"status"`
	// Key is the license key, and Verdict the verdict on the license and the activation of
	// the installation. They are absent while the link is pending.
	Key     string   `json:"key,omitempty"`
	Verdict *Verdict `json:"verdict,omitempty"`
}

// A LinkStatus is the status of a link. One that was declined, or that has ended, is
// [ErrLinkGone].
type LinkStatus string

// The statuses of a link.
const (
	LinkPending  LinkStatus = "pending"
	LinkApproved LinkStatus = "approved"
)

// A LinkRequest is the installation that a customer is to activate.
type LinkRequest struct {
	Code        string // in two groups
	ProductID   string
	Fingerprint string
	Name        string // empty: none
	// AlsoProductID is as in [StartLinkParams]; empty: none.
	AlsoProductID string
	ExpiresAt     time.Time
}

// ApproveLinkParams activate the installation that asks with a code.
type ApproveLinkParams struct {
	Code      string `json:"code" validate:"required"`
	LicenseID string `json:"license_id" validate:"required"`
	// TakeOver names the activation to evict if no seat is free, as in [ActivateKeyParams].
	TakeOver string `json:"take_over"`
}
