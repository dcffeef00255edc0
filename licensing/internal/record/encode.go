package record

import (
	"strconv"
	"time"
)

// An encoder appends members to a document.
type encoder []byte

// newEncoder returns an encoder with room for the known members and size bytes
// of values.
func newEncoder(size int) *encoder {
	e := make(encoder, 1, 192+size)
	e[0] = '{'
	return &e
}

func (e *encoder) name(name string) []byte {
	b := *e
	if len(b) > 1 {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

func (e *encoder) text(name, v string) {
	if v != "" {
		*e = appendString(e.name(name), v)
	}
}

func (e *encoder) integer(name string, v int64, set bool) {
	if set {
		*e = strconv.AppendInt(e.name(name), v, 10)
	}
}

func (e *encoder) time(name string, t time.Time) { e.integer(name, t.UnixMilli(), !t.IsZero()) }

func (e *encoder) object(name string, v []byte) {
	if len(v) > 0 {
		*e = append(e.name(name), v...)
	}
}

// document ends the document with the members of unknown.
func (e *encoder) document(unknown []byte) []byte {
	b := *e
	if len(b) == 1 && len(unknown) > 0 {
		unknown = unknown[1:]
	}
	return append(append(b, unknown...), '}')
}

// appendString appends s, which is valid UTF-8, as JSON. It escapes what SQLite
// and PostgreSQL escape, so that a migration writes the same documents.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, `\b`...)
		case '\f':
			b = append(b, `\f`...)
		case '\n':
			b = append(b, `\n`...)
		case '\r':
			b = append(b, `\r`...)
		case '\t':
			b = append(b, `\t`...)
		default:
			const hex = "0123456789abcdef"
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(b, s[from:]...), '"')
}
