package input

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// maxDepth is the maximum nesting depth of objects and arrays.
const maxDepth = 32

// An Object is a JSON object: each member is nil, a bool, a json.Number, a
// string, a []any or a map[string]any.
type Object map[string]any

// A SyntaxError says why data is not I-JSON.
type SyntaxError struct {
	Detail string // a phrase such as "is not valid UTF-8"
}

func (e *SyntaxError) Error() string { return e.Detail }

func syntaxError(format string, args ...any) error {
	return &SyntaxError{Detail: fmt.Sprintf(format, args...)}
}

// JSON parses data as I-JSON (RFC 7493): valid UTF-8 without a byte order mark,
// duplicate members, lone surrogates, or data after the value. encoding/json
// accepts some of these, so it only checks the grammar; a second pass checks the
// rest.
//
// The error is a [*SyntaxError], or [ErrNotObject] for any other JSON value.
func JSON(data []byte) (Object, error) {
	switch {
	case !utf8.Valid(data):
		return nil, syntaxError("is not valid UTF-8")
	case bytes.HasPrefix(data, []byte("\ufeff")):
		return nil, syntaxError("begins with a byte order mark; remove it")
	case len(bytes.TrimLeft(data, " \t\r\n")) == 0:
		return nil, syntaxError("is empty; send a JSON object")
	case !json.Valid(data):
		return nil, syntaxError("is not well-formed JSON; see byte %d", syntaxErrorAt(data))
	}
	p := parser{data: data}
	v, err := p.value(1)
	if err != nil {
		return nil, err
	}
	o, ok := v.(map[string]any)
	if !ok {
		return nil, ErrNotObject
	}
	return o, nil
}

// syntaxErrorAt returns the offset of the first syntax error in data.
func syntaxErrorAt(data []byte) int64 {
	var raw json.RawMessage
	if syntax, ok := json.Unmarshal(data, &raw).(*json.SyntaxError); ok {
		return syntax.Offset
	}
	return 0
}

// A parser reads JSON that is known to be well-formed.
type parser struct {
	data []byte
	at   int
}

func (p *parser) value(depth int) (any, error) {
	p.space()
	switch c := p.data[p.at]; c {
	case '{', '[':
		if depth > maxDepth {
			return nil, syntaxError("is nested more than %d levels deep", maxDepth)
		}
		if c == '{' {
			return p.object(depth)
		}
		return p.array(depth)
	case '"':
		return p.text()
	case 't':
		p.at += len("true")
		return true, nil
	case 'f':
		p.at += len("false")
		return false, nil
	case 'n':
		p.at += len("null")
		return nil, nil
	default:
		return p.number(), nil
	}
}

func (p *parser) object(depth int) (any, error) {
	members := make(map[string]any)
	for !p.ends('}') {
		p.space()
		name, err := p.text()
		if err != nil {
			return nil, err
		}
		if _, duplicate := members[name]; duplicate {
			return nil, syntaxError("has a duplicate member %q; see byte %d", shorten(name), p.at)
		}
		p.space()
		p.at++ // the colon
		if members[name], err = p.value(depth + 1); err != nil {
			return nil, err
		}
	}
	return members, nil
}

func (p *parser) array(depth int) (any, error) {
	list := []any{}
	for !p.ends(']') {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// ends skips the opening bracket or the comma before the next element. At the
// closing bracket, it skips that and returns true.
func (p *parser) ends(closing byte) bool {
	p.space()
	if p.data[p.at] != closing {
		p.at++
		p.space()
	}
	if p.data[p.at] != closing {
		return false
	}
	p.at++
	return true
}

func (p *parser) text() (string, error) {
	start := p.at
	escaped := false
	for p.at++; p.data[p.at] != '"'; p.at++ {
		if p.data[p.at] == '\\' {
			escaped = true
			p.at++
		}
	}
	p.at++
	quoted := p.data[start:p.at]
	if !escaped {
		return string(quoted[1 : len(quoted)-1]), nil
	}
	if loneSurrogate(quoted) {
		return "", syntaxError("has a lone surrogate in the string at byte %d", start)
	}
	var s string
	err := json.Unmarshal(quoted, &s)
	return s, err
}

// loneSurrogate reports whether a JSON string has an escape for half of a
// surrogate pair.
func loneSurrogate(quoted []byte) bool {
	unit := func(i int) rune { // the UTF-16 unit escaped at i; -1: none
		if i+6 > len(quoted) || quoted[i] != '\\' || quoted[i+1] != 'u' {
			return -1
		}
		n, _ := strconv.ParseUint(string(quoted[i+2:i+6]), 16, 16)
		return rune(n)
	}
	high := func(u rune) bool { return 0xd800 <= u && u < 0xdc00 }
	low := func(u rune) bool { return 0xdc00 <= u && u < 0xe000 }
	for i := 0; i < len(quoted); i++ {
		if quoted[i] != '\\' {
			continue
		}
		switch u := unit(i); {
		case low(u), high(u) && !low(unit(i+6)):
			return true
		case high(u):
			i += 11 // both halves
		default:
			i++ // the escaped character, which may be a backslash
		}
	}
	return false
}

func (p *parser) number() json.Number {
	start := p.at
	for p.at < len(p.data) && bytes.IndexByte([]byte("+-.0123456789eE"), p.data[p.at]) >= 0 {
		p.at++
	}
	return json.Number(p.data[start:p.at])
}

func (p *parser) space() {
	for p.at < len(p.data) && bytes.IndexByte([]byte(" \t\r\n"), p.data[p.at]) >= 0 {
		p.at++
	}
}

// shorten truncates a name for use in a message.
func shorten(name string) string {
	const most = 64
	if utf8.RuneCountInString(name) <= most {
		return name
	}
	return string([]rune(name)[:most]) + "…"
}
