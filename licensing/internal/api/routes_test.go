package api

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// raw are the files whose functions answer requests themselves.
var raw = []string{"routes.go", "health.go", "description.go"}

// TestEndpointsKnowNothingOfHTTP: what a request and an answer look like is
// said by the rows of the table, so that no function can forget a check.
func TestEndpointsKnowNothingOfHTTP(t *testing.T) {
	is := is.New(t)
	files, err := filepath.Glob("*.go")
	is.NoErr(err)
	checked := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") || strings.Contains(strings.Join(raw, " "), name) {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		is.NoErr(err)
		ast.Inspect(file, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			checked++
			switch selector.Sel.Name {
			case "Request", "ResponseWriter", "Header", "URL", "FormValue", "PostForm":
				t.Errorf("%s uses %s: let the row of the endpoint say it", name, selector.Sel.Name)
			}
			return true
		})
	}
	is.True(checked > 50)
}
