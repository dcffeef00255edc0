package api

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/input"
)

// A schema is as much of a JSON Schema as follows from a Go type.
type schema struct {
	Ref        string `json:"$ref"`
	Type       any
	Const      any
	Format     string
	Required   []string
	Properties map[string]schema
	Additional json.RawMessage `json:"additionalProperties"`
	Items      *schema
	OneOf      []schema
}

// A comparison compares schemas with Go types.
type comparison struct {
	*testing.T
	schemas map[string]schema
}

func (c comparison) resolve(s schema) schema {
	if s.Ref != "" {
		return c.schemas[named(s.Ref)]
	}
	return s
}

func (c comparison) same(what string, described, want []string) {
	c.Helper()
	for _, list := range []*[]string{&described, &want} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	if !slices.Equal(described, want) {
		c.Errorf("%s: openapi.json has %v, and the Go code %v", what, described, want)
	}
}

// types returns the types that values of a schema have, in order; a time is
// one of its own.
func (c comparison) types(s schema) (all []string) {
	s = c.resolve(s)
	switch t := s.Type.(type) {
	case string:
		all = []string{t}
	case []any:
		for _, name := range t {
			all = append(all, fmt.Sprint(name))
		}
	}
	switch s.Const.(type) {
	case string:
		all = append(all, "string")
	case bool:
		all = append(all, "boolean")
	}
	for _, one := range s.OneOf {
		all = append(all, c.types(one)...)
	}
	for i := range all {
		if all[i] == "string" && s.Format == "date-time" {
			all[i] = "time"
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// typesOf returns the types that values of a Go type have on the wire; none if
// any value is possible.
func typesOf(t reflect.Type) []string {
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return []string{"object"}
	case t == reflect.TypeFor[time.Time]():
		return []string{"time"}
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return []string{"string"}
	case isChange(t):
		value, _ := t.FieldByName("Value")
		return append([]string{"null"}, typesOf(value.Type)...)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typesOf(t.Elem())
	case reflect.String:
		return []string{"string"}
	case reflect.Int, reflect.Int64:
		return []string{"integer"}
	case reflect.Bool:
		return []string{"boolean"}
	case reflect.Slice:
		return []string{"array"}
	case reflect.Map, reflect.Struct:
		return []string{"object"}
	}
	return nil
}

func isChange(t reflect.Type) bool { return strings.HasPrefix(t.Name(), "Change[") }

// object compares the schema of an object with a struct: one that is read from
// a request, or one that is written into an answer. It follows the members.
func (c comparison) object(what string, s schema, t reflect.Type, read bool) {
	c.Helper()
	s = c.resolve(s)
	var names, required []string
	fields := reflect.VisibleFields(t)
	form := map[string]bool{}
	if read {
		for _, f := range input.Of(t).Fields {
			form[f.GoName] = f.Name != "" && !f.Query
		}
	}
	for _, f := range fields {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || read && !form[f.Name] {
			continue
		}
		names = append(names, name)
		p := s.Properties[name]
		want, where := typesOf(f.Type), what+"."+name
		described := c.types(p)
		if read {
			if isRequired(f) {
				required = append(required, name)
			}
			if strings.Contains(f.Tag.Get("wire"), "nullable") {
				want = append(want, "null")
			}
		} else {
			if options == "" || name == "detail" { // every answer has a detail
				required = append(required, name)
			}
			if f.Type.Kind() == reflect.Pointer && options == "" || f.Type.Kind() == reflect.Slice && slices.Contains(described, "null") {
				want = append(want, "null")
			}
			c.members(where, p, f.Type)
		}
		if len(want) > 0 {
			c.same(where, described, want)
		}
	}
	var described []string
	for name := range s.Properties {
		described = append(described, name)
	}
	c.same(what+": members", described, names)
	c.same(what+": required", s.Required, required)
}

// members follows a member of an answer to the structs that it holds.
func (c comparison) members(where string, s schema, t reflect.Type) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Slice && s.Items != nil {
		s, t = *s.Items, t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() {
		return
	}
	if i := slices.IndexFunc(s.OneOf, func(s schema) bool { return s.Ref != "" }); i >= 0 {
		s = s.OneOf[i]
	}
	c.object(where, s, t, false)
}

// isRequired reports whether a request must have the member.
func isRequired(f reflect.StructField) bool {
	first, _, _ := strings.Cut(f.Tag.Get("validate"), ",")
	return first == "required" || first == "text" || slices.Contains(strings.Split(f.Tag.Get("wire"), ","), "required")
}
