// Package docs compares tables of the guides with the code that they describe.
package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

// A Constant is a string constant with the comment behind it and the one above it.
type Constant struct{ Name, Value, Comment, Doc string }

// Constants returns the constants of a Go file whose names begin with a prefix, in the order
// of their declarations.
func Constants(t testing.TB, path, prefix string) (all []Constant) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, prefix) {
			return true
		}
		if text, ok := spec.Values[0].(*ast.BasicLit); ok {
			value, err := strconv.Unquote(text.Value)
			if err != nil {
				t.Fatalf("%s: %v", spec.Names[0].Name, err)
			}
			all = append(all, Constant{spec.Names[0].Name, value, strings.TrimSpace(spec.Comment.Text()), strings.TrimSpace(spec.Doc.Text())})
		}
		return true
	})
	return all
}

// The marks around a table that is generated.
const begin, end = "<!-- generated -->\n", "<!-- end -->\n"

// Compare compares the generated tables of a guide with what they must be. If update is true,
// it rewrites them.
func Compare(t testing.TB, path string, update bool, tables ...string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(text), begin)
	if len(parts) != len(tables)+1 {
		t.Fatalf("%s has %d marks %q, not %d", path, len(parts)-1, begin, len(tables))
	}
	for i, table := range tables {
		_, after, found := strings.Cut(parts[i+1], end)
		if !found {
			t.Fatalf("%s lacks the mark %q", path, end)
		}
		parts[i+1] = table + end + after
	}
	want := strings.Join(parts, begin)
	switch {
	case want == string(text):
	case !update:
		t.Errorf("%s is out of date; run this test with -update", path)
	default:
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
