// Package configfile reads a configuration file into a Go value. The file is JSON with
// comments, and its names are those of the fields.
package configfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// JSON returns a configuration file without comments (from // to the end of the line) and
// without commas after the last value of an object or a list. Its error has the line.
func JSON(text []byte) (json.RawMessage, error) {
	text = bytes.Clone(bytes.TrimPrefix(text, []byte("\ufeff")))
	inText, comma := false, -1 // where a comma is that nothing has followed yet
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inText && c == '\\':
			i++
		case inText:
			inText = c != '"'
		case bytes.HasPrefix(text[i:], []byte("//")):
			for ; i < len(text) && text[i] != '\n'; i++ {
				text[i] = ' '
			}
		case c == ' ', c == '\t', c == '\n', c == '\r':
		case c == ',':
			comma = i
		default:
			if comma >= 0 && (c == '}' || c == ']') {
				text[comma] = ' '
			}
			comma, inText = -1, c == '"'
		}
	}
	var all json.RawMessage
	err := json.Unmarshal(text, &all)
	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		err = fmt.Errorf("line %d: %w", 1+bytes.Count(text[:wrong.Offset], []byte("\n")), err)
	}
	return all, err
}

// A member is a name of an object and its value.
type member struct {
	name  string
	value json.RawMessage
}

// members returns the members of an object in their order; false: the value is no object.
func (d *Decoder) members(path string, value json.RawMessage) (all []member, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(value))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return nil, false
	}
	for dec.More() { // of valid JSON
		name, _ := dec.Token()
		m := member{name: name.(string)}
		_ = dec.Decode(&m.value)
		if slices.ContainsFunc(all, func(other member) bool { return other.name == m.name }) {
			d.Fault(Join(path, m.name), "is there twice")
		}
		all = append(all, m)
	}
	return all, true
}
