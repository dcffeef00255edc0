package record

import (
	"bytes"
	"encoding/json"
	"strconv"
)

// next moves to the next member, after the byte that separates it from what was
// before. At the end of the document the rest is end.
func (c *codec) next(separator byte, end string) {
	c.name = nil
	if string(c.rest) == end {
		return
	}
	c.err = errDocument // unless a member follows
	if len(c.rest) == 0 || c.rest[0] != separator {
		return
	}
	b := c.rest[1:]
	n := stringEnd(b)
	if n < 0 || n == len(b) || b[n] != ':' {
		return
	}
	if size := valueEnd(b[n+1:]); size > 0 {
		c.name, c.value = b[1:n-1], b[n+1:n+1+size]
		c.member, c.rest = b[:n+1+size], b[n+1+size:]
		c.err = nil
	}
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

// valueEnd returns where the value that b begins with ends, or -1. It does not
// look into objects.
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
		case '}', ']', ',':
			if depth == 0 {
				return i
			}
			if b[i] != ',' {
				depth--
			}
		}
	}
	return -1
}

// string returns the current value, which must be a string.
func (c *codec) string() (s string) {
	if stringEnd(c.value) == len(c.value) && bytes.IndexByte(c.value, '\\') < 0 {
		return string(c.value[1 : len(c.value)-1])
	}
	c.err = json.Unmarshal(c.value, &s)
	return s
}

// number returns the current value, which must be an integer.
func (c *codec) number() (n int64) {
	n, c.err = strconv.ParseInt(string(c.value), 10, 64)
	return n
}
