package input

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
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
	byName map[string]int // the index in Fields of each member
	names  []int          // the index of the field for the names of the members that are present
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
	limits  limits
}

// The limits of a value, which are checked before it is decoded; 0: not known.
type limits struct {
	most int // members or elements, or characters of a string
	each int // characters of each string in a list or a map
}

// MaxErrors is the maximum number of errors of one struct. Decoding stops after that many.
const MaxErrors = 20

var structs sync.Map // of *Struct by reflect.Type

// Of returns the wire format of a struct type. It panics on a field whose type
// has none, which is a programming error.
func Of(t reflect.Type) *Struct {
	if s, ok := structs.Load(t); ok {
		return s.(*Struct)
	}
	s := &Struct{byName: map[string]int{}}
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
			s.byName[name] = len(s.Fields)
			field.limits = limitsOf(f)
			mustDecode(f.Type)
		}
		s.Fields = append(s.Fields, field)
	}
	actual, _ := structs.LoadOrStore(t, s)
	return actual.(*Struct)
}

// limitsOf returns the limits that the tags of a field set: the options max=N and each=N of
// its wire tag, and its validate tag.
func limitsOf(f reflect.StructField) (l limits) {
	rules, _, _ := strings.Cut(f.Tag.Get("validate"), "dive")
	for option := range strings.SplitSeq(f.Tag.Get("wire")+","+rules, ",") {
		name, value, _ := strings.Cut(option, "=")
		n, _ := strconv.Atoi(value)
		switch name {
		case "max":
			l.most = n
		case "each":
			l.each = n
		case "text":
			l.most = valid.MaxText
		case "texts":
			l.each = valid.MaxText
		}
	}
	return l
}

// mustDecode panics if a type, or one inside it, has no form on the wire.
func mustDecode(t reflect.Type) {
	decode(reflect.New(t).Elem(), json.RawMessage("0"), limits{})
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

// Body decodes the members of o into the struct that v points to, and returns at most
// [MaxErrors]. Names are case-sensitive.
func (s *Struct) Body(v reflect.Value, o Object) (errs []api.FieldError) {
	var few [8]json.RawMessage // without an allocation for each element of a list
	given := few[:]            // nil: the member is not present
	if len(s.Fields) > len(few) {
		given = make([]json.RawMessage, len(s.Fields))
	}
	var unknown, names []string
	var name []byte
	for quoted, value := range each(o) {
		name = appendText(name[:0], quoted)
		if i, ok := s.byName[string(name)]; ok {
			given[i] = value
			if s.names != nil {
				names = append(names, s.Fields[i].Name)
			}
		} else if len(unknown) < MaxErrors {
			unknown = append(unknown, shorten(name))
		}
	}
	if s.names != nil {
		slices.Sort(names)
		v.Elem().FieldByIndex(s.names).Set(reflect.ValueOf(names))
	}
	for i := range s.Fields {
		if len(errs) >= MaxErrors {
			return errs[:MaxErrors]
		}
		f, raw := &s.Fields[i], given[i]
		switch {
		case f.Name == "":
		case raw == nil && f.Is("required"):
			errs = append(errs, api.FieldError{Field: f.Name, Code: api.FieldRequired, Detail: "is required"})
		case raw == nil, string(raw) == "null" && f.Is("nullable"):
		case string(raw) == `""` && f.Is("filled"):
			errs = append(errs, api.FieldError{Field: f.Name, Code: api.FieldRequired, Detail: "must not be empty; set a value or omit it"})
		default:
			field := f.In(v)
			broken := decode(field, raw, f.limits)
			if len(broken) == 0 && field.Kind() == reflect.Int && field.IsZero() && f.Is("filled") {
				broken = []api.FieldError{{Code: api.FieldOutOfRange, Detail: "must not be 0; set a value or omit it"}}
			}
			for _, e := range broken {
				e.Field = f.Name + e.Field
				errs = append(errs, e)
			}
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		errs = append(errs, api.FieldError{Field: Escape(name), Code: api.FieldUnknown, Detail: "is not a member of this object; omit it"})
	}
	return errs[:min(len(errs), MaxErrors)]
}

// All returns the errors of decoding a struct, followed by the errors that check finds in other
// fields. If decoding has stopped, check would find errors in what was not decoded, and is
// not called.
func All(errs []api.FieldError, check func() []api.FieldError) []api.FieldError {
	if len(errs) >= MaxErrors {
		return errs
	}
	return Merge(errs, check())
}

// Merge returns errs, such as those of decoding, followed by those in more about
// other fields.
func Merge(errs, more []api.FieldError) []api.FieldError {
	all := slices.Clip(errs)
	for _, e := range more {
		if !slices.ContainsFunc(errs, func(known api.FieldError) bool {
			rest, ok := strings.CutPrefix(e.Field, known.Field)
			return ok && (rest == "" || rest[0] == '/')
		}) {
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
