package api

import "time"

// A LicenseFile is a license file that was issued.
type LicenseFile struct {
	Object     string      `json:"object"` // always "license_file"
	ID         string      `json:"id"`     // the jti of the file
	LicenseID  string      `json:"license_id"`
	Generation int64       `json:"generation"` // of the license
	IssuedAt   time.Time   `json:"issued_at"`
	ExpiresAt  time.Time   `json:"expires_at"`
	Activation *Activation `json:"activation"`     // which the file is bound to; nil: to none
	File       string      `json:"file,omitempty"` // the text; in Go code of the service it is empty
}

// IssueFileParams are the parameters of a license file.
type IssueFileParams struct {
	// Exactly one of LicenseID and Key names the license. A caller with the
	// key gets files of at most License.OfflineSeconds.
	LicenseID string `json:"-" path:"licenseID"`
	Key       string `json:"-"` // as typed; over HTTP see [IssueFileByKeyParams]

	// Lifetime is how long the file is valid at most, from a minute to 10 years:
	// it never outlives the license with its grace period. Zero: the longest that
	// a caller with the key gets.
	Lifetime Duration `json:"lifetime"`

	// At most one of the next three says what the file is bound to. A license
	// with MaxActivations needs one of them. A fingerprint without an active
	// activation is activated.
	Fingerprint  string `json:"fingerprint" validate:"omitempty,text,machine" wire:"filled"`
	ActivationID string `json:"activation_id" wire:"filled"`
	// Request is the text of a program without a network, which has a nonce, or of an
	// office: that takes all the seats it asks for, at most 200, or none. With
	// its file, which is followed by a space and the revocation list of the license, it
	// lends them to programs.
	Request string `json:"request" wire:"filled"`

	ProductID string `json:"product_id" validate:"omitempty,text" wire:"filled"` // if set, the license must be for this product
	// Nonce is put into the file, so that the program knows that the file
	// answers its request: at most 64 letters, digits, dashes and underscores.
	Nonce string `json:"nonce" validate:"omitempty,nonce" wire:"filled"`
}

// IssueFileByKeyParams are [IssueFileParams] for a license key holder.
type IssueFileByKeyParams struct {
	Key string `json:"key" validate:"required" wire:"credential"` // as typed
	IssueFileParams
}

// VoidFilesParams select a license whose files are voided.
type VoidFilesParams struct {
	ID      string    `json:"-" path:"licenseID"`
	Reason  string    `json:"reason" validate:"omitempty,text"` // recorded in the event
	IfMatch []Version `json:"-" header:"If-Match"`              // as in [UpdateLicenseParams]
}
