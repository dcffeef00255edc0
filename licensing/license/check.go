package license

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/go-playground/validator/v10"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/input"
)

// checker returns the validator of parameter structs. The rules stand in the
// structs' tags; the words are ours.
var checker = sync.OnceValue(func() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(f reflect.StructField) string {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return name
	})
	v.RegisterAlias("text", "required,wellformed,trimmed,max=255")
	for tag, ok := range map[string]func(validator.FieldLevel) bool{
		"wellformed": func(f validator.FieldLevel) bool { return isText(f.Field().String()) },
		"trimmed":    func(f validator.FieldLevel) bool { return isTrimmed(f.Field().String()) },
		"customer":   func(f validator.FieldLevel) bool { return !strings.HasPrefix(f.Field().String(), "lic_") },
		"key":        func(f validator.FieldLevel) bool { return isKey(canonicalKey(f.Field().String())) },
		"instant":    func(f validator.FieldLevel) bool { return isInstant(f.Field().Interface().(time.Time)) },
	} {
		if err := v.RegisterValidation(tag, ok); err != nil {
			panic(err)
		}
	}
	return v
})

// checkTags checks a parameter struct against its tags. Decoding errors
// carried by ctx come first.
func checkTags(ctx context.Context, params any) []FieldError {
	var broken validator.ValidationErrors
	errors.As(checker().Struct(params), &broken)
	var fields []FieldError
	for _, b := range broken {
		fields = append(fields, describe(b))
	}
	return input.Errors(ctx, fields)
}

// describe translates one validator error into a FieldError.
func describe(b validator.FieldError) FieldError {
	f := FieldError{Field: strings.NewReplacer("[", "/", "]", "").Replace(b.Field())} // "products/0"
	switch b.ActualTag() {
	case "required":
		f.Code, f.Detail = CodeRequired, "is required"
	case "wellformed":
		f.Code, f.Detail = CodeInvalidCharacters, "must be valid UTF-8 without control characters"
	case "trimmed":
		f.Code, f.Detail = CodeInvalidFormat, "must not begin or end with white space"
	case "customer":
		f.Code, f.Detail = CodeInvalidFormat, `must not begin with "lic_", which marks a license`
	case "key":
		f.Code, f.Detail = CodeInvalidFormat, "must be 16 to 1,024 visible ASCII characters"
	case "instant":
		f.Code, f.Detail = CodeOutOfRange, "must be a time between the years 1970 and 9999"
	case "oneof":
		f.Code, f.Detail = CodeUnknown, "must be one of "+strings.ReplaceAll(b.Param(), " ", ", ")
	case "max":
		if b.Kind() == reflect.String {
			f.Code, f.Detail = CodeTooLong, "must be at most "+b.Param()+" characters"
			break
		}
		f.Code, f.Detail = CodeOutOfRange, "must be at most "+b.Param()
	case "min":
		f.Code, f.Detail = CodeOutOfRange, "must be at least "+b.Param()
	default:
		f.Code, f.Detail = CodeInvalidFormat, "is invalid"
	}
	return f
}

// isInstant reports whether RFC 3339 and every store can represent t.
func isInstant(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 1970 && year <= 9999
}

// check validates the fields of a license and normalizes them as stored:
// times truncated to milliseconds, generated keys in canonical form, numbers
// as float64. It replaces maps and pointed-to values instead of changing
// them.
func (p *CreateParams) check(ctx context.Context) error {
	broken := checkTags(ctx, p)
	p.Key = canonicalKey(p.Key)
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
	if len(broken) > 0 {
		return &InvalidError{Fields: broken}
	}
	return nil
}

// check validates a struct that needs no checks beyond its tags.
func check(ctx context.Context, params any) error {
	if broken := checkTags(ctx, params); len(broken) > 0 {
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
