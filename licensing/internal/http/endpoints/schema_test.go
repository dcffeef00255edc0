package endpoints

import (
	"encoding"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/input"
)

// keywords is the order of the keywords of a schema.
var keywords = []string{
	"$ref", "type", "const", "format", "enum", "pattern", "minLength", "maxLength", "not", "minimum", "maximum", "default",
	"maxItems", "items", "x-extensible-enum", "maxProperties", "propertyNames", "oneOf", "description", "required", "additionalProperties", "properties", "example",
}

// schemas makes schemas from Go types and from the source.
type schemas struct {
	*testing.T
	source *object            // the schemas of the source, by name
	done   map[string]*object // the complete schemas of Go types, by name
	enums  map[reflect.Type][]any
	// requested are the schemas of bodies, and docs what the comment of its type says of
	// each other schema.
	requested map[string]bool
	docs      map[string]string
}

// nameOf returns the name of the schema of a type, or "". It is the name of the type,
// with Body in place of Params, unless the source lists the types of a schema in "go":
// generators of Go name the parameters of an operation CreateLicenseParams.
func (s *schemas) nameOf(t reflect.Type) string {
	name := t.Name()
	if verb, ok := strings.CutSuffix(name, "Params"); ok {
		name = verb + "Body"
	}
	for _, m := range s.source.members {
		source := m.value.(*object)
		goTypes := source.texts("go")
		if goTypes == nil && ofType(source) && m.name == name {
			return m.name
		}
		for _, goType := range goTypes {
			if t.Name() != "" && strings.HasSuffix("."+t.String(), "."+goType) {
				return m.name
			}
		}
	}
	return ""
}

// ofType reports whether a schema of the source describes a Go type. Others are
// written there as they are, or follow from the schema of another one.
func ofType(source *object) bool {
	return source.index("type") < 0 && source.index("list") < 0 && source.index("of") < 0
}

// add makes the schema of a type and those of the types in it. The type is
// decoded from a body if read is true, and encoded otherwise.
func (s *schemas) add(t reflect.Type, read bool) {
	for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, t.Kind()) {
		t = t.Elem()
	}
	name := s.nameOf(t)
	if name == "" {
		return
	}
	if t.Kind() == reflect.Struct && !read {
		for _, f := range reflect.VisibleFields(t) {
			s.add(f.Type, false)
		}
	}
	made := s.complete(t, name, read)
	if known := s.done[name]; known != nil && inline(known) != inline(made) {
		s.Errorf("%v is not like the other Go types of %s: %s", t, name, inline(made))
	}
	s.done[name] = made
	s.requested[name] = s.requested[name] || read
	s.docs[name] = s.comment(t)
}

// comment returns the first sentence of the comment of a type of this module.
func (s *schemas) comment(t reflect.Type) string {
	for _, file := range s.files(t) {
		for _, d := range file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.TYPE || len(decl.Specs) != 1 || decl.Specs[0].(*ast.TypeSpec).Name.Name != t.Name() {
				continue
			}
			text := strings.NewReplacer("[", "", "]", "", "\n", " ").Replace(decl.Doc.Text())
			first, _, _ := strings.Cut(text, ". ")
			return strings.TrimSuffix(strings.TrimSpace(first), ".") + "."
		}
	}
	return ""
}

// complete returns what follows from a type, with what the source says. What a
// member lacks then, apart from its type, is as in the schema that the source
// names in "like".
func (s *schemas) complete(t reflect.Type, name string, read bool) *object {
	source, like := s.source.object(name), obj()
	words := source.object("properties")
	if other := source.text("like"); other != "" {
		like = s.done[other].object("properties")
	}
	var made *object
	if t.Kind() == reflect.Struct {
		made = s.ofStruct(t, read)
	} else {
		made = s.unnamed(t)
	}
	properties := made.object("properties")
	for _, m := range properties.members {
		p := m.value.(*object)
		p.fill(like.object(m.name))
		if p.merge(words.object(m.name)); p.index("const") >= 0 || p.index("$ref") >= 0 {
			p.remove("type")
		}
		p.order(keywords...)
	}
	for _, m := range words.members {
		if properties.index(m.name) < 0 {
			s.Errorf("the source describes %s.%s, which %v does not have", name, m.name, t)
		}
	}
	rest := &object{slices.Clone(source.members)}
	rest.remove("go", "like", "properties")
	return made.merge(rest).order(keywords...)
}

