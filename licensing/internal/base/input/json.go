package input

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// The limits of JSON, so that checking it costs little memory.
const (
	maxDepth   = 32   // objects and arrays within each other
	maxMembers = 1000 // of an object, together with those of the objects around it
	maxName    = 8192 // characters; a map has a lower limit of its own
)

// An Object is the text of a JSON object that [JSON] has checked, without white space
// around it. Empty: an object without members.
type Object []byte

// A SyntaxError says why data is not I-JSON.
type SyntaxError struct {
	Detail string // a phrase such as "is not valid UTF-8"
}

func (e *SyntaxError) Error() string { return e.Detail }

func syntaxError(format string, args ...any) error {
	return &SyntaxError{Detail: fmt.Sprintf(format, args...)}
}

// JSON checks a JSON object in data, which must be I-JSON (RFC 7493): valid UTF-8
// without a byte order mark, duplicate members, lone surrogates, or data after
// the value. encoding/json accepts some of these, so it only checks the grammar.
//
// The error is a [*SyntaxError], or [ErrNotObject] for any other JSON value.
func JSON(data []byte) (Object, error) {
	text := trim(data)
	switch {
	case !utf8.Valid(data):
		return nil, syntaxError("is not valid UTF-8")
	case bytes.HasPrefix(data, []byte("\ufeff")):
		return nil, syntaxError("begins with a byte order mark; remove it")
	case len(text) == 0:
		return nil, syntaxError("is empty; send a JSON object")
	case tooDeep(data): // first, because the check of the grammar needs memory for each level
		return nil, syntaxError("is nested more than %d levels deep", maxDepth)
	case !json.Valid(data):
		var syntax *json.SyntaxError
		errors.As(json.Unmarshal(data, new(any)), &syntax)
		return nil, syntaxError("is not well-formed JSON; see byte %d", syntax.Offset)
	}
	if err := checkStrings(data); err != nil {
		return nil, err
	}
	if text[0] != '{' {
		return nil, ErrNotObject
	}
	return text, nil
}

func trim(data []byte) []byte { return bytes.Trim(data, space) }

// space is the white space of JSON.
const space = " \t\r\n"

// tooDeep reports whether data, which may have any form, opens more than maxDepth objects
// and arrays within each other.
func tooDeep(data []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++
		case quoted:
		case c == '{', c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}', c == ']':
			depth--
		}
	}
	return false
}

// A name is the name of a member: its hash, and where it begins in the text.
type name struct{ hash, at uint32 }

var seed = maphash.MakeSeed()

// checkStrings checks the strings of data, which is well-formed, and the names in each of its objects.
func checkStrings(data []byte) error {
	var (
		open    [maxDepth]int // the number of names before each open object or array
		depth   int
		names   []name // of the open objects
		scratch []byte
	)
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			open[depth] = len(names)
			depth++
		case '}', ']':
			depth--
			if err := checkNames(data, names[open[depth]:]); err != nil {
				return err
			}
			names = names[:open[depth]]
		case '"':
			end := endOfString(data, i)
			quoted := data[i:end]
			if hasLoneSurrogate(quoted) {
				return syntaxError("has a lone surrogate in the string at byte %d", i)
			}
			if after := afterSpace(data, end); after < len(data) && data[after] == ':' {
				if len(names) == maxMembers {
					return syntaxError("has an object with more than %d members; see byte %d", maxMembers, end)
				}
				if isLonger(quoted, maxName) {
					return syntaxError("has a member whose name is longer than %d characters; see byte %d", maxName, end)
				}
				scratch = appendText(scratch[:0], quoted)
				names = append(names, name{uint32(maphash.Bytes(seed, scratch)), uint32(i)})
			}
			i = end - 1
		}
	}
	return nil
}

// checkNames returns an error if two names of an object are the same. It sorts the names.
func checkNames(data []byte, names []name) error {
	slices.SortFunc(names, func(a, b name) int { return cmp.Or(cmp.Compare(a.hash, b.hash), cmp.Compare(a.at, b.at)) })
	for i, n := range names {
		for _, later := range names[i+1:] {
			if later.hash != n.hash {
				break
			}
			end := endOfString(data, int(later.at))
			text := appendText(nil, data[later.at:end])
			if bytes.Equal(text, appendText(nil, data[n.at:endOfString(data, int(n.at))])) {
				return syntaxError("has a duplicate member %q; see byte %d", shorten(text), end)
			}
		}
	}
	return nil
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

// endOfValue returns the offset after the value that begins at an offset of data.
func endOfValue(data []byte, at int) int {
	for depth := 0; at < len(data); at++ {
		switch c := data[at]; {
		case c == '"':
			at = endOfString(data, at) - 1
		case c == '{', c == '[':
			depth++
			continue
		case c == '}', c == ']':
			depth--
		case depth > 0:
			continue
		default: // a number, true, false or null
			return at + bytes.IndexAny(data[at:], space+",]}")
		}
		if depth == 0 {
			return at + 1
		}
	}
	return at
}

// afterSpace returns the first offset of data, from one on, that is not white space.
func afterSpace(data []byte, at int) int {
	for at < len(data) && strings.IndexByte(space, data[at]) >= 0 {
		at++
	}
	return at
}

// each iterates over the members of an object, or the elements of an array, whose text is
// well-formed and has no white space around it: over the names, which are strings of
// JSON, and the values. An element has no name.
func each(text []byte) iter.Seq2[[]byte, json.RawMessage] {
	return func(yield func([]byte, json.RawMessage) bool) {
		if len(text) == 0 {
			return
		}
		for at := afterSpace(text, 1); at < len(text)-1; {
			var name []byte
			if text[0] == '{' {
				end := endOfString(text, at)
				name = text[at:end]
				at = afterSpace(text, afterSpace(text, end)+1)
			}
			end := endOfValue(text, at)
			if !yield(name, text[at:end:end]) {
				return
			}
			if at = afterSpace(text, end); text[at] == ',' {
				at = afterSpace(text, at+1)
			}
		}
	}
}

// count returns the number of members or elements of an object or an array, but at most
// limit.
func count(text []byte, limit int) (n int) {
	for range each(text) {
		if n++; n == limit {
			break
		}
	}
	return n
}

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

// shorten returns a name for use in a message, truncated to 64 characters.
func shorten(name []byte) string {
	rest := name
	for range 64 {
		_, n := utf8.DecodeRune(rest)
		rest = rest[n:]
	}
	if len(rest) == 0 {
		return string(name)
	}
	return string(name[:len(name)-len(rest)]) + "…"
}
