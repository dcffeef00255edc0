package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// A reference is the API reference, built from the OpenAPI document.
type reference struct {
	Version string
	Intro   []markup
	Groups  []tagGroup
	Objects []object

	operations map[string]operationView // by id
	objects    map[string]object        // by name
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
	Successes        []responseView // status below 400
	Failures         []responseView
	Example          string // the body of a successful response; empty: none
	ExampleStatus    string
	Before, After    *referenceLink // the operations next to this one

	curl, address string // the parts of the command
	text          string // what the filter searches, in lower case
}

// A referenceLink is a link to another page of the reference.
type referenceLink struct{ Name, Title string }

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

	text string // what the filter searches, in lower case
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

// referencePage is the body of a page of the reference: of one operation, of one
// object, or the index.
type referencePage struct {
	*reference
	Groups    []tagGroup // that match the filter
	Objects   []object
	Filter    string
	Operation *operationView
	Command   command
	Object    *object
}

// showReference renders the index of the reference.
func showReference(v *visit) error {
	ref := v.h.reference()
	body := referencePage{reference: ref, Filter: strings.TrimSpace(v.r.URL.Query().Get("q"))}
	words := strings.Fields(strings.ToLower(body.Filter))
	for _, g := range ref.Groups {
		g.Operations = slices.DeleteFunc(slices.Clone(g.Operations), func(o operationView) bool { return !containsAll(o.text, words) })
		if len(g.Operations) > 0 {
			body.Groups = append(body.Groups, g)
		}
	}
	body.Objects = slices.DeleteFunc(slices.Clone(ref.Objects), func(o object) bool { return !containsAll(o.text, words) })
	return v.render(http.StatusOK, "reference", page{Title: "API reference", Section: "reference", Body: body})
}

// containsAll reports whether text contains all words.
func containsAll(text string, words []string) bool {
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
}

// showReferencePart renders the page of an operation or an object.
func showReferencePart(v *visit) error {
	ref := v.h.reference()
	body, title := referencePage{reference: ref}, ""
	if o, ok := ref.operations[v.params["name"]]; ok {
		body.Operation, body.Command, title = &o, v.command(o.Summary, o.curl, o.address), o.Summary
	} else if o, ok := ref.objects[v.params["name"]]; ok {
		body.Object, title = &o, o.Name+" object"
	} else {
		return notFound("The API has no such operation or object.")
	}
	return v.render(http.StatusOK, "reference", page{Title: title + " (API reference)", Section: "reference", Body: body})
}

// newReference builds the reference from the OpenAPI document. It panics if the
// document is invalid; a test prevents that.
func newReference(document []byte) *reference {
	var d description
	if err := json.Unmarshal(document, &d); err != nil {
		panic(fmt.Errorf("dashboard: parse the OpenAPI document: %w", err))
	}
	ref := &reference{Version: d.Info.Version, operations: map[string]operationView{}, objects: map[string]object{}}
	for paragraph := range strings.SplitSeq(d.Info.Description, "\n\n") {
		ref.Intro = append(ref.Intro, parseMarkup(paragraph))
	}
	var last *operationView
	for _, tag := range d.Tags {
		g := tagGroup{Name: tag.Name, Text: parseMarkup(tag.Description)}
		for _, path := range d.Paths {
			g.Operations = append(g.Operations, operations(d, tag.Name, path)...)
		}
		for i := range g.Operations {
			o := &g.Operations[i]
			if last != nil {
				o.Before, last.After = &referenceLink{last.ID, last.Summary}, &referenceLink{o.ID, o.Summary}
			}
			last = o
		}
		ref.Groups = append(ref.Groups, g)
	}
	for _, g := range ref.Groups {
		for _, o := range g.Operations {
			ref.operations[o.ID] = o
		}
	}
	for _, s := range d.Components.Schemas {
		o := object{Name: s.Name, Text: parseMarkup(s.Value.Description), Fields: s.Value.fields()}
		if len(o.Fields) == 0 {
			o.Kind, o.Object = s.Value.kind()
		}
		o.text = strings.ToLower(fmt.Sprint(o.Name, " ", s.Value.Description, fieldNames(o.Fields)))
		ref.Objects, ref.objects[o.Name] = append(ref.Objects, o), o
	}
	return ref
}

// fieldNames returns the names of fields.
func fieldNames(fields []fieldView) (names []string) {
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return names
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
			if example := d.example(c.Name, c.Value); view.Example == "" && strings.HasPrefix(r.Name, "2") && example != "" {
				view.Example, view.ExampleStatus = example, r.Name
			}
		}
		if r.Name < "400" {
			view.Successes = append(view.Successes, a)
		} else {
			view.Failures = append(view.Failures, a)
		}
	}
	view.curl, view.address = curl(method, o), examplePath(path, o)
	view.text = strings.ToLower(fmt.Sprint(method, " ", path, " ", o.OperationID, " ", o.Summary, " ", o.Description, " ", view.Scope,
		fieldNames(view.Parameters), fieldNames(view.Body)))
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