// ofStruct returns the schema of an object.
func (s *schemas) ofStruct(t reflect.Type, read bool) *object {
	inBody := map[string]bool{}
	if read {
		for _, f := range input.Of(t).Fields {
			inBody[f.GoName] = f.Name != ""
		}
	}
	required, properties := []any{}, obj()
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" || read && !inBody[f.Name] {
			continue
		}
		p := s.ofType(f.Type)
		wire := strings.Split(f.Tag.Get("wire"), ",")
		rules, _, _ := strings.Cut(f.Tag.Get("validate"), ",")
		switch {
		case read:
			restrict(p, f.Tag.Get("validate"), slices.Contains(wire, "filled"))
			if slices.Contains(wire, "nullable") {
				p = nullable(p)
			}
			if rules == "required" || rules == "text" || slices.Contains(wire, "required") {
				required = append(required, name)
			}
		case options == "" && t.Field(f.Index[0]).Type.Kind() == reflect.Pointer && len(f.Index) > 1: // of an embedded pointer
		case options == "":
			required = append(required, name)
			if f.Type.Kind() == reflect.Pointer {
				p = nullable(p)
			}
		}
		properties.set(name, p)
	}
	made := obj("type", "object")
	if len(required) > 0 {
		made.set("required", required)
	}
	if read {
		made.set("additionalProperties", false)
	}
	made.set("properties", properties)
	return made
}

// ofType returns the schema of a type: a reference if it has a name.
func (s *schemas) ofType(t reflect.Type) *object {
	if name := s.nameOf(t); name != "" {
		return ref("schemas", name)
	}
	return s.unnamed(t)
}

func (s *schemas) unnamed(t reflect.Type) *object {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return obj("type", "string", "format", "date-time")
	case t == reflect.TypeFor[json.RawMessage]():
		return obj("type", "object")
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return obj("type", "string")
	case strings.HasPrefix(t.Name(), "Change["):
		return nullable(s.ofType(t.Field(2).Type))
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.ofType(t.Elem())
	case reflect.String:
		p := obj("type", "string")
		if values := s.constants(t); len(values) > 0 {
			p.set("enum", values)
		}
		return p
	case reflect.Int, reflect.Int64:
		return obj("type", "integer")
	case reflect.Bool:
		return obj("type", "boolean")
	case reflect.Slice:
		return obj("type", "array", "items", s.ofType(t.Elem()))
	case reflect.Map:
		p := obj("type", "object")
		if t.Elem().Kind() == reflect.Struct {
			p.set("additionalProperties", s.ofType(t.Elem()))
		}
		return p
	case reflect.Interface:
		return obj()
	}
	s.Errorf("the type %v has no schema", t)
	return obj()
}

func nullable(p *object) *object {
	if p.index("$ref") >= 0 {
		return obj("oneOf", []any{p, obj("type", "null")})
	}
	p.set("type", []any{p.get("type"), "null"})
	return p
}

// restrict adds the rules of a validate tag to a schema. An empty string is
// allowed only if the rules begin with omitempty and filled is false.
func restrict(p *object, rules string, filled bool) {
	filled = filled || !strings.HasPrefix(rules, "omitempty")
	bounds := map[string][2]string{"string": {"minLength", "maxLength"}, "array": {"minItems", "maxItems"}, "integer": {"minimum", "maximum"}}[p.text("type")]
	for rule := range strings.SplitSeq(rules, ",") {
		name, value, _ := strings.Cut(rule, "=")
		switch name {
		case "dive":
			_, elements, _ := strings.Cut(rules, "dive,")
			restrict(p.object("items"), elements, true)
			return
		case "texts":
			restrict(p.object("items"), "text", true)
		case "text":
			if filled {
				p.set("minLength", json.Number("1"))
			}
			p.set("maxLength", json.Number("255"))
		case "required":
			p.set("minLength", json.Number("1"))
		case "key":
			p.set("minLength", json.Number("16"))
			p.set("maxLength", json.Number("1024"))
		case "min":
			p.set(bounds[0], json.Number(value))
		case "max":
			p.set(bounds[1], json.Number(value))
		case "oneof":
			values := []any{}
			for v := range strings.FieldsSeq(value) {
				values = append(values, v)
			}
			p.set("enum", values)
		}
	}
}

// constants returns the values of the constants of a string type of this module,
// in the order of their declarations.
func (s *schemas) constants(t reflect.Type) (values []any) {
	if known, ok := s.enums[t]; ok || !strings.Contains(t.PkgPath(), "licensekit/") {
		return known
	}
	declared := t.Name()
	if t == reflect.TypeFor[api.Code]() {
		declared = "VerdictCode" // its alias, which only the codes of verdicts have
	}
	for _, file := range s.files(t) {
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 {
				return true
			}
			if of, ok := spec.Type.(*ast.Ident); ok && of.Name == declared {
				if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
					value, _ := strconv.Unquote(literal.Value)
					values = append(values, value)
				}
			}
			return true
		})
	}
	s.enums[t] = values
	return values
}

// files returns the files of the package that declares a type of this module, parsed.
func (s *schemas) files(t reflect.Type) []*ast.File {
	_, dir, _ := strings.Cut(t.PkgPath(), "licensekit/")
	return parsed(s.T, filepath.Join("../../../..", dir))
}

// parsed returns the Go files of a folder.
func parsed(t *testing.T, dir string) (all []*ast.File) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no Go files in %s: %v", dir, err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, file)
	}
	return all
}
