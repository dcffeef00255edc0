package record

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A codec reads or writes a document. A record passes its members to the codec
// in the order of the document, in one method for both directions.
type codec struct {
	writes  bool
	written []byte

	rest    []byte // what follows the current member
	member  []byte // the current member: its name and value, as they are
	name    []byte // nil: no member is left
	value   []byte
	read    bool   // the last visit read a member, or there was none
	unknown []byte // the members that no visit read, each with a comma before it
	err     error
}

var errDocument = errors.New("malformed document")

// newReader returns a codec that reads a document.
func newReader(document []byte) codec {
	c := codec{rest: document, read: true}
	c.next('{', "{}")
	return c
}

// newWriter returns a codec that writes a document, with room for the known
// members and size bytes of values.
func newWriter(size int) codec {
	return codec{writes: true, written: append(make([]byte, 0, 192+size), '{')}
}

// more reports whether the record must be visited, once more if members are
// left. A visit reads all members that are in order; if it reads none, the
// current one is unknown.
func (c *codec) more() bool {
	if !c.read && c.err == nil {
		c.unknown = append(append(c.unknown, ','), c.member...)
		c.next(',', "}")
	}
	c.read = false
	return c.name != nil && c.err == nil
}

// document ends the written document with unknown members.
func (c *codec) document(unknown []byte) []byte {
	if len(c.written) == 1 && len(unknown) > 0 {
		unknown = unknown[1:]
	}
	return append(append(c.written, unknown...), '}')
}

// text reads or writes a text. An empty one is left out.
func (c *codec) text(name string, v *string) {
	if c.writes && *v != "" {
		c.written = appendString(c.label(name), *v)
	} else if c.at(name) {
		*v = c.string()
		c.done()
	}
}

// integer reads or writes a number. It is left out if present is false.
func (c *codec) integer(name string, v *int64, present bool) {
	if c.writes && present {
		c.written = strconv.AppendInt(c.label(name), *v, 10)
	} else if c.at(name) {
		*v = c.number()
		c.done()
	}
}

// time reads or writes a time in milliseconds. The zero time is left out.
func (c *codec) time(name string, v *time.Time) {
	if c.writes && !v.IsZero() {
		c.written = strconv.AppendInt(c.label(name), v.UnixMilli(), 10)
	} else if c.at(name) {
		*v = time.UnixMilli(c.number()).UTC()
		c.done()
	}
}

// flag reads or writes a truth value. False is left out.
func (c *codec) flag(name string, v *bool) {
	if c.writes && *v {
		c.written = append(c.label(name), '1')
	} else if c.at(name) {
		*v = c.number() != 0
		c.done()
	}
}

// object reads or writes a JSON object, whose readers decode it when they need
// it. An empty slice is left out.
func (c *codec) object(name string, v *[]byte) {
	if c.writes && len(*v) > 0 {
		c.written = append(c.label(name), *v...)
	} else if c.at(name) {
		if c.value[0] != '{' || c.value[len(c.value)-1] != '}' {
			c.err = errDocument
		}
		*v = c.value
		c.done()
	}
}

// label starts a member.
func (c *codec) label(name string) []byte {
	b := c.written
	if len(b) > 1 {
		b = append(b, ',')
	}
	b = append(b, '"')
	b = append(b, name...)
	return append(b, '"', ':')
}

// at reports whether the current member has that name.
func (c *codec) at(name string) bool { return c.err == nil && string(c.name) == name }

// done moves on from a member that has been read.
func (c *codec) done() {
	if c.err != nil {
		c.err = fmt.Errorf("%s: %w", c.name, c.err)
		return
	}
	c.read = true
	c.next(',', "}")
}

// appendString appends s, which is valid UTF-8, as JSON. It escapes what SQLite
// and PostgreSQL escape, so that a migration writes the same documents.
func appendString(b []byte, s string) []byte {
	const escaped, letters = "\"\\\b\f\n\r\t", `"\bfnrt`
	b = append(b, '"')
	for _, c := range []byte(s) {
		if c >= ' ' && c != '"' && c != '\\' {
			b = append(b, c)
		} else if i := strings.IndexByte(escaped, c); i >= 0 {
			b = append(b, '\\', letters[i])
		} else {
			b = fmt.Appendf(b, `\u%04x`, c)
		}
	}
	return append(b, '"')
}
