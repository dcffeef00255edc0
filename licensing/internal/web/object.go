package web

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// codeInvalidType is the code of a member of the wrong JSON type. The rules,
// whose parameters have Go types, have no need of it.
const codeInvalidType = "invalid_type"

// An Object is the JSON object of a body. Handlers take its members one by
// one; what does not have the form that was asked for is kept as a fault, and
// [Object.Faults] returns all of them at once.
type Object struct {
	members map[string]any
	taken   []string
	faults  []license.FieldError
}

// Text takes a string; nil: the member is not there.
func (o *Object) Text(name string) *string {
	return notNull(take(o, name, "must be a string", asText), o, name)
}

// Filled takes a string that says something; "": the member is not there. It
// is for what a request may leave out: were it empty because a variable was, a
// question would get the answer to a wider one.
func (o *Object) Filled(name string) string {
	text := o.Text(name)
	if text == nil {
		return ""
	}
	if *text == "" {
		o.fault(name, license.CodeRequired, "is empty; give it a value or leave it out")
	}
	return *text
}

// Int takes a whole number; nil: the member is not there.
func (o *Object) Int(name string) *int64 {
	return notNull(o.OptionalInt(name), o, name)
}

// OptionalInt takes a whole number or null.
func (o *Object) OptionalInt(name string) license.Change[int64] {
	return take(o, name, "must be a whole number", func(v any) (int64, string) {
		n, ok := v.(json.Number)
		if !ok {
			return 0, codeInvalidType
		}
		return wholeNumber(string(n))
	})
}

// OptionalTime takes an instant in the form of RFC 3339, or null.
func (o *Object) OptionalTime(name string) license.Change[time.Time] {
	const want = `must be a time in the form of RFC 3339, such as "2030-01-31T00:00:00Z"`
	return take(o, name, want, func(v any) (time.Time, string) {
		s, ok := v.(string)
		if !ok {
			return time.Time{}, codeInvalidType
		}
		t, ok := ParseTime(s)
		if !ok {
			return time.Time{}, license.CodeInvalidFormat
		}
		return t, ""
	})
}

// OptionalMap takes an object with whatever members, or null. A number in it
// is a json.Number.
func (o *Object) OptionalMap(name string) license.Change[map[string]any] {
	return take(o, name, "must be an object", func(v any) (map[string]any, string) {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, codeInvalidType
		}
		return m, ""
	})
}

// OptionalTexts takes an object of strings and nulls, or null.
func (o *Object) OptionalTexts(name string) license.Change[map[string]*string] {
	return take(o, name, "must be an object of strings", func(v any) (map[string]*string, string) {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, codeInvalidType
		}
		texts := make(map[string]*string, len(m))
		for _, key := range sortedKeys(m) {
			texts[key] = nil
			if m[key] == nil {
				continue
			}
			s, code := asText(m[key])
			if code != "" {
				o.fault(name+"/"+escapeToken(key), code, "must be a string")
			}
			texts[key] = &s
		}
		return texts, ""
	})
}

// Texts takes an object of strings, or null, which is an empty one.
func (o *Object) Texts(name string) map[string]string {
	patch := o.OptionalTexts(name)
	texts := make(map[string]string, len(patch.Value))
	for key, text := range patch.Value {
		if text == nil {
			o.fault(name+"/"+escapeToken(key), codeInvalidType, "must be a string")
			continue
		}
		texts[key] = *text
	}
	return texts
}

// List takes an array of strings; nil: the member is not there.
func (o *Object) List(name string) []string {
	list := notNull(take(o, name, "must be an array of strings", func(v any) ([]string, string) {
		elements, ok := v.([]any)
		if !ok {
			return nil, codeInvalidType
		}
		texts := make([]string, len(elements))
		for i, element := range elements {
			if texts[i], ok = element.(string); !ok {
				return nil, codeInvalidType
			}
		}
		return texts, ""
	}), o, name)
	if list == nil {
		return nil
	}
	return *list
}

// Bool takes true or false; false: the member is not there.
func (o *Object) Bool(name string) bool {
	b := notNull(take(o, name, "must be true or false", func(v any) (bool, string) {
		b, ok := v.(bool)
		if !ok {
			return false, codeInvalidType
		}
		return b, ""
	}), o, name)
	return b != nil && *b
}

