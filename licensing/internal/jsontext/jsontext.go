// Package jsontext encodes values as encoding/json does, byte for byte, in less
// time and with fewer allocations. It knows what results of the API and events
// consist of, and leaves everything else to encoding/json.
package jsontext

import (
	"bytes"
	"encoding/json"
	"reflect"
	"sync"
)

// Marshal returns what [json.Marshal] returns for v. Without escapeHTML, it
// returns what a [json.Encoder] writes without HTML escaping, and no newline.
func Marshal(v any, escapeHTML bool) ([]byte, error) {
	e := encoders.Get().(*encoder)
	e.buf, e.escapeHTML = e.buf[:0], escapeHTML
	var text []byte
	if v != nil && e.value(reflect.ValueOf(v)) {
		text = append(make([]byte, 0, len(e.buf)+1), e.buf...) // room for a newline
	}
	if cap(e.buf) <= maxBuffer {
		encoders.Put(e)
	}
	if text == nil {
		return standard(v, escapeHTML)
	}
	return text, nil
}

// standard encodes v with encoding/json.
func standard(v any, escapeHTML bool) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(escapeHTML)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// maxBuffer is the largest buffer that is kept for other values.
const maxBuffer = 64 << 10

var encoders = sync.Pool{New: func() any { return &encoder{buf: make([]byte, 0, 2048)} }}

// An encoder appends one value to its buffer. Its methods report whether they
// could; if not, encoding/json encodes the whole value.
type encoder struct {
	buf        []byte
	escapeHTML bool
}

// value appends a value of any type.
func (e *encoder) value(v reflect.Value) bool { return encodingOf(v.Type())(e, v) }

// other appends a value with encoding/json.
func (e *encoder) other(v reflect.Value) bool {
	text, err := standard(v.Interface(), e.escapeHTML)
	e.buf = append(e.buf, text...)
	return err == nil
}
