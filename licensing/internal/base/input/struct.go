package input

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// ErrNotObject is the error of a JSON value that is not an object.
var ErrNotObject = &api.InvalidError{Fields: failed(api.FieldInvalidType, "must be a JSON object")}

// A Struct is the wire format of a parameter struct. It is safe for concurrent
// use.
type Struct struct {
	Fields []Field
	byName map[string]bool // the members
	names  []int           // the index of the field for the names of the members that are present
}

// A Field is one field of a parameter struct.
type Field struct {
	Name   string // of a member of the body; empty: it is none
	Param  string // of the query; empty: it is none. With Name: of a GET or a DELETE
	Path   string // the parameter of the path; empty: it is none
	Header string // empty: it is none
	GoName string
	Type   reflect.Type

	index   []int
	options []string // of the tag wire
}

var structs sync.Map // of *Struct by reflect.Type

// Of returns the wire format of a struct type. It panics on a field whose type
// has none, which is a programming error.
func Of(t reflect.Type) *Struct {
	if s, ok := structs.Load(t); ok {
		return s.(*Struct)
	}
	s := &Struct{byName: map[string]bool{}}
	for _, f := range reflect.VisibleFields(t) {
		field := Field{
			GoName: f.Name, Type: f.Type, index: f.Index, options: strings.Split(f.Tag.Get("wire"), ","),
			Param: f.Tag.Get("query"), Path: f.Tag.Get("path"), Header: f.Tag.Get("header"),
		}
		switch name, _, _ := strings.Cut(f.Tag.Get("json"), ","); {
		case !f.IsExported() || f.Anonymous:
			continue
		case field.Is("names"):
			s.names = f.Index
			continue
		case name != "" && name != "-":
			field.Name = name
			s.byName[name] = true
			mustDecode(f.Type)
		}
		s.Fields = append(s.Fields, field)
	}
	actual, _ := structs.LoadOrStore(t, s)
	return actual.(*Struct)
}

// mustDecode panics if a type, or one inside it, has no form on the wire.
func mustDecode(t reflect.Type) {
	decode(reflect.New(t).Elem(), json.RawMessage("0"))
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		mustDecode(t.Elem())
	case reflect.Map:
		if t.Elem().Kind() != reflect.Interface {
			mustDecode(t.Elem())
		}
	case reflect.Struct:
		Of(t)
	}
}

// Is reports whether the tag wire of f has an option.
func (f *Field) Is(option string) bool { return slices.Contains(f.options, option) }

// In returns the field of the struct that v points to.
func (f *Field) In(v reflect.Value) reflect.Value { return v.Elem().FieldByIndex(f.index) }

// HasMembers reports whether the struct has members.
func (s *Struct) HasMembers() bool { return len(s.byName) > 0 }

// Body decodes the members of o into the struct that v points to. Names are
// case-sensitive.
func (s *Struct) Body(v reflect.Value, o Object) (errs []api.FieldError) {
	if s.names != nil {
		v.Elem().FieldByIndex(s.names).Set(reflect.ValueOf(slices.Sorted(maps.Keys(o))))
	}
	known := 0
	for i := range s.Fields {
		f := &s.Fields[i]
		if f.Name == "" {
			continue
		}
		raw, present := o[f.Name]
		if present {
			known++
		}
		switch {
		case !present && f.Is("required"):
			errs = append(errs, api.FieldError{Field: f.Name, Code: api.FieldRequired, Detail: "is required"})
		case !present, string(raw) == "null" && f.Is("nullable"):
		case string(raw) == `""` && f.Is("filled"):
			errs = append(errs, api.FieldError{Field: f.Name, Code: api.FieldRequired, Detail: "must not be empty; set a value or omit it"})
		default:
			field := f.In(v)
			broken := decode(field, raw)
			if len(broken) == 0 && field.Kind() == reflect.Int && field.IsZero() && f.Is("filled") {
				broken = []api.FieldError{{Code: api.FieldOutOfRange, Detail: "must not be 0; set a value or omit it"}}
			}
			for _, e := range broken {
				e.Field = f.Name + e.Field
				errs = append(errs, e)
			}
		}
	}
	if known == len(o) {
		return errs
	}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if !s.byName[name] {
			errs = append(errs, api.FieldError{Field: Escape(shorten(name)), Code: api.FieldUnknown, Detail: "is not a member of this object; omit it"})
		}
	}
	return errs
}

// Merge returns errs, such as those of decoding, followed by those in more about
// other fields.
func Merge(errs, more []api.FieldError) []api.FieldError {
	all := slices.Clip(errs)
	for _, e := range more {
		if !slices.ContainsFunc(errs, func(known api.FieldError) bool { return known.Field == e.Field }) {
			all = append(all, e)
		}
	}
	return all
}

// Checker returns a function that checks parameter structs against their validate
// tags, which may name the given rules.
func Checker(rules map[string]valid.Rule) func(params any) []api.FieldError {
	checker := valid.New(rules)
	return func(params any) (errs []api.FieldError) {
		for _, f := range checker.Check(params) {
			errs = append(errs, api.FieldError{Field: f.Field, Code: f.Code, Detail: f.Detail})
		}
		return errs
	}
}

// Escape escapes a name for use in a path (RFC 6901).
var Escape = strings.NewReplacer("~", "~0", "/", "~1").Replace
