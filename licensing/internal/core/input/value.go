package input

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// An optional is a field for which null is a value, such as an api.Change.
// Assign sets it to null, or to the value that it returns a pointer to.
type optional interface{ Assign(null bool) (value any) }

// decode decodes a JSON value into a field. The paths of the errors are relative
// to the field: empty, or "/" and a name. It panics on a type without a form on
// the wire.
func decode(v reflect.Value, raw json.RawMessage) []FieldError {
	null := string(raw) == "null"
	if o, ok := v.Addr().Interface().(optional); ok {
		value := o.Assign(null)
		if null {
			return nil
		}
		return decode(reflect.ValueOf(value).Elem(), raw)
	}
	if null {
		return failed(codeRequired, "cannot be null")
	}
	switch target := v.Addr().Interface().(type) {
	case *time.Time:
		return decodeTime(target, raw)
	case encoding.TextUnmarshaler:
		return decodeText(target, raw)
	}
	switch v.Kind() {
	case reflect.Pointer:
		value := reflect.New(v.Type().Elem())
		if errs := decode(value.Elem(), raw); len(errs) > 0 {
			return errs
		}
		v.Set(value)
	case reflect.String:
		if raw[0] != '"' {
			return failed(codeInvalidType, "must be a string")
		}
		v.SetString(unquote(raw))
	case reflect.Bool:
		if raw[0] != 't' && raw[0] != 'f' {
			return failed(codeInvalidType, "must be true or false")
		}
		v.SetBool(raw[0] == 't')
	case reflect.Int64, reflect.Int:
		n, code := wholeNumber(raw)
		if code != "" {
			return failed(code, "must be a whole number")
		}
		v.SetInt(n)
	case reflect.Slice:
		return decodeTexts(v, raw)
	case reflect.Map:
		return decodeMap(v, raw)
	default:
		panic(fmt.Sprintf("input: %v has no form on the wire", v.Type()))
	}
	return nil
}

func failed(code, detail string) []FieldError { return []FieldError{{Code: code, Detail: detail}} }

// decodeTime decodes an instant, which must be strictly as in RFC 3339.
func decodeTime(target *time.Time, raw json.RawMessage) []FieldError {
	const want = `must be an RFC 3339 time such as "2030-01-31T00:00:00Z"`
	if raw[0] != '"' {
		return failed(codeInvalidType, want)
	}
	t, ok := ParseTime(unquote(raw))
	if !ok {
		return failed(codeInvalidFormat, want)
	}
	*target = t
	return nil
}

// decodeText decodes a type that parses its own text. If its error is an
// [*api.FieldError], the code and detail of that are reported.
func decodeText(target encoding.TextUnmarshaler, raw json.RawMessage) []FieldError {
	if raw[0] != '"' {
		return failed(codeInvalidType, "must be a string")
	}
	err := target.UnmarshalText([]byte(unquote(raw)))
	if invalid, ok := errors.AsType[*api.FieldError](err); ok {
		return failed(invalid.Code, invalid.Detail)
	}
	if err != nil {
		return failed(codeInvalidFormat, err.Error())
	}
	return nil
}

// decodeTexts decodes a list of strings.
func decodeTexts(v reflect.Value, raw json.RawMessage) []FieldError {
	elements, ok := anyOf(raw).([]any)
	list := reflect.MakeSlice(v.Type(), len(elements), len(elements))
	for i, element := range elements {
		var s string
		if s, ok = element.(string); !ok {
			break
		}
		list.Index(i).SetString(s)
	}
	if !ok {
		return failed(codeInvalidType, "must be an array of strings")
	}
	v.Set(list)
	return nil
}

// decodeMap decodes an object of any values, of strings, or of string pointers,
// where nil means null.
func decodeMap(v reflect.Value, raw json.RawMessage) (errs []FieldError) {
	object, ok := anyOf(raw).(map[string]any)
	texts := v.Type().Elem().Kind() != reflect.Interface
	switch {
	case !ok && texts:
		return failed(codeInvalidType, "must be an object of strings")
	case !ok:
		return failed(codeInvalidType, "must be an object")
	case !texts:
		v.Set(reflect.ValueOf(object))
		return nil
	}
	v.Set(reflect.MakeMapWithSize(v.Type(), len(object)))
	nulls := v.Type().Elem().Kind() == reflect.Pointer
	for _, name := range slices.Sorted(maps.Keys(object)) {
		value := reflect.Zero(v.Type().Elem())
		switch s, ok := object[name].(string); {
		case ok && nulls:
			value = reflect.ValueOf(&s)
		case ok:
			value = reflect.ValueOf(s)
		case object[name] != nil || !nulls:
			errs = append(errs, FieldError{Field: "/" + escape(name), Code: codeInvalidType, Detail: "must be a string"})
			continue
		}
		v.SetMapIndex(reflect.ValueOf(name), value)
	}
	return errs
}

// maxExact is the largest whole number that every JSON parser represents exactly
// (RFC 7493 section 2.2).
const maxExact = 1<<53 - 1

// wholeNumber decodes a number that is whole in any notation: 5, 5.0 and 5e0
// are equal.
func wholeNumber(raw json.RawMessage) (n int64, code string) {
	if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, codeInvalidType
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case err != nil || math.Abs(f) > maxExact:
		return 0, codeOutOfRange
	case f != math.Trunc(f):
		return 0, codeInvalidType
	}
	return int64(f), ""
}
