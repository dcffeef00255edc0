package web

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
)

// An Appender appends a result that the rules encode, in a page of a list.
type Appender = func(b []byte) ([]byte, error)

// An Encoded is a result that the rules have encoded.
type Encoded struct {
	JSON []byte
	At   api.Version // of the resource, for its entity tag
}

// Version returns At.
func (e Encoded) Version() api.Version { return e.At }

// As states that the results of an endpoint whose rules encode them are of type T.
func As[T any](e *Endpoint) *Endpoint {
	e.Result = reflect.TypeFor[T]()
	return e
}

// Marshal returns v as JSON with a newline at the end and without HTML
// escaping: "<" stays "<". It encodes licenses and pages of them as encoding/json
// does, which takes several times as long.
func Marshal(v any) ([]byte, error) {
	if e, ok := v.(*Encoded); ok {
		return append(e.JSON, '\n'), nil
	}
	text, err := appendValue(make([]byte, 0, 768), reflect.ValueOf(v))
	return append(text, '\n'), err
}

// objects are the structs that appendValue encodes by itself, with their members in
// order.
var objects = map[reflect.Type][]member{
	reflect.TypeFor[api.License](): membersOf(reflect.TypeFor[api.License]()),
	reflect.TypeFor[list]():        membersOf(reflect.TypeFor[list]()),
}

var appender = reflect.TypeFor[Appender]()

type member struct {
	label    string // with a comma before it
	index    []int
	optional bool // left out if it is empty
}

func membersOf(t reflect.Type) (members []member) {
	for _, f := range reflect.VisibleFields(t) {
		if !f.Anonymous {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			members = append(members, member{`,"` + name + `":`, f.Index, options != ""})
		}
	}
	return members
}

// appendValue appends a value as encoding/json encodes it. Licenses and pages of them have an
// encoder of their own because encoding/json takes several times as long for them, and
// cannot place the text that an [Appender] appends. It encodes every other value.
func appendValue(b []byte, v reflect.Value) (_ []byte, err error) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return append(b, "null"...), nil
		}
		return appendValue(b, v.Elem())
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
				if b, err = appendValue(append(b, ','), v.Index(i)); err != nil {
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
	case reflect.Int64:
		return strconv.AppendInt(b, v.Int(), 10), nil
	case reflect.String:
		return record.AppendText(b, v.String()), nil
	}
	if v.CanAddr() { // without a copy
		v = v.Addr()
	}
	value := v.Interface()
	if at, ok := value.(*time.Time); ok {
		b, err = at.AppendText(append(b, '"'))
		return append(b, '"'), err
	}
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	err = e.Encode(value)
	return append(b, bytes.TrimSuffix(text.Bytes(), []byte("\n"))...), err
}

func appendObject(b []byte, v reflect.Value, members []member) (_ []byte, err error) {
	first := len(b)
	for _, m := range members {
		field := v.FieldByIndex(m.index)
		if m.optional && (field.IsZero() || (field.Kind() == reflect.Map || field.Kind() == reflect.Slice) && field.Len() == 0) {
			continue
		}
		if b, err = appendValue(append(b, m.label...), field); err != nil {
			return nil, err
		}
	}
	b[first] = '{'
	return append(b, '}'), nil
}
