package auth

import (
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// checker has the rules of this package for the tags of parameters and options.
var checker = valid.New(map[string]valid.Rule{
	"scope": valid.Text(func(s string) bool { return slices.Contains(Scopes(), s) },
		"unknown", "must be one of "+strings.Join(Scopes(), ", ")),
	"realm": valid.Text(isQuotable, "invalid_characters", "must be printable ASCII without quotation marks and backslashes"),
})

// isQuotable reports whether s can be a quoted string in a header.
func isQuotable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' })
}

// check validates a parameter struct and returns an [*api.InvalidError], or nil.
func check(params any) error {
	return invalid(params, func(f valid.Fault) string { return f.Field })
}

// invalid is check with names of fields by choice.
func invalid(v any, name func(valid.Fault) string) error {
	var fields []api.FieldError
	for _, f := range checker.Check(v) {
		fields = append(fields, api.FieldError{Field: name(f), Code: f.Code, Detail: f.Detail})
	}
	if len(fields) == 0 {
		return nil
	}
	return &api.InvalidError{Fields: fields}
}
