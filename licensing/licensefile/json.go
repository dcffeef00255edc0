package licensefile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"unicode/utf8"
)

// maxDepth is the maximum nesting depth of objects and arrays.
const maxDepth = 8

// object parses data as one JSON object and returns its members by their exact
// names. encoding/json alone accepts duplicate members, names in another case
// and invalid UTF-8, and other JOSE libraries may read such an object
// differently.
func object(data []byte) (map[string]json.RawMessage, error) {
	if !utf8.Valid(data) || !json.Valid(data) {
		return nil, fmt.Errorf("%w: not well-formed JSON", ErrMalformed)
	}
	if err := unique(json.NewDecoder(bytes.NewReader(data)), maxDepth); err != nil {
		return nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil || members == nil {
		return nil, fmt.Errorf("%w: not a JSON object", ErrMalformed)
	}
	return members, nil
}

// unique reads one value and returns an error if an object in it has a
// duplicate member or if it is nested too deeply.
func unique(d *json.Decoder, depth int) error {
	token, err := d.Token()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	open, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	if depth == 0 {
		return fmt.Errorf("%w: nested more than %d levels deep", ErrMalformed, maxDepth)
	}
	seen := make(map[string]bool)
	for d.More() {
		if open == '{' {
			token, err := d.Token()
			if err != nil {
				return fmt.Errorf("%w: %w", ErrMalformed, err)
			}
			name, _ := token.(string)
			if seen[name] {
				return fmt.Errorf("%w: %.64q", ErrDuplicate, name)
			}
			seen[name] = true
		}
		if err := unique(d, depth-1); err != nil {
			return err
		}
	}
	_, err = d.Token() // the closing bracket
	return err
}

// members reads the members of an object one by one, and keeps the first
// error.
type members struct {
	from map[string]json.RawMessage
	err  error
}

// read decodes a member into v. If it is absent, read does not change v, and
// notes an error if the member is required.
func (m *members) read(name string, required bool, v any) {
	raw, present := m.from[name]
	switch {
	case m.err != nil:
	case !present && required:
		m.err = fmt.Errorf("%w: %q is missing", ErrMalformed, name)
	case !present:
	case string(raw) == "null" || json.Unmarshal(raw, v) != nil:
		m.err = fmt.Errorf("%w: %q has the wrong type", ErrMalformed, name)
	}
}

// text reads a string. A required one must not be empty.
func (m *members) text(name string, required bool) (s string) {
	m.read(name, required, &s)
	if m.err == nil && required && s == "" {
		m.err = fmt.Errorf("%w: %q is empty", ErrMalformed, name)
	}
	return s
}

// number reads a whole number from least to 2^53-1, the largest that every
// JSON library reads exactly (RFC 7493). Some libraries write it as a float,
// such as 1.8e+09.
func (m *members) number(name string, required bool, least int64) int64 {
	var n float64
	_, present := m.from[name]
	m.read(name, required, &n)
	if m.err == nil && present && (n != math.Trunc(n) || n < float64(least) || n > maxNumber) {
		m.err = fmt.Errorf("%w: %q is not a whole number from %d to %d", ErrMalformed, name, least, int64(maxNumber))
	}
	return int64(n)
}

const maxNumber = 1<<53 - 1

// encode returns v as JSON without HTML escaping and without a final newline.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
