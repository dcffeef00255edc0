// Command reference writes the API reference of the dashboard: a page with every
// operation and object of an OpenAPI document, as a template of the dashboard.
//
//	go run ./internal/reference openapi.json page.html
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"log"
	"net/http"
	"os"
	"strings"
)

func main() {
	document, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	page, err := generate(document)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Args[2], page, 0o644); err != nil {
		log.Fatal(err)
	}
}

//go:embed page.tmpl
var source string

// The page is a template itself. Its actions are in brackets in the source of
// this template.
var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"part": func(name string) template.HTML { return action(`{{define "part ` + name + `"}}`) },
}).Parse(source))

// generate returns the page of an OpenAPI document.
func generate(document []byte) ([]byte, error) {
	var d description
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, err
	}
	var groups []group
	for _, tag := range d.Tags {
		g := group{Name: tag.Name, Text: tag.Description}
		for _, path := range d.Paths {
			operations, err := d.operations(tag.Name, path)
			if err != nil {
				return nil, err
			}
			g.Operations = append(g.Operations, operations...)
		}
		groups = append(groups, g)
	}
	var b bytes.Buffer
	err := page.Execute(&b, map[string]any{
		"Version": d.Info.Version, "Intro": strings.Split(d.Info.Description, "\n\n"), "Groups": groups, "Objects": d.Components.Schemas,
		"Address": action(`{{template "address" .Body.Address}}`), "Document": template.HTMLAttr(`href="{{.Root}}../openapi.json"`), "Main": action(parts(groups, d.Components.Schemas)), "Index": action(`{{define "index"}}`), "End": action("{{end}}"),
	})
	return b.Bytes(), err
}

// parts returns the template that shows the part of the page which the reader asks
// for: the index, an operation or an object.
func parts(groups []group, objects members[schema]) string {
	var names []string
	for _, g := range groups {
		for _, o := range g.Operations {
			names = append(names, o.OperationID)
		}
	}
	for _, o := range objects {
		names = append(names, o.Name)
	}
	main := `{{define "main"}}{{if not .Body.Part}}{{template "index" .}}`
	for _, name := range names {
		main += `{{else if eq .Body.Part "` + name + `"}}{{template "part ` + name + `" .}}`
	}
	return main + "{{end}}{{end}}\n"
}

// An action is part of the template that the page is.
func action(text string) template.HTML { return template.HTML(text) }

// A group has the operations of a tag.
type group struct {
	Name       string
	Text       markup
	Operations []view
}

// A view is an operation as the page shows it.
type view struct {
	operation
	Method, Path    string
	Scope           string
	Body            members[schema] // the fields of the body
	Line            string          // the object of each line of the body
	Curl, Address   string          // the command; the address of the service comes between them
	Example, Status string          // of a successful response
	Good, Bad       members[response]
}

// operations returns the operations of a path that have the tag.
func (d description) operations(tag string, path member[members[json.RawMessage]]) (views []view, err error) {
	var common []parameter
	for _, m := range path.Value {
		if m.Name == "parameters" {
			if err := json.Unmarshal(m.Value, &common); err != nil {
				return nil, err
			}
			continue
		}
		var o operation
		if err := json.Unmarshal(m.Value, &o); err != nil {
			return nil, err
		}
		if o.Tags[0] == tag {
			o.Parameters = append(common[:len(common):len(common)], o.Parameters...)
			views = append(views, d.view(strings.ToUpper(m.Name), path.Name, o))
		}
	}
	return views, nil
}

func (d description) view(method, path string, o operation) view {
	v := view{Method: method, Path: path, Scope: o.scope()}
	for i, p := range o.Parameters {
		if p.Ref != "" {
			o.Parameters[i] = d.Components.Parameters[refName(p.Ref)]
		}
	}
	v.operation = o
	for _, c := range o.RequestBody.Content {
		body := d.schema(c.Value.Schema)
		if v.Body = body.Properties; body.Items != nil {
			v.Line = refName(body.Items.Ref)
		}
		for i, field := range v.Body {
			v.Body[i].Value.required = body.Requires(field.Name)
		}
	}
	for _, r := range o.Responses {
		if r.Value.Ref != "" {
			r.Value = d.Components.Responses[refName(r.Value.Ref)]
		}
		for _, c := range r.Value.Content {
			if example := d.example(c.Name, c.Value); v.Example == "" && r.Name < "300" && example != "" {
				v.Example, v.Status = example, r.Name
			}
		}
		if r.Name < "400" {
			v.Good = append(v.Good, r)
		} else {
			v.Bad = append(v.Bad, r)
		}
	}
	v.Curl, v.Address = curl(method, o), path
	for _, p := range o.Parameters {
		if p.In == "path" && p.Example != nil {
			v.Address = strings.ReplaceAll(v.Address, "{"+p.Name+"}", fmt.Sprint(p.Example))
		}
	}
	return v
}

// schema returns the schema that s refers to.
func (d description) schema(s schema) schema {
	for _, named := range d.Components.Schemas {
		if s.Ref != "" && named.Name == refName(s.Ref) {
			return named.Value
		}
	}
	return s
}

// curl returns the command that sends the example of an operation, up to the
// address.
func curl(method string, o operation) string {
	command, body := "curl ", o.RequestBody.Content
	if method != http.MethodGet && (method != http.MethodPost || len(body) == 0) {
		command += "-X " + method + " "
	}
	switch {
	case o.scope() != "":
		command += `-H "Authorization: Bearer $TOKEN" `
	case len(o.Security) > 0:
		command += `-u "$CLIENT_ID:$CLIENT_SECRET" `
	}
	if len(body) == 0 {
		return command
	}
	var values members[string]
	if body[0].Name == "application/x-www-form-urlencoded" && json.Unmarshal(body[0].Value.Example, &values) == nil {
		for _, v := range values {
			command += "-d " + v.Name + "=" + v.Value + " "
		}
		return command
	}
	example, lines := body[0].Value.Example, []json.RawMessage{}
	if json.Unmarshal(example, &lines) == nil && len(lines) > 0 {
		example = lines[0]
	}
	var short bytes.Buffer
	_ = json.Compact(&short, example) // a part of the document
	return command + fmt.Sprintf("-H 'Content-Type: %s' -d '%s' ", body[0].Name, &short)
}

// markup is text in which every second piece between backquotes is code.
type markup string

// HTML returns the text as HTML.
func (m markup) HTML() template.HTML {
	var b strings.Builder
	for i, piece := range strings.Split(string(m), "`") {
		if text := template.HTMLEscapeString(piece); i%2 == 1 {
			b.WriteString("<code>" + text + "</code>")
		} else {
			b.WriteString(text)
		}
	}
	return template.HTML(b.String())
}
