// Package valid checks structs against the validate tags of their fields.
package valid

import (
	"cmp"
	"errors"
	"maps"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/go-playground/validator/v10"
)

// A Fault is a field that breaks a rule.
type Fault struct {
	Path   string // in Go, without the struct: "Tokens.TTL", "Origins[0]"
	Field  string // on the wire, by the json or the query tag: "products/0"
	Code   string // stable, such as "required"
	Detail string // how to fix it: "must be at least 1m"
}

// A Rule is a rule of one package.
type Rule struct {
	OK           func(reflect.Value) bool
	Code, Detail string
}

// Text returns a rule for strings.
func Text(ok func(string) bool, code, detail string) Rule {
	return Rule{func(v reflect.Value) bool { return ok(v.String()) }, code, detail}
}

// A Checker checks structs. It is safe for concurrent use.
type Checker struct {
	engine func() *validator.Validate
	rules  map[string]Rule
}

// New returns a Checker that knows the rules of package validator and these:
//
//   - text: 1–255 characters that are wellformed and trimmed
//   - wellformed: UTF-8 without control characters and noncharacters
//   - trimmed: no white space at either end
//   - instant: a time that [IsInstant] accepts
//   - the given rules, by name
//
// It does its slow work on first use.
func New(rules map[string]Rule) *Checker {
	all := map[string]Rule{
		"wellformed": Text(IsText, "invalid_characters", "must be valid UTF-8 without control characters"),
		"trimmed":    Text(IsTrimmed, "invalid_format", "must not begin or end with white space"),
		"instant": {func(v reflect.Value) bool { return IsInstant(v.Interface().(time.Time)) },
			"out_of_range", "must be a time between the years 1970 and 9999"},
	}
	maps.Copy(all, rules)
	return &Checker{rules: all, engine: sync.OnceValue(func() *validator.Validate {
		v := validator.New(validator.WithRequiredStructEnabled())
		v.RegisterTagNameFunc(func(f reflect.StructField) string {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			return cmp.Or(name, f.Tag.Get("query"))
		})
		v.RegisterAlias("text", "required,wellformed,trimmed,max=255")
		for name, rule := range all {
			if err := v.RegisterValidation(name, func(f validator.FieldLevel) bool { return rule.OK(f.Field()) }); err != nil {
				panic(err)
			}
		}
		return v
	})}
}

// Check returns the faults of a struct, at most one for each value, in the order
// of its fields.
func (c *Checker) Check(v any) (faults []Fault) {
	var broken validator.ValidationErrors
	errors.As(c.engine().Struct(v), &broken)
	for _, b := range broken {
		_, path, _ := strings.Cut(b.StructNamespace(), ".")
		f := Fault{Path: path, Field: wirePath(b)}
		f.Code, f.Detail = c.describe(b)
		faults = append(faults, f)
	}
	return faults
}

// wirePath returns the path of a field on the wire: its name or, in a list, the path
// from the list.
func wirePath(b validator.FieldError) string {
	name := b.Field()
	if list := strings.IndexByte(b.Namespace(), '['); list >= 0 {
		name = b.Namespace()[strings.LastIndexByte(b.Namespace()[:list], '.')+1:]
	}
	return strings.NewReplacer("[", "/", "]", "", ".", "/").Replace(name)
}

// describe returns the code of the broken rule, and how to fix it.
func (c *Checker) describe(b validator.FieldError) (code, detail string) {
	if rule, ok := c.rules[b.ActualTag()]; ok {
		return rule.Code, rule.Detail
	}
	switch tag := b.ActualTag(); {
	case tag == "required", tag == "required_without":
		return "required", "is required"
	case tag == "oneof":
		return "unknown", "must be one of " + strings.ReplaceAll(b.Param(), " ", ", ")
	case tag == "max" && b.Kind() == reflect.String:
		return "too_long", "must be at most " + b.Param() + " characters"
	case tag == "max" && isList(b):
		return "out_of_range", "must have at most " + b.Param() + " members"
	case tag == "max":
		return "out_of_range", "must be at most " + b.Param()
	case tag == "min" && isList(b) && b.Param() == "1":
		return "required", "must have at least one member"
	case tag == "min" && b.Kind() == reflect.Slice:
		return "out_of_range", "must be at least " + b.Param() + " bytes"
	case tag == "min":
		return "out_of_range", "must be at least " + b.Param()
	}
	return "invalid_format", "is invalid"
}

func isList(b validator.FieldError) bool {
	return b.Kind() == reflect.Slice && b.Type().Elem().Kind() != reflect.Uint8
}
