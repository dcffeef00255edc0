package endpoints

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/docs"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

// webhooks adds a webhook for each type of events: when it is sent, which is the comment of
// its constant, which members its data has, and an example.
func (g *generator) webhooks() {
	source, webhooks := g.doc.object("webhooks"), obj()
	headers, members := g.doc.object("components").object("parameters"), g.schemas.done["EventData"].object("properties")
	names := []string{"EventID", "SentAt", "Signature"}
	var parameters []any // not as references: generators drop what no path refers to
	for _, name := range names {
		parameters = append(parameters, headers.object(name))
	}
	headers.remove(names...)
	examples := eventExamples(g.T)
	for _, e := range eventTypes(g.T) {
		data := source.object(e.Value)
		always, sometimes := data.texts("always"), data.texts("sometimes")
		if data.get("always") == nil {
			g.Errorf("the source does not say which data an event %s has", e.Value)
		}
		known := obj()
		for _, name := range slices.Concat(always, sometimes) {
			known.set(name, members.object(name))
		}
		event := obj("type", "object", "description", eventMembers(always, sometimes), "properties", obj(
			"type", obj("type", "string", "const", e.Value), "data", obj("type", "object", "required", data.get("always"), "properties", known)))
		webhooks.set(e.Value, obj("post", obj(
			"operationId", "on"+eventName(e.Value), "tags", []any{"Events"}, "summary", e.Comment, "security", []any{},
			"parameters", parameters,
			"requestBody", obj("required", true, "content", obj(web.JSON, obj(
				"schema", obj("allOf", []any{ref("schemas", "Event"), event}), "example", examples[e.Value]))),
			"responses", obj("2XX", obj("description", "The event was received."), "410", obj("description", "The service disables the webhook.")),
		)))
		source.remove(e.Value)
	}
	for _, m := range source.members {
		g.Errorf("the source describes an event %s, which does not exist", m.name)
	}
	g.doc.set("webhooks", webhooks)
	g.doc.order("openapi", "info", "servers", "tags", "paths", "webhooks", "components")
}

// eventTypes returns the types of events, each with the comment of its constant.
func eventTypes(t *testing.T) []docs.Constant {
	return docs.Constants(t, "../../../api/eventtype.go", "Event")
}

// eventExamples returns an event of each type. A test of package servicetest makes them.
func eventExamples(t *testing.T) map[string]*object {
	t.Helper()
	text, err := os.ReadFile("../../servicetest/testdata/events.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []*object
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	examples := map[string]*object{}
	for _, e := range all {
		examples[e.text("type")] = e
	}
	return examples
}

// eventName returns the name of an event type in Go, such as LicenseCreated.
func eventName(eventType string) (name string) {
	for _, word := range strings.FieldsFunc(eventType, func(r rune) bool { return r == '.' || r == '_' }) {
		name += strings.ToUpper(word[:1]) + word[1:]
	}
	return name
}

// eventMembers says which members the data of an event has.
func eventMembers(always, sometimes []string) string {
	text := "`data` has"
	if len(always)+len(sometimes) == 0 {
		text += " nothing"
	}
	if len(always) > 0 {
		text += " `" + strings.Join(always, "`, `") + "`"
		if len(sometimes) > 0 {
			text += ","
		}
	}
	if len(sometimes) > 0 {
		text += " sometimes `" + strings.Join(sometimes, "`, `") + "`"
	}
	return text + "."
}

// TestEventTable compares the tables in docs/eventtypes.md with openapi.json. To rewrite
// them, run
//
//	go test ./licensing/internal/http/endpoints -run EventTable -update
func TestEventTable(t *testing.T) {
	is := is.New(t)
	doc := obj()
	is.NoErr(json.Unmarshal(Description, doc))
	types := "| type | when | `data` has |\n|---|---|---|\n"
	for _, e := range eventTypes(t) {
		body := doc.object("webhooks").object(e.Value).object("post").object("requestBody").object("content").object(web.JSON)
		allOf, _ := body.object("schema").get("allOf").([]any)
		has := strings.TrimSuffix(strings.TrimPrefix(allOf[1].(*object).text("description"), "`data` has "), ".")
		types += fmt.Sprintf("| `%s` | %s | %s |\n", e.Value, e.Comment, has)
	}
	schemas := doc.object("components").object("schemas")
	members := "| member | type | what it is |\n|---|---|---|\n"
	for _, m := range schemas.object("EventData").object("properties").members {
		property := m.value.(*object)
		members += fmt.Sprintf("| `%s` | %s | %s |\n", m.name, typeName(property), property.text("description"))
	}
	example := "```json\n" + string(format(eventExamples(t)["license.created"])) + "```\n"
	docs.Compare(t, "../../../docs/eventtypes.md", *update, example, types, members, memberTypes(schemas))
}

// memberTypes returns a table of the schemas that the data of events has. It describes each
// status, and the members of schemas that only events have.
func memberTypes(schemas *object) string {
	table := "| type | members |\n|---|---|\n"
	names := []string{"EventData"}
	for i := 0; i < len(names); i++ {
		schema, described := schemas.object(names[i]), strings.HasPrefix(names[i], "Event") || names[i] == "UsageCount"
		var list []string
		for _, m := range schema.object("properties").members {
			property := m.value.(*object)
			if names[i] == "License" && m.name == "key" { // which no event has
				continue
			}
			for _, p := range []*object{property, property.object("items"), property.object("additionalProperties")} {
				if name := schemaName(p); name != "" && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
			text := "`" + m.name + "`"
			if !slices.Contains(schema.texts("required"), m.name) {
				text += "?"
			}
			text += " " + typeName(property)
			if says := property.text("description"); says != "" && (described || m.name == "status") {
				text += " (" + strings.TrimSuffix(says, ".") + ")"
			}
			list = append(list, strings.TrimSpace(text))
		}
		if i > 0 {
			table += fmt.Sprintf("| %s | %s |\n", names[i], strings.Join(list, ", "))
		}
	}
	return table
}

// schemaName returns the name of the schema that a property refers to, or "".
func schemaName(property *object) string {
	name, _ := strings.CutPrefix(property.text("$ref"), "#/components/schemas/")
	return name
}

// typeName names the type of a property for people.
func typeName(property *object) string {
	if name := schemaName(property); name != "" {
		return name
	}
	types := property.texts("type")
	if name := property.text("type"); name != "" {
		types = []string{name}
	}
	for _, list := range []string{"oneOf", "anyOf"} {
		choices, _ := property.get(list).([]any)
		for _, choice := range choices {
			types = append(types, typeName(choice.(*object)))
		}
	}
	for i, name := range types {
		switch format, items, values := property.text("format"), property.object("items"), property.object("additionalProperties"); {
		case name == "string" && format != "":
			types[i] = format
		case name == "array":
			types[i] = "list of " + typeName(items)
		case name == "object" && len(values.members) > 0:
			types[i] = "object of " + typeName(values)
		}
	}
	if len(types) == 0 {
		return "any value"
	}
	return strings.Join(types, " or ")
}
