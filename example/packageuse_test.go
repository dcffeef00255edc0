package main

import (
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	gotoken "go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// usePackages are the imports of the code in package comments, by name. A store
// of the reader is called mystore.
var usePackages = map[string]string{
	"context": "context", "sql": "database/sql", "json": "encoding/json", "fmt": "fmt", "http": "net/http", "os": "os", "testing": "testing", "time": "time",
	"auth": "/auth", "operator": "/auth/operator", "licensing": "/licensing", "api": "/licensing/api", "client": "/licensing/client",
	"license": "/licensing/license", "licensefile": "/licensing/licensefile", "licensingtest": "/licensing/licensingtest",
	"program": "/licensing/program", "webhook": "/licensing/webhook", "store": "/store", "memory": "/store/memory",
	"mystore": "/store/memory", "postgres": "/store/postgres", "sqlite": "/store/sqlite", "storetest": "/storetest",
}

// useVariables are what that code may use without declaring it.
const useVariables = `ctx context.Context, h *licensing.Handler, st store.Store, mux *http.ServeMux, reports http.Handler,
	resp *http.Response, jwks []byte, text, machine, password string`

// TestPackageCommentsOpenWithAUse compiles the first code of each public package's
// comment, which has at most ten lines and comes before the first heading.
func TestPackageCommentsOpenWithAUse(t *testing.T) {
	if testing.Short() {
		t.Skip("compiling takes a second")
	}
	is := is.New(t)
	var found []string
	for _, pattern := range []string{"../*/doc.go", "../*/*/doc.go"} {
		files, err := filepath.Glob(pattern)
		is.NoErr(err)
		found = append(found, files...)
	}
	found = slices.DeleteFunc(found, func(name string) bool {
		return strings.Contains(name, "internal") || strings.Contains(name, "example")
	})
	is.True(len(found) >= 16)
	var body strings.Builder
	fmt.Fprintln(&body, `func sell(*testing.T, *license.Service, string) {}`)
	for i, name := range found {
		file, err := parser.ParseFile(gotoken.NewFileSet(), name, nil, parser.ParseComments|parser.PackageClauseOnly)
		is.NoErr(err)
		code := firstUse(file.Doc.Text())
		if n := strings.Count(code, "\n"); n == 0 || n > 10 {
			t.Errorf("%s: the comment opens with %d lines of code; want 1 to 10", name, n)
		}
		code = strings.ReplaceAll(strings.ReplaceAll(code, "//go:embed", "// embed"), "…", "")
		if strings.HasPrefix(code, "func Test") {
			fmt.Fprintln(&body, strings.Replace(code, "(", fmt.Sprintf("%d(", i), 1))
			continue
		}
		fmt.Fprintf(&body, "// %s\nfunc _(%s) error {\n{\n%s\n%s}\nreturn nil\n}\n", name, useVariables, code, useResults(t, code))
	}
	source := "package use\n\n"
	for name, path := range usePackages {
		if strings.HasPrefix(path, "/") {
			path = "github.com/seed-d8a106b4/licensekit" + path
		}
		if strings.Contains(body.String(), name+".") {
			source += fmt.Sprintf("import %s %q\n", name, path)
		}
	}
	to := filepath.Join(t.TempDir(), "use.go")
	is.NoErr(os.WriteFile(to, []byte(source+body.String()), 0o600))
	build := exec.CommandContext(t.Context(), "go", "build", "-gcflags=-e", "-o", os.DevNull, to)
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, body.String())
	}
}

// firstUse returns the first code of a doc comment, if no heading comes before it.
func firstUse(text string) string {
	for _, block := range new(comment.Parser).Parse(text).Content {
		switch b := block.(type) {
		case *comment.Code:
			return b.Text
		case *comment.Heading:
			return ""
		}
	}
	return ""
}

// useResults returns statements that use the variables which code declares.
func useResults(t *testing.T, code string) (uses string) {
	t.Helper()
	f, err := parser.ParseFile(gotoken.NewFileSet(), "", "package p\nfunc _() {\n"+code+"\n}", 0)
	if err != nil {
		t.Errorf("%v\n%s", err, code)
		return ""
	}
	for _, s := range f.Decls[0].(*ast.FuncDecl).Body.List {
		if a, ok := s.(*ast.AssignStmt); ok && a.Tok == gotoken.DEFINE {
			for _, name := range a.Lhs {
				uses += "_ = " + name.(*ast.Ident).Name + "\n"
			}
		}
	}
	return uses
}
