package auth

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/go-playground/validator/v10"
)

// The maximum values in validation tags and messages.
const (
	maxText     = 255
	maxProducts = 100
	maxPage     = 200
)

// validate is created on first use, because creating it is slow.
var validate = sync.OnceValue(func() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	for tag, check := range map[string]func(string) bool{
		"text":  isText,
		"scope": func(s string) bool { return slices.Contains(Scopes(), s) },
		"realm": isQuotable,
	} {
		if err := v.RegisterValidation(tag, func(fl validator.FieldLevel) bool { return check(fl.Field().String()) }); err != nil {
			panic(err)
		}
	}
	return v
})

// isText reports whether s is UTF-8 without control characters, noncharacters,
// and white space at either end.
func isText(s string) bool {
	if !utf8.ValidString(s) || s != strings.TrimSpace(s) {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || r&0xfffe == 0xfffe || 0xfdd0 <= r && r <= 0xfdef
	})
}

// isQuotable reports whether s can be a quoted string in a header.
func isQuotable(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' })
}

// check validates a parameter struct and returns an [*InvalidError], or nil.
func check(params any) error {
	err := validate().Struct(params)
	var failures validator.ValidationErrors
	if !errors.As(err, &failures) {
		return err
	}
	invalid := &InvalidError{}
	for _, f := range failures {
		code, detail := describe(f)
		invalid.Fields = append(invalid.Fields, FieldError{Field: wireName(f), Code: code, Detail: detail})
	}
	return invalid
}

// describe returns the code of the rule that a value breaks, and how to fix it.
func describe(f validator.FieldError) (code, detail string) {
	switch f.Tag() {
	case "required":
		return "required", "must not be empty"
	case "text":
		return "invalid_characters", "must be valid UTF-8 without control characters and without white space at either end"
	case "scope":
		return "unknown", "must be one of " + strings.Join(Scopes(), ", ")
	case "realm":
		return "invalid_characters", "must be printable ASCII without quotation marks and backslashes"
	}
	if _, ok := f.Value().([]string); ok && f.Tag() == "min" {
		return "required", "must have at least one member"
	}
	if max, err := strconv.Atoi(f.Param()); err == nil && f.Tag() == "max" {
		switch f.Value().(type) {
		case string:
			return "too_long", fmt.Sprintf("must have at most %d characters", max)
		case []string:
			return "too_many", fmt.Sprintf("must have at most %d members", max)
		}
	}
	return "out_of_range", ranges[f.StructNamespace()]
}

// ranges has the allowed values of numbers and durations.
var ranges = map[string]string{
	"ListClientsParams.Limit":    fmt.Sprintf("must be 1 to %d, or zero for 50", maxPage),
	"RotateSecretParams.Overlap": "must be zero to 90 days (2160h)",
	"Options.Tokens.TTL":         "must be 1m to 24h, or zero for 1h",
	"Options.Tokens.Max":         "must be 1 to 10,000, or zero for 1,000",
	"Options.Tokens.MaxFailures": "must be 1 to 1,000, or zero for 20",
	"Options.Tokens.MaxBody":     "must be at least 1,024, or zero for 16,384",
}

// wireName returns the name of a Go field as callers know it, such as products/3
// for Products[3]. An option keeps its Go name.
func wireName(f validator.FieldError) string {
	if strings.HasPrefix(f.StructNamespace(), "Options.") {
		return f.StructNamespace()
	}
	name, index, ok := strings.Cut(strings.TrimSuffix(f.Field(), "]"), "[")
	if name = strings.ToLower(name); ok {
		return name + "/" + index
	}
	return name
}
