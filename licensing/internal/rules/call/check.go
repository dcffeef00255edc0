package call

import (
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/input"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
)

// CheckTags checks a parameter struct against its tags, which may name these rules.
var CheckTags = input.Checker(map[string]valid.Rule{
	"customer": valid.Text(func(s string) bool { return !strings.HasPrefix(s, "lic_") },
		api.FieldInvalidFormat, `must not begin with "lic_", which marks a license`),
	"address": valid.Text(func(s string) bool { return Address(s) != "" }, api.FieldInvalidFormat, "must be one email address"),
	"machine": valid.Text(func(s string) bool { return !IsOfficeSeat(s) },
		api.FieldInvalidFormat, `must not begin with "office:", which marks a seat of an office`),
	"nonce": valid.Text(func(s string) bool {
		return len(s) <= 64 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == ""
	}, api.FieldInvalidFormat, "must be at most 64 letters, digits, dashes and underscores"),
	"identifier": valid.Text(IsIdentifier, api.FieldInvalidFormat, IdentifierRule),
	"license":    valid.Text(func(s string) bool { return record.IsID("lic", s) }, api.FieldInvalidFormat, `must be "lic_" followed by 26 characters`),
	"key": valid.Text(func(s string) bool { return IsKey(CanonicalKey(s)) },
		api.FieldInvalidFormat, "must be 16 to 1,024 visible ASCII characters"),
})

// IsOfficeSeat reports whether a fingerprint is of a seat that an office lends: only the
// file of the office holds it.
func IsOfficeSeat(fingerprint string) bool { return strings.HasPrefix(fingerprint, "office:") }

// CheckCreate checks the fields of a license and normalizes them as stored:
// times truncated to milliseconds, numbers as float64. It replaces maps and
// pointed-to values instead of changing them.
func CheckCreate(p *api.CreateLicenseParams) []api.FieldError {
	return append(CheckTags(p), Normalize(p)...)
}

// Normalize does what checkCreate does beyond the tags.
func Normalize(p *api.CreateLicenseParams) (broken []api.FieldError) {
	p.StartsAt, p.ExpiresAt, p.UpdatesUntil = Cut(p.StartsAt), Cut(p.ExpiresAt), Cut(p.UpdatesUntil)
	if p.StartsAt != nil && p.ExpiresAt != nil && !p.ExpiresAt.After(*p.StartsAt) {
		broken = append(broken, api.FieldError{Field: "expires_at", Code: api.FieldOutOfRange, Detail: "must be after starts_at"})
	}
	entitlements, wrong := CheckEntitlements(p.Entitlements)
	broken = append(broken, wrong...)
	p.Entitlements = entitlements
	metadata, wrong := CheckMetadata(p.Metadata)
	broken = append(broken, wrong...)
	p.Metadata = metadata
	meters, wrong := CheckMeters(p.Meters)
	broken = append(broken, wrong...)
	p.Meters = meters
	return broken
}

// Check validates a struct that needs no checks beyond its tags.
func Check(params any) error { return InvalidFields(CheckTags(params)) }

// InvalidFields returns an [*api.InvalidError] with the errors, or nil if there are none.
func InvalidFields(broken []api.FieldError) error {
	if len(broken) > 0 {
		return &api.InvalidError{Fields: broken}
	}
	return nil
}

func Cut(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	c := ToMillis(*t)
	return &c
}

const IdentifierRule = "must be 1 to 255 letters, digits and . _ : @ -, and begin with a letter or a digit"

// IsIdentifier reports whether s can be the ID of a plan or a reference: it has the
// form that IDs of payment providers have, and nothing that a path must escape.
func IsIdentifier(s string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	return s != "" && len(s) <= 255 && strings.Trim(s, letters+"._:@-") == "" && strings.IndexByte(letters, s[0]) >= 0
}

// CheckVersion returns a [*api.StaleError] unless the current version is one of those
// given, if there are any.
func CheckVersion(current api.Version, given []api.Version) error {
	if given == nil || slices.Contains(given, current) {
		return nil
	}
	return &api.StaleError{Current: current}
}

// CheckGiven is checkCreate without the fields that a plan may fill in.
func CheckGiven(p *api.CreateLicenseParams) []api.FieldError {
	given := *p
	if p.PlanID != "" && p.ProductID == "" {
		given.ProductID = "-"
	}
	return CheckCreate(&given)
}

// InBounds reports whether no part is negative or has more than eight digits.
func InBounds(d api.Duration) bool {
	for _, part := range []int{d.Years, d.Months, d.Weeks, d.Days, d.Hours, d.Minutes, d.Seconds} {
		if part < 0 || part > 99_999_999 {
			return false
		}
	}
	return true
}

// rules are the errors of calls that were refused before anything was written.
var rules = []error{
	api.ErrNotFound, api.ErrInvalid, api.ErrStale, api.ErrAmbiguous, api.ErrProductForbidden,
	api.ErrKeyTaken, api.ErrOnceMismatch, api.ErrStateForbids, api.ErrDenied, api.ErrCursorGone, api.ErrForbidden, api.ErrSeatHeld,
	api.ErrReferenceTaken, api.ErrTrialTaken, api.ErrLinkGone, api.ErrClaimed,
}
