package call

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/input"
)

// The limits of entitlements and metadata.
const (
	maxEntitlements      = 100
	MaxMetadata          = 50
	maxNameLength        = 64
	maxEntitlementLength = 255
	maxMetadataLength    = 500
)

// CheckEntitlements returns the entitlements in stored form: each value is
// true, a float64 or a string.
func CheckEntitlements(in map[string]any) (out map[string]any, broken []api.FieldError) {
	if len(in) > maxEntitlements {
		return nil, []api.FieldError{{Field: "entitlements", Code: api.FieldTooMany, Detail: fmt.Sprintf("must have at most %d entries", maxEntitlements)}}
	}
	out = make(map[string]any, len(in))
	for _, name := range Names(in) {
		if wrong := checkName("entitlements", name); wrong != nil {
			broken = append(broken, *wrong)
			continue
		}
		field := Pointer("entitlements", name)
		switch v := in[name].(type) {
		case bool:
			if !v {
				broken = append(broken, api.FieldError{Field: field, Code: api.FieldUnknown, Detail: "must be true, a number or a string; omit entitlements that are not granted"})
				continue
			}
			out[name] = true
		case string:
			if wrong := CheckValue(field, v, 1, maxEntitlementLength); wrong != nil {
				broken = append(broken, *wrong)
				continue
			}
			out[name] = v
		case nil, []any, map[string]any:
			broken = append(broken, api.FieldError{Field: field, Code: api.FieldInvalidType, Detail: "must be true, a number or a string"})
		default:
			n, ok := number(v)
			if !ok {
				broken = append(broken, api.FieldError{Field: field, Code: api.FieldOutOfRange, Detail: "must be true, a string, or a number that a float64 can hold"})
				continue
			}
			out[name] = n
		}
	}
	return out, broken
}

// CheckMetadata returns a copy of the metadata.
func CheckMetadata(in map[string]string) (out map[string]string, broken []api.FieldError) {
	if len(in) > MaxMetadata {
		return nil, []api.FieldError{{Field: "metadata", Code: api.FieldTooMany, Detail: fmt.Sprintf("must have at most %d entries", MaxMetadata)}}
	}
	out = make(map[string]string, len(in))
	for _, name := range Names(in) {
		if len(broken) == input.MaxErrors { // a caller without a token must not make the service describe all
			break
		}
		wrong := checkName("metadata", name)
		if wrong == nil {
			wrong = CheckValue(Pointer("metadata", name), in[name], 0, maxMetadataLength)
		}
		if wrong != nil {
			broken = append(broken, *wrong)
			continue
		}
		out[name] = in[name]
	}
	return out, broken
}

// checkName checks the name of an entry. The error refers to the whole map,
// because the invalid name must not be repeated in it.
func checkName(field, name string) *api.FieldError {
	if wrong := CheckValue(field, name, 1, maxNameLength); wrong != nil {
		wrong.Detail = "each name " + wrong.Detail
		return wrong
	}
	return nil
}

func CheckValue(field, value string, least, most int) *api.FieldError {
	switch {
	case len(value) < least:
		return &api.FieldError{Field: field, Code: api.FieldRequired, Detail: "must not be empty"}
	case !valid.IsText(value):
		return &api.FieldError{Field: field, Code: api.FieldInvalidCharacters, Detail: "must be valid UTF-8 without control characters"}
	case !valid.IsTrimmed(value):
		return &api.FieldError{Field: field, Code: api.FieldInvalidFormat, Detail: "must not begin or end with white space"}
	case utf8.RuneCountInString(value) > most:
		return &api.FieldError{Field: field, Code: api.FieldTooLong, Detail: fmt.Sprintf("must be at most %d characters", most)}
	}
	return nil
}

// number returns v as a float64 if it is finite and, if integral, exactly
// representable.
func number(v any) (float64, bool) {
	const exact = 1<<53 - 1 // as in I-JSON (RFC 7493)
	if n, ok := v.(json.Number); ok {
		f, err := n.Float64()
		whole := !strings.ContainsAny(string(n), ".eE")
		return f, err == nil && !(whole && math.Abs(f) > exact)
	}
	r := reflect.ValueOf(v)
	switch {
	case r.CanFloat():
		f := r.Float()
		return f, !math.IsNaN(f) && !math.IsInf(f, 0)
	case r.CanInt():
		i := r.Int()
		return float64(i), i <= exact && i >= -exact
	case r.CanUint():
		u := r.Uint()
		return float64(u), u <= exact
	}
	return 0, false
}

// Names returns the keys of m sorted, so that errors are reported in order.
func Names[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for name := range m {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Pointer returns the path of one entry, as in a JSON pointer (RFC 6901).
func Pointer(field, name string) string { return field + "/" + input.Escape(name) }
