package licensefile

import (
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Claims are what a license file says. Times have whole seconds; the rest is
// cut off when the claims are encoded. The JSON form is the payload of the
// file.
type Claims struct {
	ID         string // jti: unique for each file
	Issuer     string // iss; empty: none
	LicenseID  string // sub
	ProductID  string // aud
	Name       string // name: whom the license is for, to show as "Licensed to"; empty: not said
	Generation int64  // gen: the generation of the license, from 1 on

	IssuedAt         time.Time // iat
	NotBefore        time.Time // nbf
	ExpiresAt        time.Time // exp: when the file expires
	LicenseExpiresAt time.Time // license_expires: when the license expires; zero: never

	UpdatesUntil time.Time // updates_until: no later build of the program may use the file; zero: any build may

	ActivationID    string // activation_id; empty: none
	FingerprintHash string // fingerprint_hash: see [FingerprintHash]; empty: the file is valid anywhere

	// Entitlements are those of the license: true, a float64 or a string for
	// each name.
	Entitlements map[string]any
	// RecheckAfter (recheck) is after how many seconds the program should
	// ask the service for a new file; 0: not said.
	RecheckAfter int64
	Nonce        string // nonce: that of the request which the file answers; empty: none

	Office *Office // office: who may lend the license; nil: the file is for a program
}

// wireClaims is the encoding of Claims.
type wireClaims struct {
	Issuer         string         `json:"iss,omitempty"`
	LicenseID      string         `json:"sub"`
	ProductID      string         `json:"aud"`
	Name           string         `json:"name,omitempty"`
	ID             string         `json:"jti"`
	IssuedAt       int64          `json:"iat"`
	NotBefore      int64          `json:"nbf"`
	ExpiresAt      int64          `json:"exp"`
	Generation     int64          `json:"gen"`
	LicenseExpires int64          `json:"license_expires,omitempty"`
	UpdatesUntil   int64          `json:"updates_until,omitempty"`
	ActivationID   string         `json:"activation_id,omitempty"`
	Fingerprint    string         `json:"fingerprint_hash,omitempty"`
	Entitlements   map[string]any `json:"entitlements,omitempty"`
	RecheckAfter   int64          `json:"recheck,omitempty"`
	Nonce          string         `json:"nonce,omitempty"`
	Office         *wireOffice    `json:"office,omitempty"`
}

// MarshalJSON returns the payload of a file.
func (c Claims) MarshalJSON() ([]byte, error) {
	office, err := c.Office.wire()
	if err != nil {
		return nil, err
	}
	return encode(wireClaims{
		Issuer: c.Issuer, LicenseID: c.LicenseID, ProductID: c.ProductID, Name: c.Name, ID: c.ID,
		IssuedAt: unix(c.IssuedAt), NotBefore: unix(c.NotBefore), ExpiresAt: unix(c.ExpiresAt),
		Generation: c.Generation, LicenseExpires: unix(c.LicenseExpiresAt), UpdatesUntil: unix(c.UpdatesUntil),
		ActivationID: c.ActivationID, Fingerprint: c.FingerprintHash,
		Entitlements: c.Entitlements, RecheckAfter: c.RecheckAfter, Nonce: c.Nonce, Office: office,
	})
}

// UnmarshalJSON reads the payload of a file. It ignores members that it does
// not know, and returns [ErrMalformed] or [ErrDuplicate].
func (c *Claims) UnmarshalJSON(payload []byte) error {
	all, err := object(payload)
	if err != nil {
		return err
	}
	m := members{from: all}
	out := Claims{
		ID:               m.text("jti", true),
		Issuer:           m.text("iss", false),
		LicenseID:        m.text("sub", true),
		ProductID:        m.audience(),
		Name:             m.text("name", false),
		Generation:       m.number("gen", true, 1),
		IssuedAt:         m.time("iat", true),
		NotBefore:        m.time("nbf", true),
		ExpiresAt:        m.time("exp", true),
		LicenseExpiresAt: m.time("license_expires", false),
		UpdatesUntil:     m.time("updates_until", false),
		ActivationID:     m.text("activation_id", false),
		FingerprintHash:  m.text("fingerprint_hash", false),
		Entitlements:     m.entitlements(),
		RecheckAfter:     m.number("recheck", false, 0),
		Nonce:            m.text("nonce", false),
		Office:           m.office(),
	}
	if m.err != nil {
		return m.err
	}
	*c = out
	return nil
}

// Validate returns an error if [Sign] would refuse c: [ErrMalformed] if a
// required claim is missing, or [ErrTooLarge]. An issuer calls it before it
// stores that the file was issued.
func (c Claims) Validate() error {
	_, err := c.payload()
	return err
}

// payload returns the encoding of c, which Verify accepts.
func (c Claims) payload() ([]byte, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	payload, err := c.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if compactSize(payload) > MaxSize {
		return nil, fmt.Errorf("%w of %d bytes; the license has too many entitlements for a file", ErrTooLarge, MaxSize)
	}
	if c.Office != nil && compactSize(payload) > maxOfficeFile {
		return nil, fmt.Errorf("%w of %d bytes; the license has too many entitlements for the file of an office", ErrTooLarge, maxOfficeFile)
	}
	return payload, nil
}

// check returns an error if UnmarshalJSON would refuse the encoding of c.
func (c Claims) check() error {
	for _, claim := range []struct {
		name string
		ok   bool
	}{
		{"jti", c.ID != ""}, {"sub", c.LicenseID != ""}, {"aud", c.ProductID != ""},
		{"gen", c.Generation >= 1 && c.Generation <= maxNumber}, {"recheck", c.RecheckAfter >= 0 && c.RecheckAfter <= maxNumber},
		{"iat", isTime(c.IssuedAt)}, {"nbf", isTime(c.NotBefore)}, {"exp", isTime(c.ExpiresAt)},
		{"license_expires", c.LicenseExpiresAt.IsZero() || isTime(c.LicenseExpiresAt)},
		{"updates_until", c.UpdatesUntil.IsZero() || isTime(c.UpdatesUntil)},
	} {
		if !claim.ok {
			return fmt.Errorf("%w: %q is missing or out of range", ErrMalformed, claim.name)
		}
	}
	return checkEntitlements(c.Entitlements)
}

func isTime(t time.Time) bool { return t.Unix() >= 1 && t.Unix() <= maxTime }

func checkEntitlements(all map[string]any) error {
	for name, v := range all {
		switch v := v.(type) {
		case string:
			continue
		case float64:
			if !math.IsInf(v, 0) && !math.IsNaN(v) {
				continue
			}
		case bool:
			if v {
				continue
			}
		}
		return fmt.Errorf("%w: the entitlement %.64q is neither true, a float64 nor a string", ErrMalformed, name)
	}
	return nil
}

// audience reads aud: a string, or an array with one string, which some JOSE
// libraries write instead.
func (m *members) audience() string {
	var one []string
	if m.err == nil && json.Unmarshal(m.from["aud"], &one) == nil && len(one) == 1 && one[0] != "" {
		return one[0]
	}
	return m.text("aud", true)
}

// time reads a NumericDate of whole seconds.
func (m *members) time(name string, required bool) time.Time {
	n := m.number(name, required, 1)
	if n == 0 {
		return time.Time{}
	}
	if n > maxTime && m.err == nil {
		m.err = fmt.Errorf("%w: %q is out of range", ErrMalformed, name)
	}
	return time.Unix(n, 0).UTC()
}

const maxTime = 253402300799 // the end of the year 9999

func unix(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

func (m *members) entitlements() map[string]any {
	var all map[string]any
	m.read("entitlements", false, &all)
	if err := checkEntitlements(all); err != nil && m.err == nil {
		m.err = err
	}
	if len(all) == 0 {
		return nil
	}
	return all
}
