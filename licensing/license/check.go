package license

import (
	"context"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/input"
)

// checker has the rules of this package for the tags of parameter structs.
var checker = input.NewChecker(map[string]valid.Rule{
	"customer": valid.Text(func(s string) bool { return !strings.HasPrefix(s, "lic_") },
		CodeInvalidFormat, `must not begin with "lic_", which marks a license`),
	"nonce": valid.Text(func(s string) bool {
		return len(s) <= 64 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") == ""
	}, CodeInvalidFormat, "must be at most 64 letters, digits, dashes and underscores"),
	"key": valid.Text(func(s string) bool { return isKey(canonicalKey(s)) },
		CodeInvalidFormat, "must be 16 to 1,024 visible ASCII characters"),
})

// checkTags checks a parameter struct against its tags. Decoding errors
// carried by ctx come first.
func checkTags(ctx context.Context, params any) []FieldError { return checker.Check(ctx, params) }

// checkFields validates the fields of a license, and that the caller may use its
// product.
func (s *Service) checkFields(ctx context.Context, p *CreateParams) error {
	if err := p.check(ctx); err != nil {
		return err
	}
	if !s.sees(p.ProductID) {
		return ErrProductForbidden
	}
	return nil
}

// check validates the fields of a license and normalizes them as stored:
// times truncated to milliseconds, numbers as float64. It replaces maps and pointed-to values instead of changing
// them.
func (p *CreateParams) check(ctx context.Context) error {
	return invalidFields(append(checkTags(ctx, p), p.normalize()...))
}

// normalize does what check does beyond the tags.
func (p *CreateParams) normalize() (broken []FieldError) {
	p.StartsAt, p.ExpiresAt = cut(p.StartsAt), cut(p.ExpiresAt)
	if p.StartsAt != nil && p.ExpiresAt != nil && !p.ExpiresAt.After(*p.StartsAt) {
		broken = append(broken, FieldError{Field: "expires_at", Code: CodeOutOfRange, Detail: "must be after starts_at"})
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
func check(ctx context.Context, params any) error {
	return invalidFields(checkTags(ctx, params))
}

// invalidFields returns an [*InvalidError] with the errors, or nil if there are none.
func invalidFields(broken []FieldError) error {
	if len(broken) > 0 {
		return &InvalidError{Fields: broken}
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
