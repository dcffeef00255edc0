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
