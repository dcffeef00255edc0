package input

import (
	"context"
	"slices"

	"github.com/seed-d8a106b4/licensekit/auth"
)

type errorsKey struct{}

// WithErrors returns a context that carries what was wrong with parameters
// before they had Go types. The rules report it together with what they find
// themselves, at the place where they check parameters: an update of a license
// that does not exist is "not found" first.
func WithErrors(ctx context.Context, errs []FieldError) context.Context {
	if len(errs) == 0 {
		return ctx
	}
	return context.WithValue(ctx, errorsKey{}, errs)
}

// Invalid returns an [*auth.InvalidError] of what ctx carries and of more.
func Invalid(ctx context.Context, more ...FieldError) error {
	return &auth.InvalidError{Fields: Errors(ctx, more)}
}

// Errors returns what ctx carries, followed by those of found that are about
// other fields.
func Errors(ctx context.Context, found []FieldError) []FieldError {
	all, _ := ctx.Value(errorsKey{}).([]FieldError)
	if len(all) == 0 {
		return found
	}
	all = slices.Clone(all)
	known := len(all)
	for _, e := range found {
		if !slices.ContainsFunc(all[:known], func(k FieldError) bool { return k.Field == e.Field }) {
			all = append(all, e)
		}
	}
	return all
}
