package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// An optional is a field for which null is a value, such as an api.Change.
// Assign sets it to null, or to the value that it returns a pointer to.
type optional interface{ Assign(null bool) (value any) }

// decode decodes a JSON value into a field, unless it exceeds a limit. The paths of the
// errors are relative to the field: empty, or "/" and a name. It stops after MaxErrors.
// It panics on a type without a form on the wire.
func decode(v reflect.Value, raw json.RawMessage, l limits) (errs []api.FieldError) {
	null := string(raw) == "null"
	if o, ok := v.Addr().Interface().(optional); ok {
		value := o.Assign(null)
		if null {
			return nil
		}
		return decode(reflect.ValueOf(value).Elem(), raw, l)
	}
	if null {
		return failed(api.FieldRequired, "cannot be null")
	}
	switch target := v.Addr().Interface().(type) {
	case *time.Time:
		const want = `must be an RFC 3339 time such as "2030-01-31T00:00:00Z"`
		if raw[0] != '"' {
			return failed(api.FieldInvalidType, want)
		}
		if len(raw) > maxText || !setTime(target, textOf(raw)) {
			return failed(api.FieldInvalidFormat, want)
		}
		return nil
	case *api.Duration:
		if raw[0] != '"' {
			return failed(api.FieldInvalidType, "must be a string")
		}
		if errs := checkLength(raw, 0); errs != nil {
			return errs
		}
		if invalid, ok := errors.AsType[*api.FieldError](target.UnmarshalText([]byte(unquote(raw)))); ok {
			return failed(invalid.Code, invalid.Detail)
		}
		return nil
	case *[]string:
		if raw[0] != '[' {
			return failed(api.FieldInvalidType, "must be an array of strings")
		}
		if l.most > 0 && count(raw, l.most+1) > l.most {
			return tooManyElements(l.most)
		}
		list := []string{}
		for _, value := range each(raw) {
			if value[0] != '"' {
				return failed(api.FieldInvalidType, "must be an array of strings")
			}
			if wrong := checkLength(value, l.each); wrong != nil {
				errs = append(errs, below("/"+strconv.Itoa(len(list)), wrong)...)
				value = json.RawMessage(`""`)
			}
			if len(errs) >= MaxErrors {
				break
			}
			list = append(list, unquote(value))
		}
		*target = list
		return errs
	case *map[string]string:
		return decodeTextMap(target, raw, l, false, func(s string) string { return s })
	case *map[string]*string:
		return decodeTextMap(target, raw, l, true, func(s string) *string { return &s })
	case *map[string]any:
		switch {
		case raw[0] != '{':
			return failed(api.FieldInvalidType, "must be an object")
		case l.most > 0 && count(raw, l.most+1) > l.most:
			return tooManyEntries(l.most)
		}
		*target = anyOf(raw).(map[string]any)
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		value := reflect.New(v.Type().Elem())
		if errs := decode(value.Elem(), raw, l); len(errs) > 0 {
			return errs
		}
		v.Set(value)
	case reflect.String:
		if raw[0] != '"' {
			return failed(api.FieldInvalidType, "must be a string")
		}
		if errs := checkLength(raw, l.most); errs != nil {
			return errs
		}
		v.SetString(unquote(raw))
	case reflect.Bool:
		if raw[0] != 't' && raw[0] != 'f' {
			return failed(api.FieldInvalidType, "must be true or false")
		}
		v.SetBool(raw[0] == 't')
	case reflect.Int64, reflect.Int:
		n, code := wholeNumber(raw)
		switch code {
		case api.FieldOutOfRange:
			return failed(code, fmt.Sprintf("must be between -%d and %[1]d", maxExact))
		case api.FieldInvalidType:
			return failed(code, "must be a whole number")
		}
		v.SetInt(n)
	case reflect.Struct:
		if raw[0] != '{' {
			return failed(api.FieldInvalidType, "must be an object")
		}
		return below("", Of(v.Type()).Body(v.Addr(), Object(raw)))
	case reflect.Slice:
		if raw[0] != '[' {
			return failed(api.FieldInvalidType, "must be an array")
		}
		if l.most > 0 && count(raw, l.most+1) > l.most {
			return tooManyElements(l.most)
		}
		v.Set(reflect.MakeSlice(v.Type(), 0, count(raw, l.most+1)))
		for _, value := range each(raw) {
			n := v.Len()
			v.Grow(1)
			v.SetLen(n + 1)
			if wrong := decode(v.Index(n), value, limits{}); wrong != nil {
				errs = append(errs, below("/"+strconv.Itoa(n), wrong)...)
			}
			if len(errs) >= MaxErrors {
				break
			}
		}
	case reflect.Map:
		if raw[0] != '{' {
			return failed(api.FieldInvalidType, "must be an object")
		}
		if l.most > 0 && count(raw, l.most+1) > l.most {
			return tooManyEntries(l.most)
		}
		v.Set(reflect.MakeMap(v.Type()))
		for quoted, raw := range each(raw) {
			name := unquote(quoted)
			value := reflect.New(v.Type().Elem()).Elem()
			if value.Kind() != reflect.Pointer || string(raw) != "null" { // null is a nil pointer
				if wrong := decode(value, raw, limits{}); wrong != nil {
					errs = append(errs, below("/"+Escape(shorten([]byte(name))), wrong)...)
				}
			}
			if len(errs) >= MaxErrors {
				break
			}
			v.SetMapIndex(reflect.ValueOf(name), value)
		}
		sortByField(errs)
	default:
		panic(fmt.Sprintf("input: %v has no form on the wire", v.Type()))
	}
	return errs
}

