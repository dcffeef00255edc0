package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// referencePage is the body of the API reference, built from the OpenAPI
// document.
type referencePage struct {
	Version string
	Intro   []markup
	Groups  []tagGroup
	Objects []object
}

// A tagGroup has the operations of one tag.
type tagGroup struct {
	Name       string
	Text       markup
	Operations []operationView
}

type operationView struct {
	ID, Method, Path string
	Summary          string
	Text             markup
	Scope            string
	Parameters       []fieldView
	Body             []fieldView
	BodyTypes        []string
	Responses        []responseView
	Command          command

	curl, address string // the parts of the command
}

type responseView struct {
	Status string
	Text   markup
	Object string // the name of the object in the body; empty: see Kind
	Kind   string
}

type object struct {
	Name   string
	Text   markup
	Fields []fieldView
	Kind   string // the type, if there are no fields
	Object string // the name of the objects, if it is a list
}

// A fieldView is one parameter or one member of an object.
type fieldView struct {
	Name     string
	Where    string // path, query or header, for a parameter
	Kind     string
	Object   string // the name of the object in it
	Required bool
	Text     markup
}

// markup is text in which every second piece is code.
type markup []string

func parseMarkup(s string) markup {
	if s == "" {
		return nil
	}
	return strings.Split(s, "`")
}

// showReference renders the reference. Only the addresses in the commands depend
// on the request.
func showReference(v *visit) error {
	body := v.h.reference()
	groups := slices.Clone(body.Groups)
	for i, g := range groups {
		groups[i].Operations = slices.Clone(g.Operations)
		for j, o := range g.Operations {
			groups[i].Operations[j].Command = v.command(o.Summary, o.curl, o.address)
		}
	}
	body.Groups = groups
	return v.render(http.StatusOK, "reference", page{Title: "API reference", Section: "reference", Body: body})
}

// newReference builds the reference from the OpenAPI document. It panics if the
// document is invalid; a test prevents that.
func newReference(document []byte) referencePage {
	var d description
	if err := json.Unmarshal(document, &d); err != nil {
		panic(fmt.Errorf("dashboard: parse the OpenAPI document: %w", err))
	}
	body := referencePage{Version: d.Info.Version}
	for paragraph := range strings.SplitSeq(d.Info.Description, "\n\n") {
		body.Intro = append(body.Intro, parseMarkup(paragraph))
	}
	for _, tag := range d.Tags {
		g := tagGroup{Name: tag.Name, Text: parseMarkup(tag.Description)}
		for _, path := range d.Paths {
			g.Operations = append(g.Operations, operations(d, tag.Name, path)...)
		}
		body.Groups = append(body.Groups, g)
	}
	for _, s := range d.Components.Schemas {
		o := object{Name: s.Name, Text: parseMarkup(s.Value.Description), Fields: s.Value.fields()}
		if len(o.Fields) == 0 {
			o.Kind, o.Object = s.Value.kind()
		}
		body.Objects = append(body.Objects, o)
	}
	return body
}

// operations returns the operations of a path that have the tag.
func operations(d description, tag string, path member[members[json.RawMessage]]) (views []operationView) {
	var common []parameter
	for _, m := range path.Value {
		if m.Name == "parameters" {
			decodePart(m.Value, &common)
			continue
		}
		var o operation
		decodePart(m.Value, &o)
		if o.Tags[0] == tag {
			o.Parameters = append(common[:len(common):len(common)], o.Parameters...)
			views = append(views, newOperationView(d, strings.ToUpper(m.Name), path.Name, o))
		}
	}
	return views
}

// decodePart decodes a part of the OpenAPI document.
func decodePart(part json.RawMessage, v any) {
	if err := json.Unmarshal(part, v); err != nil {
		panic(fmt.Errorf("dashboard: parse the OpenAPI document: %w", err))
	}
}

func newOperationView(d description, method, path string, o operation) operationView {
	view := operationView{ID: o.OperationID, Method: method, Path: path, Summary: o.Summary, Text: parseMarkup(o.Description), Scope: o.scope()}
	for i, p := range o.Parameters {
		if p.Ref != "" {
			p = d.Components.Parameters[refName(p.Ref)]
			o.Parameters[i] = p
		}
		kind, object := p.Schema.kind()
		view.Parameters = append(view.Parameters, fieldView{p.Name, p.In, kind, object, p.Required, parseMarkup(p.Description)})
	}
	for _, c := range o.RequestBody.Content {
		view.BodyTypes = append(view.BodyTypes, c.Name)
		for _, s := range d.Components.Schemas {
			if s.Name != refName(c.Value.Schema.Ref) {
				continue
			}
			if s.Value.Items != nil { // one object per line
				view.Body = []fieldView{{Name: "each line", Object: refName(s.Value.Items.Ref)}}
			} else {
				view.Body = s.Value.fields()
			}
		}
	}
	for _, r := range o.Responses {
		answer := r.Value
		if answer.Ref != "" {
			answer = d.Components.Responses[refName(answer.Ref)]
		}
		a := responseView{Status: r.Name, Text: parseMarkup(answer.Description)}
		for _, c := range answer.Content {
			a.Kind, a.Object = c.Value.Schema.kind()
		}
		view.Responses = append(view.Responses, a)
	}
	view.curl, view.address = curl(method, o), examplePath(path, o)
	return view
}

// fields returns the members of an object.
func (s schema) fields() []fieldView {
	var all []fieldView
	for _, p := range s.Properties {
		kind, object := p.Value.kind()
		f := fieldView{Name: p.Name, Kind: kind, Object: object, Text: parseMarkup(p.Value.Description)}
		for _, name := range s.Required {
			f.Required = f.Required || name == p.Name
		}
		all = append(all, f)
	}
	return all
}

// curl returns the command that sends the example of an operation, up to the
// address.
func curl(method string, o operation) string {
	var b strings.Builder
	b.WriteString("curl ")
	body := o.RequestBody.Content
	if method != http.MethodGet && (method != http.MethodPost || len(body) == 0) {
		b.WriteString("-X " + method + " ")
	}
	switch {
	case o.scope() != "":
		b.WriteString(`-H "Authorization: Bearer $TOKEN" `)
	case len(o.Security) > 0:
		b.WriteString(`-u "$CLIENT_ID:$CLIENT_SECRET" `)
	}
	if len(body) == 0 {
		return b.String()
	}
	const form = "application/x-www-form-urlencoded"
	if first := body[0]; first.Name == form {
		var values members[string]
		_ = json.Unmarshal(first.Value.Example, &values) // the OpenAPI document is valid
		for _, v := range values {
			b.WriteString("-d " + v.Name + "=" + v.Value + " ")
		}
		return b.String()
	}
	example, lines := string(body[0].Value.Example), []json.RawMessage{}
	if json.Unmarshal(body[0].Value.Example, &lines) == nil && len(lines) > 0 {
		example = string(lines[0])
	}
	fmt.Fprintf(&b, "-H 'Content-Type: %s' -d '%s' ", body[0].Name, compact(example))
	return b.String()
}

// compact removes the white space from JSON.
func compact(example string) string {
	var v json.RawMessage = []byte(example)
	short, err := json.Marshal(v)
	if err != nil {
		return example
	}
	return string(short)
}

// examplePath returns the path with example values, below the mount.
func examplePath(path string, o operation) string {
	for _, p := range o.Parameters {
		if p.In == "path" && p.Example != nil {
			path = strings.ReplaceAll(path, "{"+p.Name+"}", fmt.Sprint(p.Example))
		}
	}
	return path
}
