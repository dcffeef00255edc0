package input

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-playground/validator/v10"
)

// A Checker checks parameter structs against their validate tags. Beside the
// tags of the validator it knows wellformed, trimmed, text and instant.
type Checker struct {
	validate *validator.Validate
	rules    map[string]Rule
}

// A Rule is a tag for strings that a package adds.
type Rule struct {
	Tag          string
	OK           func(string) bool
	Code, Detail string // of the error
}

// NewChecker returns a Checker that also knows the given rules.
func NewChecker(rules ...Rule) *Checker {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(f reflect.StructField) string {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return name
	})
	v.RegisterAlias("text", "required,wellformed,trimmed,max=255")
	tags := map[string]validator.Func{
		"wellformed": func(f validator.FieldLevel) bool { return IsText(f.Field().String()) },
		"trimmed":    func(f validator.FieldLevel) bool { return IsTrimmed(f.Field().String()) },
		"instant":    func(f validator.FieldLevel) bool { return IsInstant(f.Field().Interface().(time.Time)) },
	}
	c := &Checker{validate: v, rules: make(map[string]Rule)}
	for _, r := range rules {
		c.rules[r.Tag] = r
		tags[r.Tag] = func(f validator.FieldLevel) bool { return r.OK(f.Field().String()) }
	}
	for tag, ok := range tags {
		if err := v.RegisterValidation(tag, ok); err != nil {
			panic(err)
		}
	}
	return c
}

// Check checks a parameter struct. Decoding errors carried by ctx come first.
func (c *Checker) Check(ctx context.Context, params any) []FieldError {
	var broken validator.ValidationErrors
	errors.As(c.validate.Struct(params), &broken)
	var fields []FieldError
	for _, b := range broken {
		fields = append(fields, c.describe(b))
	}
	return Errors(ctx, fields)
}

// describe translates one validator error into a FieldError.
func (c *Checker) describe(b validator.FieldError) FieldError {
	f := FieldError{Field: strings.NewReplacer("[", "/", "]", "").Replace(b.Field())} // "products/0"
	switch tag := b.ActualTag(); tag {
	case "required":
		f.Code, f.Detail = codeRequired, "is required"
	case "wellformed":
		f.Code, f.Detail = codeInvalidCharacters, "must be valid UTF-8 without control characters"
	case "trimmed":
		f.Code, f.Detail = codeInvalidFormat, "must not begin or end with white space"
	case "instant":
		f.Code, f.Detail = codeOutOfRange, "must be a time between the years 1970 and 9999"
	case "oneof":
		f.Code, f.Detail = codeUnknown, "must be one of "+strings.ReplaceAll(b.Param(), " ", ", ")
	case "max":
		if b.Kind() == reflect.String {
			f.Code, f.Detail = codeTooLong, "must be at most "+b.Param()+" characters"
			break
		}
		f.Code, f.Detail = codeOutOfRange, "must be at most "+b.Param()
	case "min":
		f.Code, f.Detail = codeOutOfRange, "must be at least "+b.Param()
	default:
		f.Code, f.Detail = codeInvalidFormat, "is invalid"
		if r, ok := c.rules[tag]; ok {
			f.Code, f.Detail = r.Code, r.Detail
		}
	}
	return f
}

// IsInstant reports whether RFC 3339 and every store can represent t.
func IsInstant(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 1970 && year <= 9999
}

// IsText reports whether s is valid UTF-8 without control characters (C0,
// C1, DEL) and noncharacters, so that every store can hold it and every
// screen can show it.
func IsText(s string) bool {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			if c < ' ' || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 || r <= 0x9f || isNoncharacter(r) {
			return false
		}
		i += size
	}
	return true
}

func isNoncharacter(r rune) bool { return r >= 0xfdd0 && r <= 0xfdef || r&0xfffe == 0xfffe }

// IsTrimmed reports whether s neither begins nor ends with white space.
func IsTrimmed(s string) bool { return strings.TrimSpace(s) == s }
