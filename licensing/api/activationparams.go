package api

import "time"

// ValidateKeyParams are the parameters of a validation. Only Key is required;
// parameters that are not set are not checked.
type ValidateKeyParams struct {
	Key          string   `json:"key" validate:"required" wire:"credential"` // as typed
	ProductID    string   `json:"product_id" validate:"omitempty,text" wire:"filled"`
	CustomerID   string   `json:"customer_id" validate:"omitempty,text" wire:"filled"`
	Fingerprint  string   `json:"fingerprint" validate:"omitempty,text,machine" wire:"filled"` // its activation is checked, and its lease renewed
	Entitlements []string `json:"entitlements" validate:"max=100,texts"`                       // the license must have all of them
	// File, if not zero, asks for a license file of at most this lifetime. Nonce is
	// put into the file, as in [IssueFileParams].
	File  Duration `json:"file"`
	Nonce string   `json:"nonce" validate:"omitempty,nonce" wire:"filled"`
	// BuiltAt is when the program was built; it must not be after the license's
	// UpdatesUntil.
	BuiltAt *time.Time `json:"built_at" validate:"omitempty,instant" wire:"nullable"`
}

// ActivateKeyParams are the parameters of an activation. Key and Fingerprint are
// required.
type ActivateKeyParams struct {
	Key         string `json:"key" validate:"required" wire:"credential"`           // as typed
	Fingerprint string `json:"fingerprint" validate:"text,machine"`                 // must not begin with "office:"
	ProductID   string `json:"product_id" validate:"omitempty,text" wire:"filled"`  // if set, the license must be for this product
	CustomerID  string `json:"customer_id" validate:"omitempty,text" wire:"filled"` // if set, the license must belong to this customer
	// Name and Metadata describe the activation. A repeated activation
	// replaces them if they are set.
	Name     string            `json:"name" validate:"omitempty,text"`
	Metadata map[string]string `json:"metadata" wire:"nullable,max=50,each=500"` // same limits as a license's metadata
	// TakeOver names the activation to evict if no seat is free: empty for
	// none, [TakeOverOldest], or the ID of an active activation.
	TakeOver string `json:"take_over" wire:"filled"`
	// PerProcess says that the fingerprint is of one process of a program, which releases
	// the activation when it ends. License files of the activation expire with its lease, its
	// release is never refused, and the meter [MeterActivations] does not count it. The
	// license must have LeaseSeconds, and no OfflineSeconds.
	PerProcess bool `json:"per_process"`
	// File, if not zero, asks for a license file of at most this lifetime. Nonce is
	// put into the file, as in [IssueFileParams].
	File    Duration   `json:"file"`
	Nonce   string     `json:"nonce" validate:"omitempty,nonce" wire:"filled"`
	BuiltAt *time.Time `json:"built_at" validate:"omitempty,instant" wire:"nullable"` // as in [ValidateKeyParams]
}

// TakeOverOldest evicts the oldest active activation.
const TakeOverOldest = "oldest"

// DeactivateKeyParams name an activation of the license with a key: by its
// Fingerprint or, if the service lets license keys release any activation, by its
// ID.
type DeactivateKeyParams struct {
	Key          string `json:"key" validate:"required" wire:"credential"` // as typed
	Fingerprint  string `json:"fingerprint" validate:"required_without=ActivationID,omitempty,text" wire:"filled"`
	ActivationID string `json:"activation_id" wire:"filled"`
	Reason       string `json:"reason" validate:"omitempty,text"` // with ActivationID; recorded in the event
}

// ListActivationsParams select the activations of one license.
type ListActivationsParams struct {
	// Exactly one of LicenseID and Key names the license; Key only if the service
	// lets license keys list activations.
	LicenseID string `json:"-" path:"licenseID"`
	Key       string `json:"key" wire:"required,credential"`

	Ended  bool   `json:"ended" query:"ended"`                                        // include ended activations
	Limit  int    `json:"limit" query:"limit" validate:"min=0,max=200" wire:"filled"` // page size; 0: 50
	Cursor string `json:"cursor" query:"cursor"`                                      // NextCursor of the previous page
}

// ReleaseActivationParams select an activation.
type ReleaseActivationParams struct {
	// Exactly one of LicenseID and Key names the license; Key only in Go code of
	// the service, and if its options let license keys release any activation.
	LicenseID    string `json:"-" path:"licenseID"`
	Key          string `json:"key"`
	ActivationID string `json:"-" path:"activationID"`
	Reason       string `query:"reason" validate:"omitempty,text"` // recorded in the event
	// Force releases a seat that a license file holds although the license
	// has as many spent seats as it may have. Not for a caller with the key.
	Force bool `query:"force"`
}

// ValidateCustomerParams are the parameters of Service.ValidateCustomer.
// The host supplies the customer ID, for instance that of the signed-in
// user.
type ValidateCustomerParams struct {
	CustomerID   string   `json:"customer_id" validate:"text"`
	ProductID    string   `json:"product_id" validate:"omitempty,text"`  // empty: any product
	Entitlements []string `json:"entitlements" validate:"max=100,texts"` // a single license must have all of them
}