// below returns errors whose paths are relative to a value with the path of that before
// them.
func below(path string, errs []api.FieldError) []api.FieldError {
	for i, e := range errs {
		if e.Field != "" && e.Field[0] != '/' {
			e.Field = "/" + e.Field
		}
		errs[i].Field = path + e.Field
	}
	return errs
}

// tooManyElements is the error of an array that has more than most elements.
func tooManyElements(most int) []api.FieldError {
	return failed(api.FieldOutOfRange, fmt.Sprintf("must have at most %d members", most))
}

// tooManyEntries is the error of an object that has more than most entries.
func tooManyEntries(most int) []api.FieldError {
	return failed(api.FieldTooMany, fmt.Sprintf("must have at most %d entries", most))
}

// sortByField sorts errors of the members of a map, whose order in the text means nothing.
func sortByField(errs []api.FieldError) {
	slices.SortStableFunc(errs, func(a, b api.FieldError) int { return strings.Compare(a.Field, b.Field) })
}

func failed(code, detail string) []api.FieldError {
	return []api.FieldError{{Code: code, Detail: detail}}
}

// rfc3339 is the strict format of an instant. Package time also accepts hours of
// one digit, a comma before the fraction, and offsets of a day.
var rfc3339 = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`)

// setTime sets t to the instant that text is in the strict format.
func setTime(t *time.Time, text []byte) (ok bool) {
	if len(text) > maxTime || !rfc3339.Match(text) {
		return false
	}
	at, err := time.Parse(time.RFC3339, string(text))
	*t = at.UTC()
	return err == nil
}

// maxTime is the maximum length of an instant, which may have 30 digits of a fraction.
const maxTime = 64

// decodeTextMap decodes an object of strings. Value returns what the map holds for a string. If nulls are allowed, it holds the zero value for null.
func decodeTextMap[V any](target *map[string]V, raw json.RawMessage, l limits, nulls bool, value func(string) V) (errs []api.FieldError) {
	if raw[0] != '{' {
		return failed(api.FieldInvalidType, `must be an object of strings, such as {"order": "1042"}`)
	}
	if l.most > 0 && count(raw, l.most+1) > l.most {
		return tooManyEntries(l.most)
	}
	texts := map[string]V{}
	var name []byte
	for quoted, raw := range each(raw) {
		var wrong []api.FieldError
		switch {
		case raw[0] == '"':
			if wrong = checkLength(raw, l.each); wrong == nil {
				texts[unquote(quoted)] = value(unquote(raw))
			}
		case nulls && raw[0] == 'n':
			texts[unquote(quoted)] = *new(V)
		default:
			wrong = failed(api.FieldInvalidType, "must be a string")
		}
		if wrong != nil {
			name = appendText(name[:0], quoted)
			errs = append(errs, below("/"+Escape(shorten(name)), wrong)...)
		}
		if len(errs) >= MaxErrors {
			break
		}
	}
	sortByField(errs)
	*target = texts
	return errs
}

// maxExact is the largest whole number that every JSON parser represents exactly
// (RFC 7493 section 2.2).
const maxExact = 1<<53 - 1

// maxNumber is the maximum length of a number.
const maxNumber = 400

// wholeNumber decodes a number that is whole in any notation: 5, 5.0 and 5e0
// are equal.
func wholeNumber(raw json.RawMessage) (n int64, code string) {
	if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, api.FieldInvalidType
	}
	if len(raw) > maxNumber {
		return 0, api.FieldOutOfRange
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	switch {
	case err != nil || math.Abs(f) > maxExact:
		return 0, api.FieldOutOfRange
	case f != math.Trunc(f):
		return 0, api.FieldInvalidType
	}
	return int64(f), ""
}

// anyOf decodes a JSON value as encoding/json does, with exact numbers.
func anyOf(raw []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	_ = d.Decode(&v) // it is well-formed
	return v
}
