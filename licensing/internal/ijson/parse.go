// Package ijson reads JSON by the rules of I-JSON (RFC 7493), which
// encoding/json does not enforce: no duplicate member, no lone surrogate, no
// invalid UTF-8. Request bodies and import rows are read with it.
package ijson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// maxDepth is how deep objects and arrays may nest.
const maxDepth = 32

// Parse reads one JSON value as nil, bool, json.Number, string, []any or
// map[string]any. It refuses invalid UTF-8, a byte order mark, duplicate
// members, half of a surrogate pair, nesting deeper than 32 levels, and
// anything after the value. The text of an error continues a sentence whose
// subject is the data: "is empty".
func Parse(data []byte) (any, error) {
	switch {
	case !utf8.Valid(data):
		return nil, errors.New("is not valid UTF-8")
	case bytes.HasPrefix(data, []byte("\ufeff")):
		return nil, errors.New("begins with a byte order mark; send it without")
	case len(bytes.TrimLeft(data, " \t\r\n")) == 0:
		return nil, errors.New("is empty; send a JSON object")
	}
	// encoding/json checks the grammar, and the walk checks the rest.
	if !json.Valid(data) {
		return nil, fmt.Errorf("is not well-formed JSON: see byte %d", syntaxErrorAt(data))
	}
	w := walk{data: data}
	return w.value(1)
}

// syntaxErrorAt returns the offset at which data stops being JSON.
func syntaxErrorAt(data []byte) int64 {
	var raw json.RawMessage
	if syntax, ok := json.Unmarshal(data, &raw).(*json.SyntaxError); ok {
		return syntax.Offset
	}
	return 0
}

// A walk goes over JSON that is known to be well-formed, and makes of it nil,
// bool, json.Number, string, []any and map[string]any.
type walk struct {
	data []byte
	at   int
}

func (w *walk) value(depth int) (any, error) {
	w.space()
	switch c := w.data[w.at]; c {
	case '{', '[':
		if depth > maxDepth {
			return nil, fmt.Errorf("nests deeper than %d levels", maxDepth)
		}
		if c == '{' {
			return w.object(depth)
		}
		return w.array(depth)
	case '"':
		return w.text()
	case 't':
		w.at += len("true")
		return true, nil
	case 'f':
		w.at += len("false")
		return false, nil
	case 'n':
		w.at += len("null")
		return nil, nil
	default:
		return w.number(), nil
	}
}

func (w *walk) object(depth int) (any, error) {
	members := make(map[string]any)
	for !w.ends('}') {
		w.space()
		name, err := w.text()
		if err != nil {
			return nil, err
		}
		if _, twice := members[name]; twice {
			return nil, fmt.Errorf("has the member %q twice: see byte %d", shorten(name), w.at)
		}
		w.space()
		w.at++ // the colon
		if members[name], err = w.value(depth + 1); err != nil {
			return nil, err
		}
	}
	return members, nil
}

func (w *walk) array(depth int) (any, error) {
	list := []any{}
	for !w.ends(']') {
		v, err := w.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// ends steps over the opening bracket or the comma before the next element;
// it reports true, and steps over the closing bracket, when there is none.
func (w *walk) ends(closing byte) bool {
	w.space()
	if w.data[w.at] != closing {
		w.at++
		w.space()
	}
	if w.data[w.at] != closing {
		return false
	}
	w.at++
	return true
}

func (w *walk) text() (string, error) {
	start := w.at
	escaped := false
	for w.at++; w.data[w.at] != '"'; w.at++ {
		if w.data[w.at] == '\\' {
			escaped = true
			w.at++
		}
	}
	w.at++
	quoted := w.data[start:w.at]
	if !escaped {
		return string(quoted[1 : len(quoted)-1]), nil
	}
	if loneSurrogate(quoted) {
		return "", fmt.Errorf("has half of a surrogate pair in the string at byte %d", start)
	}
	var s string
	err := json.Unmarshal(quoted, &s)
	return s, err
}

// loneSurrogate reports whether a JSON string has an escape for one half of a
// surrogate pair without the other.
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
			i += 11 // over both halves
		default:
			i++ // over the escaped character, which may be a backslash
		}
	}
	return false
}

func (w *walk) number() json.Number {
	start := w.at
	for w.at < len(w.data) && bytes.IndexByte([]byte("+-.0123456789eE"), w.data[w.at]) >= 0 {
		w.at++
	}
	return json.Number(w.data[start:w.at])
}

func (w *walk) space() {
	for w.at < len(w.data) && bytes.IndexByte([]byte(" \t\r\n"), w.data[w.at]) >= 0 {
		w.at++
	}
}

// shorten cuts a name that goes into a sentence.
func shorten(name string) string {
	const most = 64
	if utf8.RuneCountInString(name) <= most {
		return name
	}
	return string([]rune(name)[:most]) + "…"
}
