// Package valid checks structs against the validate tags of their fields.
package valid

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

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
//   - texts: a list of strings, each a text; each other one is a fault
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
	all["texts"] = Rule{OK: func(v reflect.Value) bool { return !slices.ContainsFunc(v.Interface().([]string), isNoText) }}
	return &Checker{rules: all, engine: sync.OnceValue(func() *validator.Validate {
		v := validator.New(validator.WithRequiredStructEnabled())
		v.RegisterTagNameFunc(func(f reflect.StructField) string {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "-" { // a parameter of the path
				name = strings.ToLower(f.Name)
			}
			return cmp.Or(name, f.Tag.Get("query"))
		})
		v.RegisterAlias("text", fmt.Sprint("required,wellformed,trimmed,max=", MaxText))
		for name, rule := range all {
			if err := v.RegisterValidation(name, func(f validator.FieldLevel) bool { return rule.OK(f.Field()) }); err != nil {
				panic(err)
			}
		}
		return v
	})}
}

// maxFaults is how many faults of a struct are described.
const maxFaults = 20

// Check returns the first faults of a struct, at most one for each value, in the order
// of its fields.
func (c *Checker) Check(v any) (faults []Fault) {
	err := c.engine().Struct(v)
	if err == nil {
		return nil
	}
	var broken validator.ValidationErrors
	errors.As(err, &broken)
	for _, b := range broken[:min(len(broken), maxFaults)] {
		_, path, _ := strings.Cut(b.StructNamespace(), ".")
		f := Fault{Path: path, Field: wirePath(b)}
		if b.ActualTag() == "texts" {
			faults = append(faults, c.noTexts(f, b.Value().([]string))...)
			continue
		}
		f.Code, f.Detail = c.describe(b)
		faults = append(faults, f)
	}
	return faults
}

// MaxText is the maximum number of characters of a text.
const MaxText = 255

// isNoText reports whether s breaks the rule text.
func isNoText(s string) bool {
	return s == "" || !IsText(s) || !IsTrimmed(s) || utf8.RuneCountInString(s) > MaxText
}

// noTexts returns the faults of the first maxFaults strings of a list that break the rule text. The
// engine would describe each of them, at the cost of a request.
func (c *Checker) noTexts(of Fault, list []string) (faults []Fault) {
	for i, s := range list {
		if len(faults) == maxFaults {
			break
		}
		if !isNoText(s) {
			continue
		}
		f := Fault{Path: fmt.Sprintf("%s[%d]", of.Path, i), Field: of.Field + "/" + strconv.Itoa(i)}
		switch {
		case s == "":
			f.Code, f.Detail = "required", "is required"
		case !IsText(s):
			f.Code, f.Detail = c.rules["wellformed"].Code, c.rules["wellformed"].Detail
		case !IsTrimmed(s):
			f.Code, f.Detail = c.rules["trimmed"].Code, c.rules["trimmed"].Detail
		default:
			f.Code, f.Detail = "too_long", fmt.Sprintf("must be at most %d characters", MaxText)
		}
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
	return slashes.Replace(name)
}

// slashes makes a path on the wire of one in Go.
var slashes = strings.NewReplacer("[", "/", "]", "", ".", "/")

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