// Duration takes a duration in the form of ISO 8601 that is not zero; zero:
// the member is not there.
func (o *Object) Duration(name string) license.Duration {
	const want = `must be a duration in the form of ISO 8601, and not zero, such as "P1Y", "P6M" or "P30D"`
	d := notNull(take(o, name, want, func(v any) (license.Duration, string) {
		s, ok := v.(string)
		if !ok {
			return license.Duration{}, codeInvalidType
		}
		d, err := license.ParseDuration(s)
		switch {
		case err != nil:
			return license.Duration{}, license.CodeInvalidFormat
		case d.IsZero():
			return license.Duration{}, license.CodeOutOfRange
		}
		return d, ""
	}), o, name)
	if d == nil {
		return license.Duration{}
	}
	return *d
}

// Require makes a fault of each member that is not there.
func (o *Object) Require(names ...string) {
	for _, name := range names {
		if !o.Has(name) {
			o.fault(name, license.CodeRequired, "is required")
		}
	}
}

// Refuse takes members that exist but are not the caller's to give, and makes
// a fault of each that is there.
func (o *Object) Refuse(detail string, names ...string) {
	for _, name := range names {
		o.taken = append(o.taken, name)
		if _, there := o.members[name]; there {
			o.fault(name, license.CodeImmutable, detail)
		}
	}
}

// Has reports whether the member is there.
func (o *Object) Has(name string) bool {
	_, there := o.members[name]
	return there
}

// Faults returns what was wrong with the members taken so far, and with those
// that nobody took: their names are unknown. Names are compared exactly.
func (o *Object) Faults() []license.FieldError {
	faults := slices.Clone(o.faults)
	for _, name := range sortedKeys(o.members) {
		if !slices.Contains(o.taken, name) {
			faults = append(faults, license.FieldError{
				Field: escapeToken(name), Code: license.CodeUnknown, Detail: "is not a member of this object; leave it out",
			})
		}
	}
	return faults
}

// canonical returns the object with its members in order: the same for bodies
// that differ in order and white space only.
func (o *Object) canonical() ([]byte, error) { return json.Marshal(o.members) }

func (o *Object) fault(field, code, detail string) {
	o.faults = append(o.faults, license.FieldError{Field: field, Code: code, Detail: detail})
}

// take reads one member; read returns the code of the fault, if it is one.
func take[T any](o *Object, name, want string, read func(any) (T, string)) license.Change[T] {
	o.taken = append(o.taken, name)
	v, there := o.members[name]
	if !there {
		return license.Change[T]{}
	}
	if v == nil {
		return license.ToNull[T]()
	}
	value, code := read(v)
	if code != "" {
		o.fault(name, code, want)
		return license.Change[T]{}
	}
	return license.To(value)
}

// notNull makes a fault of null.
func notNull[T any](c license.Change[T], o *Object, name string) *T {
	switch {
	case !c.Set:
		return nil
	case c.Null:
		o.fault(name, license.CodeRequired, "cannot be null")
		return nil
	}
	return &c.Value
}

func asText(v any) (string, string) {
	s, ok := v.(string)
	if !ok {
		return "", codeInvalidType
	}
	return s, ""
}

// maxExact is the largest whole number that every JSON reader keeps exactly
// (RFC 7493 section 2.2).
const maxExact = 1<<53 - 1

// wholeNumber reads a JSON number that stands for a whole one, however it is
// written: 5, 5.0 and 5e0 are the same.
func wholeNumber(number string) (n int64, code string) {
	f, err := strconv.ParseFloat(number, 64)
	switch {
	case err != nil || math.Abs(f) > maxExact:
		return 0, license.CodeOutOfRange
	case f != math.Trunc(f):
		return 0, codeInvalidType
	}
	return int64(f), ""
}

// rfc3339 is the form of an instant. Package time reads looser ones as well:
// hours of one digit, a comma before the fraction, offsets of a day.
var rfc3339 = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`)

// ParseTime reads an instant in the form of RFC 3339, and nothing looser.
func ParseTime(s string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil || !rfc3339.MatchString(s) {
		return time.Time{}, false
	}
	return t.UTC(), true
}

func sortedKeys(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
