package license

import (
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/input"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/record"
)

// checkTags checks a parameter struct against its tags, which may name these rules.
var checkTags = input.Checker(map[string]valid.Rule{
	"customer": valid.Text(func(s string) bool { return !strings.HasPrefix(s, "lic_") },
		api.FieldInvalidFormat, `must not begin with "lic_", which marks a license`),
	"nonce": valid.Text(func(s string) bool {
		return len(s) <= 64 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == ""
	}, api.FieldInvalidFormat, "must be at most 64 letters, digits, dashes and underscores"),
	"identifier": valid.Text(isIdentifier, api.FieldInvalidFormat, identifierRule),
	"license":    valid.Text(func(s string) bool { return record.IsID("lic", s) }, api.FieldInvalidFormat, `must be "lic_" followed by 26 characters`),
	"key": valid.Text(func(s string) bool { return isKey(canonicalKey(s)) },
		api.FieldInvalidFormat, "must be 16 to 1,024 visible ASCII characters"),
})

// Faults returns the errors in the parameters of a call, given as a pointer. A
// decoder that could not decode all fields reports them together with its own,
// instead of making the call. So they do not include errors of absent fields that
// others could replace.
func (s internals) Faults(params any) []api.FieldError {
	switch p := params.(type) {
	case *api.CreateLicenseParams:
		return checkGiven(p)
	case *api.PutPlanParams:
		return checkPlan(p, s.now())
	case *api.FulfillParams:
		return checkFulfill(p, s.now())
	case *api.UpdateLicenseParams:
		return checkUpdate(*p)
	case *api.TransferLicenseParams:
		return checkTransfer(p)
	case *api.RenewLicenseParams:
		return checkRenew(*p)
	case *api.ActivateKeyParams:
		return checkActivate(*p)
	case *api.DeactivateKeyParams:
		return checkDeactivate(*p)
	case *api.IssueFileParams:
		return checkIssueFile(*p)
	}
	return checkTags(params)
}

// checkFields validates the fields of a license, and that the caller may use its
// product.
func (s *Service) checkFields(p *api.CreateLicenseParams) error {
	if err := invalidFields(checkCreate(p)); err != nil {
		return err
	}
	if !s.sees(p.ProductID) {
		return api.ErrProductForbidden
	}
	return nil
}

// checkCreate checks the fields of a license and normalizes them as stored:
// times truncated to milliseconds, numbers as float64. It replaces maps and
// pointed-to values instead of changing them.
func checkCreate(p *api.CreateLicenseParams) []api.FieldError {
	return append(checkTags(p), normalize(p)...)
}

// normalize does what checkCreate does beyond the tags.
func normalize(p *api.CreateLicenseParams) (broken []api.FieldError) {
	p.StartsAt, p.ExpiresAt, p.UpdatesUntil = cut(p.StartsAt), cut(p.ExpiresAt), cut(p.UpdatesUntil)
	if p.StartsAt != nil && p.ExpiresAt != nil && !p.ExpiresAt.After(*p.StartsAt) {
		broken = append(broken, api.FieldError{Field: "expires_at", Code: api.FieldOutOfRange, Detail: "must be after starts_at"})
	}
	entitlements, wrong := checkEntitlements(p.Entitlements)
	broken = append(broken, wrong...)
	p.Entitlements = entitlements
	metadata, wrong := checkMetadata(p.Metadata)
	broken = append(broken, wrong...)
	p.Metadata = metadata
	return broken
}

// check validates a struct that needs no checks beyond its tags.
func check(params any) error { return invalidFields(checkTags(params)) }

// invalidFields returns an [*api.InvalidError] with the errors, or nil if there are none.
func invalidFields(broken []api.FieldError) error {
	if len(broken) > 0 {
		return &api.InvalidError{Fields: broken}
	}
	return nil
}

func cut(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	c := toMillis(*t)
	return &c
}

const identifierRule = "must be 1 to 255 letters, digits and . _ : @ -, and begin with a letter or a digit"

// isIdentifier reports whether s can be the ID of a plan or a reference: it has the
// form that IDs of payment providers have, and nothing that a path must escape.
func isIdentifier(s string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	return s != "" && len(s) <= 255 && strings.Trim(s, letters+"._:@-") == "" && strings.IndexByte(letters, s[0]) >= 0
}
