package endpoints

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// An object is a JSON object that keeps the order of its members. A value is an
// *object, a []any, or what encoding/json makes of any other value.
type object struct{ members []member }

type member struct {
	name  string
	value any
}

// obj returns an object of names and values in turn.
func obj(pairs ...any) *object {
	o := &object{}
	for i := 0; i < len(pairs); i += 2 {
		o.set(pairs[i].(string), pairs[i+1])
	}
	return o
}

func ref(kind, name string) *object { return obj("$ref", "#/components/"+kind+"/"+name) }

func (o *object) index(name string) int {
	return slices.IndexFunc(o.members, func(m member) bool { return m.name == name })
}

// get returns the value of a member, or nil.
func (o *object) get(name string) any {
	if i := o.index(name); i >= 0 {
		return o.members[i].value
	}
	return nil
}

// object returns a member that is an object; without one, an empty object.
func (o *object) object(name string) *object {
	if v, ok := o.get(name).(*object); ok {
		return v
	}
	return obj()
}

// text returns a member that is a string, or "".
func (o *object) text(name string) string {
	s, _ := o.get(name).(string)
	return s
}

// texts returns a member that is an array of strings.
func (o *object) texts(name string) (all []string) {
	list, _ := o.get(name).([]any)
	for _, v := range list {
		all = append(all, fmt.Sprint(v))
	}
	return all
}

func (o *object) set(name string, value any) {
	if i := o.index(name); i >= 0 {
		o.members[i].value = value
		return
	}
	o.members = append(o.members, member{name, value})
}

func (o *object) remove(names ...string) {
	o.members = slices.DeleteFunc(o.members, func(m member) bool { return slices.Contains(names, m.name) })
}

// merge changes o as a merge patch does (RFC 7396).
func (o *object) merge(patch *object) *object {
	for _, m := range patch.members {
		inner, nested := m.value.(*object)
		present, both := o.get(m.name).(*object)
		switch {
		case m.value == nil:
			o.remove(m.name)
		case nested && both:
			present.merge(inner)
		case nested:
			o.set(m.name, obj().merge(inner))
		default:
			o.set(m.name, m.value)
		}
	}
	return o
}

// fill adds the members of other that o lacks, to objects in o too.
func (o *object) fill(other *object) {
	for _, m := range other.members {
		inner, nested := m.value.(*object)
		present, both := o.get(m.name).(*object)
		switch {
		case nested && both:
			present.fill(inner)
		case o.index(m.name) < 0:
			o.merge(obj(m.name, m.value))
		}
	}
}

// order sorts the members that names lists, before all others.
func (o *object) order(names ...string) *object {
	rank := func(m member) int {
		if i := slices.Index(names, m.name); i >= 0 {
			return i
		}
		return len(names)
	}
	slices.SortStableFunc(o.members, func(a, b member) int { return rank(a) - rank(b) })
	return o
}

// UnmarshalJSON implements [json.Unmarshaler].
func (o *object) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := readValue(d)
	if err == nil {
		*o = *v.(*object)
	}
	return err
}

func readValue(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		o := obj()
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			if o.index(name.(string)) >= 0 {
				return nil, fmt.Errorf("duplicate member %q", name)
			}
			value, err := readValue(d)
			if err != nil {
				return nil, err
			}
			o.set(name.(string), value)
		}
		_, err = d.Token()
		return o, err
	case json.Delim('['):
		list := []any{}
		for d.More() {
			value, err := readValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = d.Token()
		return list, err
	}
	return token, nil
}

// maxLine is the length up to which an object or an array is on one line.
const maxLine = 170

// format returns the JSON of a value.
func format(v any) []byte {
	var b bytes.Buffer
	write(&b, "", 0, v)
	b.WriteByte('\n')
	return b.Bytes()
}

func write(b *bytes.Buffer, name string, depth int, v any) {
	indent := strings.Repeat("  ", depth)
	b.WriteString(indent + name)
	var all []member
	opening, closing := "{", "}"
	switch v := v.(type) {
	case *object:
		all = v.members
	case []any:
		opening, closing = "[", "]"
		for _, e := range v {
			all = append(all, member{value: e})
		}
	}
	line := inline(v)
	if len(all) == 0 || depth > 1 && utf8.RuneCountInString(indent+name+line) < maxLine {
		if opening == "{" && len(all) > 0 {
			line = "{ " + line[1:len(line)-1] + " }"
		}
		b.WriteString(line)
		return
	}
	b.WriteString(opening + "\n")
	for i, m := range all {
		name := ""
		if opening == "{" {
			name = inline(m.name) + ": "
		}
		write(b, name, depth+1, m.value)
		if i < len(all)-1 {
			b.WriteByte(',')
		}
		b.WriteByte('\n')
	}
	b.WriteString(indent + closing)
}

// inline returns the JSON of a value on one line.
func inline(v any) string {
	var parts []string
	switch v := v.(type) {
	case *object:
		for _, m := range v.members {
			parts = append(parts, inline(m.name)+": "+inline(m.value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		for _, e := range v {
			parts = append(parts, inline(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
