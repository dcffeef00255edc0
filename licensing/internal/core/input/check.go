package input

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
)

// A Checker checks parameter structs against their validate tags.
type Checker struct{ tags *valid.Checker }

// NewChecker returns a Checker that knows the rules of package valid and the
// given ones.
func NewChecker(rules map[string]valid.Rule) *Checker { return &Checker{valid.New(rules)} }

// Check checks a parameter struct. Decoding errors carried by ctx come first.
func (c *Checker) Check(ctx context.Context, params any) []FieldError {
	var fields []FieldError
	for _, f := range c.tags.Check(params) {
		fields = append(fields, FieldError{Field: f.Field, Code: f.Code, Detail: f.Detail})
	}
	return Errors(ctx, fields)
}
