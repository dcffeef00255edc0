package web

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// maxDepth is how deep objects and arrays may nest in a body.
const maxDepth = 32

// parseObject reads a body that is one JSON object, by the rules of I-JSON
// (RFC 7493): valid UTF-8 without a byte order mark, no member twice, no half
// of a surrogate pair, nothing behind the object. encoding/json forgives all
// of these, so it only checks the grammar here; the walk over what it has
// approved finds the rest.
func parseObject(data []byte) (*Object, error) {
	switch {
	case !utf8.Valid(data):
		return nil, invalidJSON("The body is not valid UTF-8.")
	case bytes.HasPrefix(data, []byte("\ufeff")):
		return nil, invalidJSON("The body begins with a byte order mark; send it without.")
	case len(bytes.TrimLeft(data, " \t\r\n")) == 0:
		return nil, invalidJSON("The body is empty; send a JSON object.")
	}
	if !json.Valid(data) {
		return nil, invalidJSON(fmt.Sprintf("The body is not well-formed JSON: see byte %d.", syntaxErrorAt(data)))
	}
	w := walk{data: data}
	v, err := w.value(1)
	if err != nil {
		return nil, err
	}
	members, ok := v.(map[string]any)
	if !ok {
		return nil, license.Invalid("", codeInvalidType, "must be a JSON object")
	}
	return &Object{members: members}, nil
}

func invalidJSON(detail string) *Problem {
	return &Problem{Status: http.StatusBadRequest, Code: "invalid_json", Detail: detail}
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
			return nil, invalidJSON(fmt.Sprintf("The body nests deeper than %d levels.", maxDepth))
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
			return nil, invalidJSON(fmt.Sprintf("The member %q is there twice: see byte %d.", shorten(name), w.at))
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
		return "", invalidJSON(fmt.Sprintf("The string at byte %d has half of a surrogate pair.", start))
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
