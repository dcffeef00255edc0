package jsontext

import (
	stdencoding "encoding"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// An encoding appends a value of one type.
type encoding func(e *encoder, v reflect.Value) bool

// encodings has the encodings that were needed so far, by [reflect.Type].
var encodings sync.Map

var (
	timeType      = reflect.TypeFor[time.Time]()
	marshaler     = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[stdencoding.TextMarshaler]()
)

// encodingOf returns the encoding of a type.
func encodingOf(t reflect.Type) encoding {
	if f, ok := encodings.Load(t); ok {
		return f.(encoding)
	}
	f, _ := encodings.LoadOrStore(t, newEncoding(t))
	return f.(encoding)
}

// newEncoding returns the encoding of a type. The encodings of elements are
// looked up when they are used, so that a type may contain itself.
func newEncoding(t reflect.Type) encoding {
	switch {
	case t == timeType:
		return appendTime
	case t.Kind() == reflect.Pointer: // encoded like the value it points to
	case t.Implements(marshaler) || t.Implements(textMarshaler):
		return (*encoder).other
	case reflect.PointerTo(t).Implements(marshaler) || reflect.PointerTo(t).Implements(textMarshaler):
		return unknown // it depends on whether the value is addressable
	}
	switch t.Kind() {
	case reflect.Bool:
		return func(e *encoder, v reflect.Value) bool {
			e.buf = strconv.AppendBool(e.buf, v.Bool())
			return true
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return func(e *encoder, v reflect.Value) bool {
			e.buf = strconv.AppendInt(e.buf, v.Int(), 10)
			return true
		}
	case reflect.Float64:
		return func(e *encoder, v reflect.Value) bool { return e.float(v.Float()) }
	case reflect.String:
		if t == reflect.TypeFor[json.Number]() {
			return (*encoder).other
		}
		return func(e *encoder, v reflect.Value) bool { return e.text(v.String()) }
	case reflect.Interface, reflect.Pointer:
		return func(e *encoder, v reflect.Value) bool {
			if v.IsNil() {
				return e.raw("null")
			}
			return e.value(v.Elem())
		}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return (*encoder).other
		}
		return appendSlice
	case reflect.Map:
		if t.Key() == reflect.TypeFor[string]() {
			return appendMap
		}
	case reflect.Struct:
		return structEncoding(t)
	}
	return (*encoder).other
}

func unknown(*encoder, reflect.Value) bool { return false }

func (e *encoder) raw(text string) bool {
	e.buf = append(e.buf, text...)
	return true
}

// text appends a string. Those with characters to escape are rare.
func (e *encoder) text(s string) bool {
	ascii := true
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c == '"', c == '\\', e.escapeHTML && (c == '<' || c == '>' || c == '&'):
			return e.other(reflect.ValueOf(s))
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	if !ascii && (!utf8.ValidString(s) || strings.ContainsAny(s, "\u2028\u2029")) {
		return e.other(reflect.ValueOf(s))
	}
	e.buf = append(append(append(e.buf, '"'), s...), '"')
	return true
}

// float appends a number: like encoding/json, in the form of JavaScript.
func (e *encoder) float(f float64) bool {
	if whole := math.Trunc(f); whole == f && math.Abs(f) < 1e15 && (f != 0 || !math.Signbit(f)) {
		e.buf = strconv.AppendInt(e.buf, int64(f), 10)
		return true
	}
	return e.other(reflect.ValueOf(f))
}

// appendTime appends a time of UTC; other zones have more rules.
func appendTime(e *encoder, v reflect.Value) bool {
	t := timeOf(v)
	if t.Location() != time.UTC || t.Year() < 0 || t.Year() > 9999 {
		return e.other(v)
	}
	e.buf = append(e.buf, '"')
	e.buf = t.AppendFormat(e.buf, time.RFC3339Nano)
	e.buf = append(e.buf, '"')
	return true
}

func timeOf(v reflect.Value) time.Time {
	if v.CanAddr() {
		return *v.Addr().Interface().(*time.Time) // without an allocation
	}
	return v.Interface().(time.Time)
}

func appendSlice(e *encoder, v reflect.Value) bool {
	if v.IsNil() {
		return e.raw("null")
	}
	element := encodingOf(v.Type().Elem())
	e.buf = append(e.buf, '[')
	for i := range v.Len() {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		if !element(e, v.Index(i)) {
			return false
		}
	}
	e.buf = append(e.buf, ']')
	return true
}

// appendMap appends a map with the names in order.
func appendMap(e *encoder, v reflect.Value) bool {
	if v.IsNil() {
		return e.raw("null")
	}
	if v.Len() == 0 {
		return e.raw("{}")
	}
	names := make([]string, 0, v.Len())
	for i := v.MapRange(); i.Next(); {
		names = append(names, i.Key().String())
	}
	slices.Sort(names)
	for i, name := range names {
		separator := byte(',')
		if i == 0 {
			separator = '{'
		}
		e.buf = append(e.buf, separator)
		if !e.text(name) {
			return false
		}
		e.buf = append(e.buf, ':')
		if !e.value(v.MapIndex(reflect.ValueOf(name))) {
			return false
		}
	}
	e.buf = append(e.buf, '}')
	return true
}
