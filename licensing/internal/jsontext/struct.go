package jsontext

import (
	"reflect"
	"strings"
)

// A member is a field of a struct in JSON.
type member struct {
	field    int
	name     string // with quotation marks and colon
	encoding encoding
	// omit reports whether the member is left out; nil: it never is.
	omit func(reflect.Value) bool
}

// structEncoding returns the encoding of a struct. It does not know the rules for
// embedded fields, nor options of tags other than omitempty and omitzero. No two
// fields may have the same name, which go vet checks.
func structEncoding(t reflect.Type) encoding {
	var members []member
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			return unknown
		case !f.IsExported(), f.Tag.Get("json") == "-":
			continue
		case strings.Trim(name, "abcdefghijklmnopqrstuvwxyz_") != "":
			return unknown
		case name == "":
			name = f.Name
		}
		m := member{field: i, name: `"` + name + `":`, encoding: encodingOf(f.Type)}
		switch options {
		case "":
		case "omitempty":
			m.omit = empty
		case "omitzero":
			m.omit = reflect.Value.IsZero
			if _, ok := reflect.PointerTo(f.Type).MethodByName("IsZero"); f.Type == timeType {
				m.omit = func(v reflect.Value) bool { return timeOf(v).IsZero() }
			} else if ok {
				return unknown
			}
		default:
			return unknown
		}
		members = append(members, m)
	}
	return func(e *encoder, v reflect.Value) bool {
		e.buf = append(e.buf, '{')
		first := true
		for _, m := range members {
			field := v.Field(m.field)
			if m.omit != nil && m.omit(field) {
				continue
			}
			if !first {
				e.buf = append(e.buf, ',')
			}
			first = false
			e.buf = append(e.buf, m.name...)
			if !m.encoding(e, field) {
				return false
			}
		}
		e.buf = append(e.buf, '}')
		return true
	}
}

// empty reports whether omitempty leaves out v.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}
