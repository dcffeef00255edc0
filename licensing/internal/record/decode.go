package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// A decoder reads the members of a document. It finds where a value ends
// without looking into objects: their readers decode them when they need them.
type decoder struct {
	rest   []byte // what follows the member
	member []byte // the name and the value, as they are
	name   []byte
	value  []byte
	opened bool
	err    error
}

var errDocument = errors.New("malformed document")

// next moves to the next member and reports whether there is one.
func (d *decoder) next() bool {
	switch {
	case d.err != nil:
		return false
	case string(d.rest) == "}" && d.opened || string(d.rest) == "{}":
		return false
	case len(d.rest) == 0 || !d.opened && d.rest[0] != '{' || d.opened && d.rest[0] != ',':
		d.err = errDocument
		return false
	}
	d.opened = true
	d.member = d.rest[1:]
	n := stringEnd(d.member)
	if n < 0 || n == len(d.member) || d.member[n] != ':' {
		d.err = errDocument
		return false
	}
	size := valueEnd(d.member[n+1:])
	if size <= 0 {
		d.err = errDocument
		return false
	}
	d.name = d.member[1 : n-1]
	d.value = d.member[n+1 : n+1+size]
	d.member, d.rest = d.member[:n+1+size], d.member[n+1+size:]
	return true
}

// stringEnd returns where the string that b begins with ends, or -1.
func stringEnd(b []byte) int {
	if len(b) == 0 || b[0] != '"' {
		return -1
	}
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return -1
}

// valueEnd returns where the value that b begins with ends, or -1.
func valueEnd(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			n := stringEnd(b[i:])
			if n < 0 {
				return -1
			}
			i += n - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	return -1
}

func (d *decoder) fail(err error) {
	d.err = fmt.Errorf("%s: %w", d.name, err)
}

func (d *decoder) text() (s string) {
	if stringEnd(d.value) == len(d.value) && bytes.IndexByte(d.value, '\\') < 0 {
		return string(d.value[1 : len(d.value)-1])
	}
	if err := json.Unmarshal(d.value, &s); err != nil {
		d.fail(err)
	}
	return s
}

func (d *decoder) integer() int64 {
	n, err := strconv.ParseInt(string(d.value), 10, 64)
	if err != nil {
		d.fail(err)
	}
	return n
}

func (d *decoder) time() time.Time {
	return time.UnixMilli(d.integer()).UTC()
}

func (d *decoder) object() []byte {
	if d.value[0] != '{' || d.value[len(d.value)-1] != '}' {
		d.fail(errDocument)
	}
	return d.value
}
