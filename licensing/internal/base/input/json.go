package input

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
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
		var syntax *json.SyntaxError
		errors.As(json.Unmarshal(data, new(any)), &syntax)
		return nil, syntaxError("is not well-formed JSON; see byte %d", syntax.Offset)
	}
	o, err := members(data)
	if err == nil && trim(data)[0] != '{' {
		err = ErrNotObject
	}
	return o, err
}

func trim(data []byte) []byte { return bytes.Trim(data, " \t\r\n") }

// members returns the members of the object in data, which is well-formed. It
// checks the depth, the names and the strings of all values in it.
func members(data []byte) (Object, error) {
	type named struct {
		object int // where the object begins
		name   string
	}
	var (
		o     = Object{}
		seen  = map[named]bool{} // the names in inner objects
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
			quoted := data[i:end]
			if bytes.IndexByte(quoted, '\\') >= 0 && !paired.Match(quoted) {
				return nil, syntaxError("has a lone surrogate in the string at byte %d", i)
			}
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
				duplicate, seen[key] = seen[key], true
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

// paired is a JSON string in which each \u escape of half of a surrogate pair is
// beside that of the other half.
var paired = regexp.MustCompile(`^(?:[^\\]|\\(?:[^u]|u(?:[^dD]|[dD](?:[0-7]|[89abAB]..\\u[dD][c-fC-F]..))))*$`)

// Canonical returns the JSON object in data with sorted members: the same bytes for
// objects that differ only in order, white space and escapes. No data is the same as
// an object without members.
func Canonical(data []byte) []byte {
	if len(data) == 0 {
		return []byte("{}")
	}
	text, _ := json.Marshal(anyOf(data)) // never fails
	return text
}

// shorten truncates a name for use in a message.
func shorten(name string) string {
	const most = 64
	if utf8.RuneCountInString(name) <= most {
		return name
	}
	return string([]rune(name)[:most]) + "…"
}
