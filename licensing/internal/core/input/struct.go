package input

import (
	"encoding/json"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/seed-d8a106b4/licensekit/auth"
)

// The codes of field errors. They are part of the API.
const (
	codeRequired          = "required"
	codeTooLong           = "too_long"
	codeInvalidType       = "invalid_type"
	codeInvalidFormat     = "invalid_format"
	codeInvalidCharacters = "invalid_characters"
	codeOutOfRange        = "out_of_range"
	codeUnknown           = "unknown"
	codeImmutable         = "immutable"
	codeRepeated          = "repeated"
)

// A FieldError says what is wrong with one member or parameter.
type FieldError = auth.FieldError

// ErrNotObject is the error of a JSON value that is not an object.
var ErrNotObject = &auth.InvalidError{Fields: []FieldError{{Code: codeInvalidType, Detail: "must be a JSON object"}}}

// A Struct is the wire format of a parameter struct. It is safe for concurrent
// use.
type Struct struct {
	Fields []Field
	byName map[string]int
}

// A Field is one field of a parameter struct.
type Field struct {
	Name   string // on the wire; empty: not on the wire
	Query  bool   // only in the query, whatever the method
	Body   bool   // only in the body, whatever the method
	GoName string
	Type   reflect.Type

	index                      []int
	required, filled, nullable bool
	flag                       bool      // of a query
	max                        int       // of a number in a query; 0: no limit
	value                      valueFunc // of a JSON value
}

// maxTag matches the maximum of a number in a validate tag.
var maxTag = regexp.MustCompile(`\bmax=([0-9]+)`)

var structs sync.Map // of *Struct by reflect.Type

// Of returns the wire format of a struct type. It panics on a field whose type
// has none, which is a programming error.
func Of(t reflect.Type) *Struct {
	if s, ok := structs.Load(t); ok {
		return s.(*Struct)
	}
	s := &Struct{byName: map[string]int{}}
	for _, f := range reflect.VisibleFields(t) {
		if !f.IsExported() || f.Anonymous {
			continue
		}
		field := Field{GoName: f.Name, Type: f.Type, index: f.Index}
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" {
			field.Name = name
		}
		if name := f.Tag.Get("query"); name != "" {
			field.Name, field.Query = name, true
		}
		if field.Name != "" {
			options := strings.Split(f.Tag.Get("wire"), ",")
			if slices.Contains(options, "-") {
				continue
			}
			field.Body = slices.Contains(options, "body")
			field.required = slices.Contains(options, "required")
			field.filled = slices.Contains(options, "filled")
			field.flag = slices.Contains(options, "flag")
			field.nullable = slices.Contains(options, "nullable")
			if m := maxTag.FindStringSubmatch(f.Tag.Get("validate")); m != nil {
				field.max, _ = strconv.Atoi(m[1])
			}
			field.value = valueOf(f.Type)
			if !field.Query {
				s.byName[field.Name] = len(s.Fields)
			}
		}
		s.Fields = append(s.Fields, field)
	}
	actual, _ := structs.LoadOrStore(t, s)
	return actual.(*Struct)
}

// In returns the field of the struct that v points to.
func (f *Field) In(v reflect.Value) reflect.Value { return v.Elem().FieldByIndex(f.index) }

// HasMembers reports whether the struct has members.
func (s *Struct) HasMembers() bool { return len(s.byName) > 0 }

// HasMember reports whether the struct has a member of that name.
func (s *Struct) HasMember(name string) bool {
	_, ok := s.byName[name]
	return ok
}

// Body decodes the members of o into the struct that v points to. An unknown
// member is an error, with the given detail if immutable lists its name. Names
// are case-sensitive.
func (s *Struct) Body(v reflect.Value, o Object, immutable map[string]bool, detail string) []FieldError {
	var all []FieldError
	known := 0
	for i := range s.Fields {
		f := &s.Fields[i]
		if f.Name == "" || f.Query {
			continue
		}
		member, present := o[f.Name]
		if present {
			known++
		}
		switch {
		case !present:
			if f.required {
				all = append(all, FieldError{Field: f.Name, Code: codeRequired, Detail: "is required"})
			}
		case member == nil && f.nullable && !isChange(f.Type):
		default:
			all = append(all, f.set(f.In(v), member)...)
		}
	}
	if known == len(o) {
		return all
	}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if _, known := s.byName[name]; known {
			continue
		}
		e := FieldError{Field: escape(shorten(name)), Code: codeUnknown, Detail: "is not a member of this object; omit it"}
		if immutable[name] {
			e.Code, e.Detail = codeImmutable, detail
		}
		all = append(all, e)
	}
	return all
}

func (f *Field) set(target reflect.Value, member any) []FieldError {
	if text, ok := member.(string); ok && text == "" && f.filled {
		return []FieldError{{Field: f.Name, Code: codeRequired, Detail: "must not be empty; set a value or omit it"}}
	}
	errs := f.value(target, member)
	for i := range errs {
		errs[i].Field = f.Name + errs[i].Field
	}
	return errs
}

// Query decodes query parameters into the struct that v points to. Each must
// have a value and appear once, unless its field is a list or a flag: a mistyped
// filter, or one left empty by an unset variable, must not select everything.
// A flag is true if it is present, with any value. With all,
// every field on the wire is a parameter; otherwise only those tagged query.
func (s *Struct) Query(v reflect.Value, values url.Values, all bool) []FieldError {
	var known []string
	var errs []FieldError
	seen := 0
	for i := range s.Fields {
		f := &s.Fields[i]
		if f.Name == "" || f.Body || !all && !f.Query {
			continue
		}
		known = append(known, f.Name)
		given, present := values[f.Name]
		if !present {
			continue
		}
		seen++
		switch {
		case f.flag:
			f.In(v).SetBool(true)
		case !Storable(url.Values{f.Name: given}):
			errs = append(errs, FieldError{Field: f.Name, Code: codeInvalidFormat, Detail: "must be valid UTF-8 without NUL characters"})
		case f.Type.Kind() != reflect.Slice && len(given) > 1:
			errs = append(errs, FieldError{Field: f.Name, Code: codeRepeated, Detail: "must appear only once"})
		case slices.Contains(given, ""):
			errs = append(errs, FieldError{Field: f.Name, Code: codeRequired, Detail: "must not be empty; set a value or omit it"})
		default:
			if e := setText(f.In(v), given, f.max); e != nil {
				e.Field = f.Name
				errs = append(errs, *e)
			}
		}
	}
	if seen == len(values) {
		return errs
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(known, name) {
			errs = append(errs, FieldError{Field: name, Code: codeUnknown, Detail: "is not a parameter of this request; " + list(known)})
		}
	}
	return errs
}

func list(known []string) string {
	if len(known) == 0 {
		return "it has none"
	}
	return "the parameters are " + strings.Join(known, ", ")
}

// Canonical returns o with sorted members: the same bytes for objects that
// differ only in order and white space.
func (o Object) Canonical() ([]byte, error) { return json.Marshal(map[string]any(o)) }

// escape escapes a name for use in a path (RFC 6901).
var escape = strings.NewReplacer("~", "~0", "/", "~1").Replace
