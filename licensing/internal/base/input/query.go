package input

import (
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// Query decodes query parameters into the struct that v points to. Each must
// have a value and appear once, unless its field is a list or a flag: a mistyped
// filter, or one left empty by an unset variable, must not select everything.
// A flag is true if it is present, unless it is false. If reads is false,
// parameters that are members too stand in the body.
func (s *Struct) Query(v reflect.Value, values url.Values, reads bool) (errs []api.FieldError) {
	if len(values) == 0 {
		return nil
	}
	var known []string
	for i := range s.Fields {
		f := &s.Fields[i]
		if f.Param == "" || !reads && f.Name != "" {
			continue
		}
		known = append(known, f.Param)
		if given, present := values[f.Param]; present {
			if code, detail := f.setQuery(f.In(v), given); code != "" {
				errs = append(errs, api.FieldError{Field: f.Param, Code: code, Detail: detail})
			}
		}
	}
	parameters := "it has none"
	if len(known) > 0 {
		parameters = "the parameters are " + strings.Join(known, ", ")
	}
	names := slices.AppendSeq(make([]string, 0, len(values)), maps.Keys(values))
	slices.Sort(names)
	for _, name := range names {
		if len(errs) < MaxErrors && !slices.Contains(known, name) {
			errs = append(errs, api.FieldError{Field: shorten([]byte(name)), Code: api.FieldUnknown, Detail: "is not a parameter of this request; " + parameters})
		}
	}
	return errs
}

// setQuery decodes the values of a query parameter into its field. An int is the
// size of a page.
func (f *Field) setQuery(v reflect.Value, given []string) (code, detail string) {
	switch {
	case f.Is("flag"):
		if !f.Is("any") && (len(given) > 1 || !slices.Contains([]string{"", "true", "false"}, given[0])) {
			return api.FieldInvalidFormat, "must be true or false, or have no value"
		}
		v.SetBool(!slices.Equal(given, []string{"false"}))
		return "", ""
	case slices.ContainsFunc(given, isNotStorable):
		return api.FieldInvalidFormat, "must be valid UTF-8 without NUL characters"
	case v.Kind() != reflect.Slice && len(given) > 1:
		return api.FieldRepeated, "must appear only once"
	case slices.Contains(given, ""):
		return api.FieldRequired, "must not be empty; set a value or omit it"
	}
	switch target := v.Addr().Interface().(type) {
	case *time.Time:
		if !setTime(target, []byte(given[0])) {
			return api.FieldInvalidFormat, "must be an RFC 3339 time such as 2030-01-31T00:00:00Z; encode + as %2B"
		}
	case *[]string:
		*target = given
	case *bool:
		if *target = given[0] == "true"; !*target && given[0] != "false" {
			return api.FieldInvalidFormat, "must be true or false"
		}
	case *int:
		n, err := strconv.Atoi(given[0])
		if err != nil || n < 1 || n > valid.MaxLimit || given[0] != strconv.Itoa(n) {
			return api.FieldOutOfRange, fmt.Sprintf("must be a whole number between 1 and %d", valid.MaxLimit)
		}
		*target = n
	default:
		v.SetString(given[0])
	}
	return "", ""
}

// Storable reports whether every store can hold all names and values: they must
// be valid UTF-8 without NUL.
func Storable(values url.Values) bool {
	for name, list := range values {
		if isNotStorable(name) || slices.ContainsFunc(list, isNotStorable) {
			return false
		}
	}
	return true
}

func isNotStorable(s string) bool { return !utf8.ValidString(s) || strings.Contains(s, "\x00") }
