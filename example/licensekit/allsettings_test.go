package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/internal/configfile"
	"github.com/seed-d8a106b4/licensekit/example/internal/settings"
)

var update = flag.Bool("update", false, "rewrite licensekit.json; give new settings a value there, and run it again")

const header = `// All settings of: licensekit serve --config FILE. Their names are those of the options of the Go
// packages. Remove the slashes before what you set. A value is the default or, if that is none,
// an example. A secret is not in this file: "file:PATH" and "env:NAME" refer to it.
`

// allValues returns the values of all settings in licensekit.json, by path, as if none were a comment.
func allValues(t *testing.T) map[string]json.RawMessage {
	t.Helper()
	values := map[string]json.RawMessage{}
	file, err := configfile.JSON(uncommented(allSettings))
	is.New(t).NoErr(err)
	d := configfile.Decoder{Needs: func(string) bool { return false }}
	d.Decode(file, new(settings.Config))
	for path, value := range d.Values {
		values[path] = value
	}
	return values
}

// uncommented returns a file with all settings in which none is a comment.
func uncommented(file string) []byte {
	return regexp.MustCompile(`(?m)^( *)//("|})`).ReplaceAll([]byte(file), []byte("$1$2"))
}

// TestAllSettings: licensekit.json has each setting with the comment of its field in Go and a
// value that is valid. After a change of a comment, rewrite it with
//
//	go test -run AllSettings -update
func TestAllSettings(t *testing.T) {
	is := is.New(t)
	var b strings.Builder
	b.WriteString(header + "{\n")
	describe(t, &b, allValues(t), "", reflect.TypeFor[settings.Config](), "  ", "")
	b.WriteString("}\n")
	if *update {
		is.NoErr(os.WriteFile("licensekit.json", []byte(b.String()), 0o644))
		return
	}
	is.True(b.String() == allSettings) // else see above

	name := filepath.Join(t.TempDir(), "licensekit.json")
	is.NoErr(os.WriteFile(name, uncommented(allSettings), 0o600))
	set := settings.New("", nil)
	set.AddConfig()
	_, err := set.Parse([]string{"--config", name})
	is.NoErr(err)
	set.Config()
	is.NoErr(set.Err())
}

// describe writes the fields of a struct.
func describe(t *testing.T, b *strings.Builder, values map[string]json.RawMessage, path string, of reflect.Type, indent, off string) {
	t.Helper()
	comments := fieldComments(t, of)
	for _, f := range configfile.Fields(of) {
		at := configfile.Join(path, f.Name)
		if settings.IsOwn(at) {
			continue
		}
		if comment := comments[f.Name]; comment != "" {
			fmt.Fprintf(b, "%s// %s\n", indent, strings.ReplaceAll(strings.ReplaceAll(comment, "\n\n", "\n"), "\n", "\n"+indent+"// "))
		} else if f.Tag.Get("text") == "" {
			t.Errorf("%s has no comment in Go", at)
		}
		if configfile.IsGroup(f.Type) {
			off := off
			if f.Type.Kind() == reflect.Pointer { // which is there only if it is set
				off = "//"
			}
			fmt.Fprintf(b, "%s%s%q: {\n", indent, off, f.Name)
			describe(t, b, values, at, configfile.Inner(f.Type), indent+"  ", off)
			fmt.Fprintf(b, "%s%s},\n", indent, off)
			continue
		}
		value := values[at]
		if text := f.Tag.Get("text"); text != "" {
			value, _ = json.Marshal(text)
		}
		if value == nil || string(value) == "null" {
			value = json.RawMessage("null")
			t.Errorf("give %s a value in licensekit.json", at)
		}
		fmt.Fprintf(b, "%s//%q: %s,\n", indent, f.Name, value)
	}
}

// fieldComments returns the comments of the fields of a struct, from its source.
func fieldComments(t *testing.T, of reflect.Type) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", strings.TrimPrefix(of.PkgPath(), "github.com/seed-d8a106b4/licensekit/"), "*.go"))
	is.New(t).NoErr(err)
	comments := map[string]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		is.New(t).NoErr(err)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != of.Name() {
				return true
			}
			if fields, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range fields.Fields.List {
					for _, name := range f.Names {
						comments[name.Name] = strings.TrimSpace(f.Doc.Text() + f.Comment.Text())
					}
				}
			}
			return true
		})
	}
	return comments
}
