package input

import (
	"context"
	"slices"

	"github.com/seed-d8a106b4/licensekit/auth"
)

type errorsKey struct{}

// WithErrors returns a context that carries decoding errors. The rules report
// them together with their own when they check parameters. That comes after the
// license is found: an update of a missing license is "not found".
func WithErrors(ctx context.Context, errs []FieldError) context.Context {
	if len(errs) == 0 {
		return ctx
	}
	return context.WithValue(ctx, errorsKey{}, errs)
}

// Invalid returns an [*auth.InvalidError] with the errors in ctx and more.
func Invalid(ctx context.Context, more ...FieldError) error {
	return &auth.InvalidError{Fields: Errors(ctx, more)}
}

// Errors returns the errors in ctx, followed by those in found about other
// fields.
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
