package input

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A valueFunc decodes a JSON value into a field. The paths of its errors are
// relative to the field: empty, or "/" and a name.
type valueFunc func(target reflect.Value, v any) []FieldError

var (
	timeType       = reflect.TypeFor[time.Time]()
	textType       = reflect.TypeFor[encoding.TextUnmarshaler]()
	errTime        = FieldError{Code: codeInvalidFormat, Detail: `must be an RFC 3339 time such as "2030-01-31T00:00:00Z"`}
	errNull        = FieldError{Code: codeRequired, Detail: "cannot be null"}
	wantText       = FieldError{Code: codeInvalidType, Detail: "must be a string"}
	wantNumber     = FieldError{Code: codeInvalidType, Detail: "must be a whole number"}
	wantBool       = FieldError{Code: codeInvalidType, Detail: "must be true or false"}
	wantObject     = FieldError{Code: codeInvalidType, Detail: "must be an object"}
	wantTextObject = FieldError{Code: codeInvalidType, Detail: "must be an object of strings"}
	wantTextList   = FieldError{Code: codeInvalidType, Detail: "must be an array of strings"}
	wantQueryTime  = FieldError{Code: codeInvalidFormat, Detail: "must be an RFC 3339 time such as 2030-01-31T00:00:00Z; encode + as %2B"}
	wantQueryBool  = FieldError{Code: codeInvalidFormat, Detail: "must be true or false"}
)

func failed(e FieldError) []FieldError { return []FieldError{e} }

// valueOf returns the valueFunc of a field type.
func valueOf(t reflect.Type) valueFunc {
	switch {
	case isChange(t):
		return changeValue(t)
	case t == timeType:
		return timeValue
	case reflect.PointerTo(t).Implements(textType):
		return parsedValue
	case t.Kind() == reflect.Pointer:
		return pointerValue(t)
	}
	switch t.Kind() {
	case reflect.String:
		return textValue
	case reflect.Int64, reflect.Int:
		return numberValue
	case reflect.Bool:
		return boolValue
	case reflect.Slice:
		if t.Elem().Kind() == reflect.String {
			return textsValue
		}
	case reflect.Map:
		switch t.Elem().Kind() {
		case reflect.Interface:
			return objectValue
		case reflect.String:
			return textMapValue(false)
		case reflect.Pointer:
			return textMapValue(true)
		}
	}
	panic(fmt.Sprintf("input: %v has no wire form", t))
}

func textValue(target reflect.Value, v any) []FieldError {
	s, ok := v.(string)
	if !ok {
		return wrongType(v, wantText)
	}
	target.SetString(s)
	return nil
}

func numberValue(target reflect.Value, v any) []FieldError {
	n, ok := v.(json.Number)
	if !ok {
		return wrongType(v, wantNumber)
	}
	whole, code := wholeNumber(string(n))
	if code != "" {
		return failed(FieldError{Code: code, Detail: wantNumber.Detail})
	}
	target.SetInt(whole)
	return nil
}

func boolValue(target reflect.Value, v any) []FieldError {
	b, ok := v.(bool)
	if !ok {
		return wrongType(v, wantBool)
	}
	target.SetBool(b)
	return nil
}

func timeValue(target reflect.Value, v any) []FieldError {
	s, ok := v.(string)
	if !ok {
		return wrongType(v, FieldError{Code: codeInvalidType, Detail: errTime.Detail})
	}
	t, ok := ParseTime(s)
	if !ok {
		return failed(errTime)
	}
	target.Set(reflect.ValueOf(t))
	return nil
}

// parsedValue decodes types that implement encoding.TextUnmarshaler. If their
// error is an [*api.FieldError], its code and detail are reported.
func parsedValue(target reflect.Value, v any) []FieldError {
	s, ok := v.(string)
	if !ok {
		return wrongType(v, wantText)
	}
	err := target.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(s))
	if invalid, ok := errors.AsType[*api.FieldError](err); ok {
		return failed(FieldError{Code: invalid.Code, Detail: invalid.Detail})
	}
	if err != nil {
		return failed(FieldError{Code: codeInvalidFormat, Detail: err.Error()})
	}
	return nil
}

func textsValue(target reflect.Value, v any) []FieldError {
	elements, ok := v.([]any)
	if !ok {
		return wrongType(v, wantTextList)
	}
	list := reflect.MakeSlice(target.Type(), len(elements), len(elements))
	for i, element := range elements {
		s, ok := element.(string)
		if !ok {
			return failed(wantTextList)
		}
		list.Index(i).SetString(s)
	}
	target.Set(list)
	return nil
}

