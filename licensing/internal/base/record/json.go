package record

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// Encode returns v as [Append] encodes it. Encoding v must not be able to fail.
func Encode(v any) []byte {
	var b []byte
	if reflect.TypeOf(v) == eventData {
		b = make([]byte, 0, 512)
	}
	b, err := Append(b, reflect.ValueOf(v))
	if err != nil {
		panic(err)
	}
	return b
}

// objects are the structs that Append encodes by itself, with their members in
// order.
var objects = map[reflect.Type][]member{
	reflect.TypeFor[api.License]():     membersOf(reflect.TypeFor[api.License]()),
	eventData:                          membersOf(eventData),
	reflect.TypeFor[api.FieldChange](): membersOf(reflect.TypeFor[api.FieldChange]()),
}

var (
	appender  = reflect.TypeFor[Appender]()
	eventData = reflect.TypeFor[api.EventData]()
)

type member struct {
	label    string // with a comma before it
	index    []int
	optional bool     // left out if it is empty
	embedded []member // those of an embedded pointer, which has no label
}

func membersOf(t reflect.Type) (members []member) {
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch inPointer := t.Field(f.Index[0]).Type.Kind() == reflect.Pointer; {
		case f.Anonymous && inPointer:
			members = append(members, member{index: f.Index, embedded: membersOf(f.Type.Elem())})
		case !f.Anonymous && (!inPointer || len(f.Index) == 1):
			members = append(members, member{label: `,"` + name + `":`, index: f.Index, optional: options != ""})
		}
	}
	return members
}

// An Appender appends the JSON of a value.
type Appender = func(b []byte) ([]byte, error)

// Append appends a value as encoding/json encodes it, without HTML escaping: "<" stays
// "<". Licenses, lists of them and what events say of them have an encoder of their own
// because encoding/json takes several times as long for them, and cannot place the text
// that an [Appender] appends. It encodes every other value.
func Append(b []byte, v reflect.Value) (_ []byte, err error) {
	switch v.Kind() {
	case reflect.Invalid:
		return append(b, "null"...), nil
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return append(b, "null"...), nil
		}
		return Append(b, v.Elem())
	case reflect.Struct:
		if members := objects[v.Type()]; members != nil {
			return appendObject(b, v, members)
		}
	case reflect.Slice:
		if element := v.Type().Elem(); (objects[element] != nil || element == appender) && v.Len() > 0 {
			first := len(b)
			for i := range v.Len() {
				if i == 1 { // the others are about as long as the first
					b = slices.Grow(b, v.Len()*(len(b)-first))
				}
				if b, err = Append(append(b, ','), v.Index(i)); err != nil {
					return nil, err
				}
			}
			b[first] = '['
			return append(b, ']'), nil
		}
	case reflect.Func:
		return v.Interface().(Appender)(b)
	case reflect.Map:
		if v.Len() == 0 && !v.IsNil() {
			return append(b, "{}"...), nil
		}
		if objects[v.Type().Elem()] != nil && v.Len() > 0 {
			return appendMap(b, v)
		}
	case reflect.Int64:
		return strconv.AppendInt(b, v.Int(), 10), nil
	case reflect.String:
		return AppendText(b, v.String()), nil
	}
	if v.CanAddr() { // without a copy
		v = v.Addr()
	}
	value := v.Interface()
	if at, ok := value.(*time.Time); ok {
		b, err = at.AppendText(append(b, '"'))
		return append(b, '"'), err
	}
	return appendOther(b, value)
}

// appendOther appends a value with encoding/json.
func appendOther(b []byte, v any) ([]byte, error) {
	text := bytes.NewBuffer(b)
	e := json.NewEncoder(text)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

func appendObject(b []byte, v reflect.Value, members []member) (_ []byte, err error) {
	first := len(b)
	if b, err = appendMembers(b, v, members); err != nil {
		return nil, err
	}
	if len(b) == first {
		return append(b, "{}"...), nil
	}
	b[first] = '{'
	return append(b, '}'), nil
}

// appendMembers appends members, each with a comma before it.
func appendMembers(b []byte, v reflect.Value, members []member) (_ []byte, err error) {
	for i := range members {
		m := &members[i]
		field := v.FieldByIndex(m.index)
		switch {
		case m.embedded != nil && field.IsNil():
		case m.embedded != nil:
			b, err = appendMembers(b, field.Elem(), m.embedded)
		case m.optional && (field.IsZero() || (field.Kind() == reflect.Map || field.Kind() == reflect.Slice) && field.Len() == 0):
		default:
			b, err = Append(append(b, m.label...), field)
		}
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

// appendMap appends a map by text, which is not empty.
func appendMap(b []byte, v reflect.Value) (_ []byte, err error) {
	first := len(b)
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, key := range keys {
		b = append(AppendText(append(b, ','), key.String()), ':')
		if b, err = Append(b, v.MapIndex(key)); err != nil {
			return nil, err
		}
	}
	b[first] = '{'
	return append(b, '}'), nil
}

// AppendText appends s as Encode encodes it.
func AppendText(b []byte, s string) []byte {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			b, _ = appendOther(b, s) // text always encodes
			return b
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
