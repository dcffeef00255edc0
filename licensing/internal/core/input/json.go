package input

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is the maximum nesting depth of objects and arrays.
const maxDepth = 32

// An Object is a JSON object whose members are not decoded yet: each is one
// well-formed value without white space around it.
type Object map[string]json.RawMessage

// A SyntaxError says why data is not I-JSON.
type SyntaxError struct {
	Detail string // a phrase such as "is not valid UTF-8"
}

func (e *SyntaxError) Error() string { return e.Detail }

func syntaxError(format string, args ...any) error {
	return &SyntaxError{Detail: fmt.Sprintf(format, args...)}
}

// JSON reads a JSON object in data, which must be I-JSON (RFC 7493): valid UTF-8
// without a byte order mark, duplicate members, lone surrogates, or data after
// the value. encoding/json accepts some of these, so it only checks the grammar.
//
// The error is a [*SyntaxError], or [ErrNotObject] for any other JSON value.
func JSON(data []byte) (Object, error) {
	switch {
	case !utf8.Valid(data):
		return nil, syntaxError("is not valid UTF-8")
	case bytes.HasPrefix(data, []byte("\ufeff")):
		return nil, syntaxError("begins with a byte order mark; remove it")
	case len(trim(data)) == 0:
		return nil, syntaxError("is empty; send a JSON object")
	case !json.Valid(data):
		return nil, syntaxError("is not well-formed JSON; see byte %d", syntaxErrorAt(data))
	}
	o, err := members(data)
	if err == nil && trim(data)[0] != '{' {
		err = ErrNotObject
	}
	return o, err
}

func trim(data []byte) []byte { return bytes.Trim(data, " \t\r\n") }

// syntaxErrorAt returns the offset of the first syntax error in data.
func syntaxErrorAt(data []byte) int64 {
	var raw json.RawMessage
	if syntax, ok := json.Unmarshal(data, &raw).(*json.SyntaxError); ok {
		return syntax.Offset
	}
	return 0
}

// members returns the members of the object in data, which is well-formed. It
// checks the depth, the names and the strings of all values in it.
func members(data []byte) (Object, error) {
	type named struct {
		object int // where the object begins
		name   string
	}
	var (
		o     = Object{}
		seen  map[named]bool // the names in inner objects
		open  = make([]int, 0, maxDepth)
		name  string // of the member of o that the loop is in
		value int    // where the value of that member begins; 0: between members
	)
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			if len(open) == maxDepth {
				return nil, syntaxError("is nested more than %d levels deep", maxDepth)
			}
			open = append(open, i)
		case ',', '}', ']':
			if len(open) == 1 && value > 0 {
				o[name], value = trim(data[value:i]), 0
			}
			if data[i] != ',' {
				open = open[:len(open)-1]
			}
		case '"':
			end := endOfString(data, i)
			if loneSurrogate(data[i:end]) {
				return nil, syntaxError("has a lone surrogate in the string at byte %d", i)
			}
			quoted := data[i:end]
			i = end - 1
			after := bytes.TrimLeft(data[end:], " \t\r\n")
			if len(after) == 0 || after[0] != ':' {
				continue
			}
			member, duplicate := unquote(quoted), false
			if len(open) == 1 {
				name, value = member, len(data)-len(after)+1
				_, duplicate = o[name]
			} else {
				key := named{open[len(open)-1], member}
				if duplicate = seen[key]; seen == nil {
					seen = make(map[named]bool)
				}
				seen[key] = true
			}
			if duplicate {
				return nil, syntaxError("has a duplicate member %q; see byte %d", shorten(member), end)
			}
		}
	}
	return o, nil
}

// endOfString returns the offset after the string that begins at an offset of
// data.
func endOfString(data []byte, at int) int {
	for at++; data[at] != '"'; at++ {
		if data[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// loneSurrogate reports whether a JSON string has an escape for half of a
// surrogate pair.
func loneSurrogate(quoted []byte) bool {
	for i := 0; i < len(quoted); i++ {
		if quoted[i] != '\\' {
			continue
		}
		switch r := escaped(quoted[i:]); {
		case !utf16.IsSurrogate(r):
			i++ // the escaped character, which may be a backslash
		case utf16.DecodeRune(r, escaped(quoted[i+6:])) == unicode.ReplacementChar:
			return true
		default:
			i += 11 // both halves
		}
	}
	return false
}

// escaped returns the UTF-16 unit of the \u escape that s begins with; -1: none.
func escaped(s []byte) rune {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	n, _ := strconv.ParseUint(string(s[2:6]), 16, 16)
	return rune(n)
}

// Canonical returns o with sorted members: the same bytes for objects that
// differ only in order, white space and escapes.
func (o Object) Canonical() []byte {
	var b bytes.Buffer
	o.writeCanonical(&b)
	return b.Bytes()
}

func (o Object) writeCanonical(b *bytes.Buffer) {
	b.WriteByte('{')
	for i, name := range slices.Sorted(maps.Keys(o)) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(marshal(name))
		b.WriteByte(':')
		switch raw := o[name]; {
		case raw[0] == '{':
			inner, _ := members(raw)
			inner.writeCanonical(b)
		case raw[0] == '[' || bytes.IndexByte(raw, '\\') >= 0:
			b.Write(marshal(anyOf(raw)))
		default:
			json.HTMLEscape(b, raw) // as marshal does
		}
	}
	b.WriteByte('}')
}

// marshal encodes a value that was decoded by anyOf.
func marshal(v any) []byte {
	text, _ := json.Marshal(v) // never fails
	return text
}

// values returns the members of o, decoded.
func (o Object) values() map[string]any {
	values := make(map[string]any, len(o))
	for name, raw := range o {
		values[name] = anyOf(raw)
	}
	return values
}

// shorten truncates a name for use in a message.
func shorten(name string) string {
	const most = 64
	if utf8.RuneCountInString(name) <= most {
		return name
	}
	return string([]rune(name)[:most]) + "…"
}