func objectValue(target reflect.Value, v any) []FieldError {
	m, ok := v.(map[string]any)
	if !ok {
		return wrongType(v, wantObject)
	}
	target.Set(reflect.ValueOf(m).Convert(target.Type()))
	return nil
}

// textMapValue decodes an object of strings or, if nulls are allowed, of string
// pointers, where nil means null.
func textMapValue(nulls bool) valueFunc {
	return func(target reflect.Value, v any) []FieldError {
		m, ok := v.(map[string]any)
		if !ok {
			return wrongType(v, wantTextObject)
		}
		var errs []FieldError
		texts := reflect.MakeMapWithSize(target.Type(), len(m))
		for _, name := range slices.Sorted(maps.Keys(m)) {
			key := reflect.ValueOf(name)
			s, isText := m[name].(string)
			switch {
			case nulls && m[name] == nil:
				texts.SetMapIndex(key, reflect.Zero(target.Type().Elem()))
			case !isText:
				errs = append(errs, FieldError{Field: "/" + escape(name), Code: codeInvalidType, Detail: "must be a string"})
			case nulls:
				texts.SetMapIndex(key, reflect.ValueOf(&s))
			default:
				texts.SetMapIndex(key, reflect.ValueOf(s))
			}
		}
		target.Set(texts)
		return errs
	}
}

func pointerValue(t reflect.Type) valueFunc {
	read := valueOf(t.Elem())
	return func(target reflect.Value, v any) []FieldError {
		p := reflect.New(t.Elem())
		if errs := read(p.Elem(), v); len(errs) > 0 {
			return errs
		}
		target.Set(p)
		return nil
	}
}

// isChange reports whether t is a change of a nullable field: a struct with Set,
// Null and Value.
func isChange(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && t.NumField() == 3 &&
		t.Field(0).Name == "Set" && t.Field(1).Name == "Null" && t.Field(2).Name == "Value"
}

func changeValue(t reflect.Type) valueFunc {
	read := valueOf(t.Field(2).Type)
	return func(target reflect.Value, v any) []FieldError {
		if v == nil {
			target.Field(0).SetBool(true)
			target.Field(1).SetBool(true)
			return nil
		}
		errs := read(target.Field(2), v)
		target.Field(0).SetBool(len(errs) == 0)
		return errs
	}
}

func wrongType(v any, want FieldError) []FieldError {
	if v == nil {
		return failed(errNull)
	}
	return failed(want)
}

// setText decodes the values of a query parameter into a field.
func setText(target reflect.Value, given []string, most int) *FieldError {
	switch {
	case target.Type() == timeType:
		t, ok := ParseTime(given[0])
		if !ok {
			return &FieldError{Code: wantQueryTime.Code, Detail: wantQueryTime.Detail}
		}
		target.Set(reflect.ValueOf(t))
	case target.Kind() == reflect.String:
		target.SetString(given[0])
	case target.Kind() == reflect.Slice:
		target.Set(reflect.ValueOf(given))
	case target.Kind() == reflect.Bool:
		if given[0] != "true" && given[0] != "false" {
			return &FieldError{Code: wantQueryBool.Code, Detail: wantQueryBool.Detail}
		}
		target.SetBool(given[0] == "true")
	case target.CanInt():
		n, err := strconv.Atoi(given[0])
		if err != nil || n < 1 || most > 0 && n > most || given[0] != strconv.Itoa(n) {
			detail := "must be a whole number of at least 1"
			if most > 0 {
				detail = fmt.Sprintf("must be a whole number between 1 and %d", most)
			}
			return &FieldError{Code: codeOutOfRange, Detail: detail}
		}
		target.SetInt(int64(n))
	default:
		panic(fmt.Sprintf("input: %v has no form in a query", target.Type()))
	}
	return nil
}

// maxExact is the largest whole number that every JSON parser represents exactly
// (RFC 7493 section 2.2).
const maxExact = 1<<53 - 1

// wholeNumber parses a JSON number that is whole in any notation: 5, 5.0 and 5e0
// are equal.
func wholeNumber(number string) (n int64, code string) {
	f, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil || math.Abs(f) > maxExact:
		return 0, codeOutOfRange
	case f != math.Trunc(f):
		return 0, codeInvalidType
	}
	return int64(f), ""
}

// rfc3339 is the strict format of an instant. Package time also accepts hours of
// one digit, a comma before the fraction, and offsets of a day.
var rfc3339 = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`)

// ParseTime parses an instant strictly as RFC 3339.
func ParseTime(s string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || !rfc3339.MatchString(s) {
		return time.Time{}, false
	}
	return t.UTC(), true
}
