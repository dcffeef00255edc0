package input

import (
	"bytes"
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

// An optional is a field for which null is a value, such as an api.Change.
// Assign sets it to null, or to the value that it returns a pointer to.
type optional interface{ Assign(null bool) (value any) }

// decode decodes a JSON value into a field. The paths of the errors are relative
// to the field: empty, or "/" and a name. It panics on a type without a form on
// the wire.
func decode(v reflect.Value, raw json.RawMessage) (errs []api.FieldError) {
	null := string(raw) == "null"
	if o, ok := v.Addr().Interface().(optional); ok {
		value := o.Assign(null)
		if null {
			return nil
		}
		return decode(reflect.ValueOf(value).Elem(), raw)
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
		if !setTime(target, unquote(raw)) {
			return failed(api.FieldInvalidFormat, want)
		}
		return nil
	case *api.Duration:
		if raw[0] != '"' {
			return failed(api.FieldInvalidType, "must be a string")
		}
		if invalid, ok := errors.AsType[*api.FieldError](target.UnmarshalText([]byte(unquote(raw)))); ok {
			return failed(invalid.Code, invalid.Detail)
		}
		return nil
	case *[]string:
		var list []*string // null is no string
		if json.Unmarshal(raw, &list) != nil || slices.Contains(list, nil) {
			return failed(api.FieldInvalidType, "must be an array of strings")
		}
		*target = make([]string, len(list))
		for i, s := range list {
			(*target)[i] = *s
		}
		return nil
	case *map[string]string:
		return decodeTextMap(target, raw, false, func(s string) string { return s })
	case *map[string]*string:
		return decodeTextMap(target, raw, true, func(s string) *string { return &s })
	case *map[string]any:
		if raw[0] != '{' {
			return failed(api.FieldInvalidType, "must be an object")
		}
		*target = anyOf(raw).(map[string]any)
		return nil
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
			return failed(api.FieldInvalidType, "must be a string")
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
		o, _ := members(raw)
		return below("", Of(v.Type()).Body(v.Addr(), o))
	case reflect.Slice:
		if raw[0] != '[' {
			return failed(api.FieldInvalidType, "must be an array")
		}
		var all []json.RawMessage
		_ = json.Unmarshal(raw, &all) // it is well-formed
		v.Set(reflect.MakeSlice(v.Type(), len(all), len(all)))
		for i, raw := range all {
			errs = append(errs, below("/"+strconv.Itoa(i), decode(v.Index(i), raw))...)
		}
	case reflect.Map:
		if raw[0] != '{' {
			return failed(api.FieldInvalidType, "must be an object")
		}
		o, _ := members(raw)
		v.Set(reflect.MakeMap(v.Type()))
		for _, name := range slices.Sorted(maps.Keys(o)) {
			value := reflect.New(v.Type().Elem()).Elem()
			if value.Kind() != reflect.Pointer || string(o[name]) != "null" { // null is a nil pointer
				errs = append(errs, below("/"+Escape(name), decode(value, o[name]))...)
			}
			v.SetMapIndex(reflect.ValueOf(name), value)
		}
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

func failed(code, detail string) []api.FieldError {
	return []api.FieldError{{Code: code, Detail: detail}}
}

// rfc3339 is the strict format of an instant. Package time also accepts hours of
// one digit, a comma before the fraction, and offsets of a day.
var rfc3339 = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`)

// setTime sets t to the instant that s is in the strict format.
func setTime(t *time.Time, s string) (ok bool) {
	at, err := time.Parse(time.RFC3339, s)
	*t = at.UTC()
	return err == nil && rfc3339.MatchString(s)
}

// decodeTextMap decodes an object of strings. Value returns what the map holds for
// a string. If nulls are allowed, it holds the zero value for null.
func decodeTextMap[V any](target *map[string]V, raw json.RawMessage, nulls bool, value func(string) V) (errs []api.FieldError) {
	if raw[0] != '{' {
		return failed(api.FieldInvalidType, `must be an object of strings, such as {"order": "1042"}`)
	}
	o, _ := members(raw)
	texts := make(map[string]V, len(o))
	for _, name := range slices.Sorted(maps.Keys(o)) {
		switch raw := o[name]; {
		case raw[0] == '"':
			texts[name] = value(unquote(raw))
		case nulls && raw[0] == 'n':
			texts[name] = *new(V)
		default:
			errs = append(errs, api.FieldError{Field: "/" + Escape(name), Code: api.FieldInvalidType, Detail: "must be a string"})
		}
	}
	*target = texts
	return errs
}

// maxExact is the largest whole number that every JSON parser represents exactly
// (RFC 7493 section 2.2).
const maxExact = 1<<53 - 1

// wholeNumber decodes a number that is whole in any notation: 5, 5.0 and 5e0
// are equal.
func wholeNumber(raw json.RawMessage) (n int64, code string) {
	if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, api.FieldInvalidType
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

// unquote returns the text of a JSON string.
func unquote(quoted []byte) (s string) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	_ = json.Unmarshal(quoted, &s) // it is well-formed
	return s
}
