package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A description is the part of an OpenAPI document that the reference shows.
type description struct {
	Info struct {
		Version     string
		Description string
	}
	Tags []struct {
		Name        string
		Description markup
	}
	Paths      members[members[json.RawMessage]]
	Components struct {
		Schemas    members[schema]
		Parameters map[string]parameter
		Responses  map[string]response
		Examples   map[string]example
	}
}

// example returns the example of a body as indented JSON, or "". Of a list that is
// sent as lines, it returns the lines.
func (d description) example(mediaType string, c content) string {
	value := c.Example
	for _, e := range c.Examples {
		if value == nil {
			value = e.Value.Value
			if e.Value.Ref != "" {
				value = d.Components.Examples[refName(e.Value.Ref)].Value
			}
		}
	}
	var b bytes.Buffer
	if lines := []json.RawMessage{}; mediaType == "application/x-ndjson" && json.Unmarshal(value, &lines) == nil {
		for _, line := range lines {
			_ = json.Compact(&b, line) // a part of the document
			b.WriteByte('\n')
		}
		return b.String()
	}
	if len(value) == 0 || json.Indent(&b, value, "", "  ") != nil {
		return ""
	}
	return b.String()
}

// members are the members of a JSON object, in document order.
type members[T any] []member[T]

type member[T any] struct {
	Name  string
	Value T
}

// UnmarshalJSON implements [json.Unmarshaler].
func (m *members[T]) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil { // the opening brace
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value T
		if err := d.Decode(&value); err != nil {
			return err
		}
		*m = append(*m, member[T]{fmt.Sprint(name), value})
	}
	return nil
}

type operation struct {
	OperationID string
	Tags        []string
	Summary     string
	Description markup
	Security    []map[string][]string
	Parameters  []parameter
	RequestBody struct {
		Required bool
		Content  members[content]
	}
	Responses members[response]
}

// scope returns the scope that the operation requires, or "".
func (o operation) scope() string {
	for _, scheme := range o.Security {
		if scopes := scheme["oauth2"]; len(scopes) > 0 {
			return strings.Join(scopes, " ")
		}
	}
	return ""
}

type parameter struct {
	Ref         string `json:"$ref"`
	Name        string
	In          string
	Required    bool
	Description markup
	Schema      schema
	Example     any
}

type response struct {
	Ref         string `json:"$ref"`
	Description markup
	Content     members[content]
}

type content struct {
	Schema   schema
	Example  json.RawMessage
	Examples members[example]
}

type example struct {
	Ref   string `json:"$ref"`
	Value json.RawMessage
}

type schema struct {
	Ref         string `json:"$ref"`
	Description markup
	Type        stringOrList
	Format      string
	Enum        []string
	Const       any
	Required    []string
	Properties  members[schema]
	Items       *schema
	OneOf       []schema

	required bool // as a member of a body
}

// stringOrList is a JSON string, or a list of strings.
type stringOrList []string

// UnmarshalJSON implements [json.Unmarshaler].
func (o *stringOrList) UnmarshalJSON(data []byte) error {
	if data[0] == '[' {
		return json.Unmarshal(data, (*[]string)(o))
	}
	*o = make([]string, 1)
	return json.Unmarshal(data, &(*o)[0])
}

// refName returns the last segment of a reference within the document.
func refName(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }

// kind describes the type of the schema. If the type is an object with a name,
// kind returns that name too.
func (s schema) kind() (words, object string) {
	switch {
	case s.Ref != "":
		return "", refName(s.Ref)
	case s.Const != nil:
		value, _ := json.Marshal(s.Const)
		return string(value), ""
	case len(s.Enum) > 0:
		return strings.Join(s.Enum, ", "), ""
	case len(s.OneOf) > 0:
		var all []string
		for _, choice := range s.OneOf {
			words, name := choice.kind()
			if name != "" && object == "" {
				object = name
			} else {
				all = append(all, words+name)
			}
		}
		return "or " + strings.Join(all, " or "), object
	case s.Items != nil && slices.Contains(s.Type, "array"):
		words, object = s.Items.kind()
		if words = strings.TrimSpace("list of " + words); slices.Contains(s.Type, "null") {
			words += ", or null"
		}
		return words, object
	}
	var all []string
	for _, t := range s.Type {
		if s.Format == "date-time" && t == "string" {
			t = "timestamp"
		}
		all = append(all, t)
	}
	return strings.Join(all, " or "), ""
}

// Kind and Object are the results of kind.
func (s schema) Kind() string   { words, _ := s.kind(); return words }
func (s schema) Object() string { _, object := s.kind(); return object }

// Requires reports whether a member of the object is required.
func (s schema) Requires(name string) bool { return slices.Contains(s.Required, name) }

// IsRequired reports whether the body must have the member.
func (s schema) IsRequired() bool { return s.required }
