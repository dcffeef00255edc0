package endpoints

import (
	"fmt"
	"strings"
)

// describe gives a schema a description, if the source has none: the requests whose body
// it is, or the comment of its Go type.
func (g *generator) describe(name string, schema *object) {
	text := g.schemas.docs[name]
	if requests := g.bodies[name]; requests != nil {
		text = "The body of " + strings.Join(requests, ", ") + "."
	}
	if schema.text("description") == "" {
		schema.set("description", text)
	}
	if schema.order(keywords...); schema.text("description") == "" {
		g.Errorf("the schema %s has no description", name)
	}
}

// finish makes what generators of clients need: each const has a type, and a list of
// values that may grow is not an enum, except in the body of a request.
func finish(v any, requested map[string]bool) {
	switch v := v.(type) {
	case *object:
		if c := v.get("const"); c != nil && v.index("type") < 0 {
			v.set("type", map[bool]string{true: "string", false: "boolean"}[fmt.Sprintf("%T", c) == "string"])
			v.order(keywords...)
		}
		for _, m := range v.members {
			if m.name != "example" && m.name != "examples" {
				finish(m.value, requested)
			}
		}
		for _, m := range v.object("schemas").members {
			if !requested[m.name] {
				open(m.value)
			}
		}
	case []any:
		for _, e := range v {
			finish(e, requested)
		}
	}
}

// open makes the lists of values in a schema lists that may grow.
func open(v any) {
	schema, ok := v.(*object)
	if !ok {
		return
	}
	if values := schema.texts("enum"); values != nil {
		schema.set("x-extensible-enum", schema.get("enum"))
		if schema.get("type") == nil {
			schema.set("type", "string")
		}
		schema.remove("enum")
		schema.set("description", strings.TrimSpace(schema.text("description")+" One of `"+strings.Join(values, "`, `")+"`; others may be added."))
		schema.order(keywords...)
	}
	for _, m := range schema.members {
		open(m.value)
	}
}
