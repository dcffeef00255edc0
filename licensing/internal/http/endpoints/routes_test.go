package endpoints

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// raw are the files with handlers, which write answers themselves. Even they read
// nothing of a request.
var raw = []string{"routes.go", "description.go"}

// TestEndpointsKnowNothingOfHTTP: what a request and an answer look like is
// said by the rows of the table, so that no function can forget a check.
func TestEndpointsKnowNothingOfHTTP(t *testing.T) {
	is := is.New(t)
	files, err := filepath.Glob("*.go")
	is.NoErr(err)
	checked := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		is.NoErr(err)
		called := map[ast.Expr]bool{} // w.Header() is of the answer, r.Header of the request
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				called[call.Fun] = true
			}
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			checked++
			allowed := false
			switch selector.Sel.Name {
			case "Request", "ResponseWriter":
				allowed = slices.Contains(raw, name)
			case "Header":
				allowed = slices.Contains(raw, name) && called[selector]
			case "Authenticate", "Body", "Cookie", "Form", "FormValue", "PathValue", "PostForm", "URL":
			default:
				allowed = true
			}
			if !allowed {
				t.Errorf("%s uses %s: let the row of the endpoint say it", name, selector.Sel.Name)
			}
			return true
		})
	}
	require.Greater(t, checked, 50)
}
