package main

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/doc/comment"
	"go/parser"
	gotoken "go/token"
	"go/types"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// documents returns the README, the changelog and the guides by their paths in the repository.
func documents(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../licensing/docs/*.md")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no guides: %v", err)
	}
	docs := make(map[string]string)
	for _, p := range append(paths, "../README.md", "../CHANGELOG.md", "../licensing/docs/llms.txt") {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		docs[strings.TrimPrefix(filepath.ToSlash(p), "../")] = string(text)
	}
	return docs
}

// A snippet is a block of code and the marker above it.
type snippet struct{ marker, language, code string }

var (
	fence  = regexp.MustCompile("(?m)^```(go|sh)$")
	marked = regexp.MustCompile("(?s)<!-- ([^>]+) -->\n```(go|sh)\n(.*?)```")
)

// snippets returns the blocks of code of a document, all of which must be
// marked with the way they are tested.
func snippets(t *testing.T, text string) (list []snippet) {
	t.Helper()
	for _, m := range marked.FindAllStringSubmatch(text, -1) {
		list = append(list, snippet{m[1], m[2], m[3]})
	}
	if n := len(fence.FindAllString(text, -1)); n != len(list) {
		t.Errorf("%d of %d blocks of code are marked", len(list), n)
	}
	return list
}

// TestSnippetsCompile finds each Go block of the README and the guides in the
// file that its marker names, where it is compiled and tested, and checks that
// it declares what it uses.
func TestSnippetsCompile(t *testing.T) {
	for name, text := range documents(t) {
		t.Run(name, func(t *testing.T) {
			for _, s := range snippets(t, text) {
				source, isCompiled := strings.CutPrefix(s.marker, "compiled: ")
				runBy, isRun := strings.CutPrefix(s.marker, "run: ")
				switch {
				case s.language == "sh" && isRun:
					folder, _, _ := strings.Cut(runBy, " ")
					if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(folder))); err != nil {
						t.Error(err)
					}
					continue // tests of that package
				case s.language == "sh" && s.marker == "run", s.language == "go" && s.marker == "built":
					continue // other tests
				case s.language != "go" || !isCompiled:
					t.Errorf("unknown marker %q of a block in %s", s.marker, s.language)
					continue
				}
				file, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(source)))
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Contains(file, []byte(s.code)) {
					t.Errorf("%s does not contain this code:\n%s", source, s.code)
				}
				if names := undeclared(t, file, s.code); len(names) > 0 {
					t.Errorf("this code uses %v without declaring it:\n%s", names, s.code)
				}
			}
		})
	}
}

// undeclared returns the names that code uses and that neither it, nor Go, nor
// the imports of file declare.
func undeclared(t *testing.T, file []byte, code string) (names []string) {
	t.Helper()
	known := make(map[string]bool)
	f, err := parser.ParseFile(gotoken.NewFileSet(), "", file, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range f.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		if regexp.MustCompile(`^v\d+$`).MatchString(path.Base(p)) {
			p = path.Dir(p)
		}
		known[path.Base(p)] = true
		if spec.Name != nil {
			known[spec.Name.Name] = true
		}
	}
	var parsed *ast.File
	if parsed, err = parser.ParseFile(gotoken.NewFileSet(), "", "package p\n"+code, 0); err != nil {
		t.Errorf("a block must be whole declarations: %v\n%s", err, code)
		return nil
	}
	for _, id := range parsed.Unresolved {
		if !known[id.Name] && types.Universe.Lookup(id.Name) == nil && !slices.Contains(names, id.Name) {
			names = append(names, id.Name)
		}
	}
	return names
}

// TestUndeclared checks the check.
func TestUndeclared(t *testing.T) {
	is := is.New(t)
	file := []byte("package p\n\nimport (\n\t\"example.com/mux/v5\"\n\tshop \"example.com/go-shop\"\n)\n")
	is.Equal(undeclared(t, file, "func f(r *mux.Router) error { return h.Serve(r) }"), []string{"h"})
	is.Equal(undeclared(t, file, "func f(r *mux.Router) error { return shop.Open() }"), nil)
}

// TestLinks follows the links between documents.
func TestLinks(t *testing.T) {
	docs := documents(t)
	if n := strings.Count(docs["README.md"], "\n"); n > 130 {
		t.Errorf("the README has %d lines; move what is more than 130 to a guide", n)
	}
	for name, text := range docs {
		for _, m := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(target))); err != nil {
				t.Errorf("%s: link to %s: %v", name, m[1], err)
			}
			if anchor != "" && !slices.Contains(anchors(docs[target]), anchor) {
				t.Errorf("%s: link to %s: no such heading", name, m[1])
			}
		}
	}
}

// anchors returns the anchors of the headings of a document.
func anchors(text string) (list []string) {
	for _, m := range regexp.MustCompile(`(?m)^#+ (.+)$`).FindAllStringSubmatch(text, -1) {
		kept := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(m[1]), "")
		list = append(list, strings.ReplaceAll(kept, " ", "-"))
	}
	return list
}

// TestREADMEProgram builds and runs the program of the README.
func TestREADMEProgram(t *testing.T) {
	if testing.Short() {
		t.Skip("linking a program takes a second")
	}
	if runtime.GOOS == "windows" {
		t.Skip("needs signals")
	}
	is := is.New(t)
	all := snippets(t, documents(t)["README.md"])
	i := slices.IndexFunc(all, func(s snippet) bool { return s.marker == "built" })
	require.AtLeast(t, i, 0) // the README has a program

	ln, err := net.Listen("tcp", "127.0.0.1:0")
	is.NoErr(err)
	addr := ln.Addr().String()
	is.NoErr(ln.Close())
	dir := t.TempDir()
	source, program := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	require.Contains(t, all[i].code, `"127.0.0.1:8181"`)
	is.NoErr(os.WriteFile(source, []byte(strings.ReplaceAll(all[i].code, "127.0.0.1:8181", addr)), 0o600))
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", program, source)
	build.Dir = ".."
	out, err := build.CombinedOutput()
	is.NoErr(err)
	is.Equal(string(out), "")

	var log bytes.Buffer
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Dir, cmd.Stderr = dir, &log
	is.NoErr(cmd.Start())
	var resp *http.Response
	for range 2000 { // 20 seconds, on a busy machine
		if resp, err = http.Get("http://" + addr + "/licensing/dashboard/"); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	is.NoErr(err)
	resp.Body.Close()
	is.Equal(resp.StatusCode, http.StatusOK)
	is.Equal(resp.Request.URL.Path, "/licensing/dashboard/setup")
	is.NoErr(cmd.Process.Signal(os.Interrupt))
	is.NoErr(cmd.Wait())
	require.Contains(t, log.String(), "become the first admin") // with the code
}

// sessions returns the curl sessions of the README and the guides.
func sessions(t *testing.T) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for name, text := range documents(t) {
		for _, s := range snippets(t, text) {
			if s.marker == "run" {
				found[name] += s.code
			}
		}
	}
	return found
}

var given = regexp.MustCompile(`(?m)^(BASE|CLIENT_ID|CLIENT_SECRET)=\S+`)

// runSession runs a session word for word, with these values for the variables
// that it begins with.
func runSession(ctx context.Context, session string, values map[string]string) (string, error) {
	cmd := exec.CommandContext(ctx, "sh", "-u")
	cmd.Stdin = strings.NewReader("curl() { command curl --max-time 20 \"$@\"; }\n" +
		given.ReplaceAllStringFunc(session, func(line string) string {
			name, _, _ := strings.Cut(line, "=")
			return name + "=" + values[name]
		}))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestSessions runs the curl sessions against the example. Each also stops
// when its first step fails, instead of sending requests without a token.
func TestSessions(t *testing.T) {
	needCurl(t)
	want := map[string][]string{
		"README.md": {`{"valid":true,"code":"valid"`},
	}
	found := sessions(t)
	if len(found) != len(want) {
		t.Errorf("%d documents have sessions, want %d", len(found), len(want))
	}
	ex := start(t)
	values := map[string]string{"BASE": ex.field("base address"), "CLIENT_ID": ex.field("client_id"), "CLIENT_SECRET": ex.field("client_secret")}
	for name, session := range found {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(len(given.FindAllString(session, -1)), len(values)) // it declares what it uses
			out, err := runSession(t.Context(), session, values)
			is.NoErr(err)
			for _, text := range want[name] {
				if !strings.Contains(out, text) {
					t.Errorf("the session did not show %s:\n%s", text, out)
				}
			}
			if strings.Contains(out, `"request_id"`) || strings.Contains(out, "curl: ") {
				t.Errorf("a step failed:\n%s", out)
			}
		})
		t.Run(name+" without a token", func(t *testing.T) {
			is := is.New(t)
			wrong := map[string]string{"BASE": values["BASE"], "CLIENT_ID": values["CLIENT_ID"], "CLIENT_SECRET": "csk_wrong"}
			out, err := runSession(t.Context(), session, wrong)
			is.True(err != nil)
			require.Contains(t, out, "TOKEN")           // says what is missing
			is.Equal(strings.Count(out, "curl: "), 1)   // the first step
			require.NotContains(t, out, `"request_id"`) // and no other
		})
	}
}

// TestNamedTestsExist finds each test that the guides to security and to decisions name. Each chapter
// of its ASVS table that applies names one.
func TestNamedTestsExist(t *testing.T) {
	is := is.New(t)
	defined, inModule := make(map[string]bool), make(map[string]bool) // the latter with go test ./...
	is.NoErr(filepath.WalkDir("..", func(p string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(p, "_test.go") {
			return err
		}
		text, err := os.ReadFile(p)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`).FindAllSubmatch(text, -1) {
			defined[string(m[1])] = true
			inModule[string(m[1])] = inModule[string(m[1])] || !strings.Contains(filepath.ToSlash(p), "/e2e/")
		}
		return err
	}))
	docs, chapters := documents(t), 0
	for line := range strings.Lines(docs["licensing/docs/security.md"] + docs["licensing/docs/interface.md"]) {
		names := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(line, -1)
		chapter := regexp.MustCompile(`^\| V\d+ `).MatchString(line)
		for _, m := range names {
			if !defined[m[1]] || chapter && !inModule[m[1]] {
				t.Errorf("%s does not exist, but is named in: %s", m[1], line)
			}
		}
		if chapter {
			chapters++
			if len(names) == 0 && !strings.Contains(line, "Not used.") {
				t.Errorf("names no test: %s", line)
			}
		}
	}
	is.Equal(chapters, 17)
}

// usePackages are the imports of the code in package comments, by name. A store
// of the reader is called mystore.
var usePackages = map[string]string{
	"context": "context", "sql": "database/sql", "json": "encoding/json", "fmt": "fmt", "http": "net/http", "os": "os", "testing": "testing", "time": "time",
	"auth": "/auth", "operator": "/auth/operator", "licensing": "/licensing", "api": "/licensing/api", "client": "/licensing/client",
	"license": "/licensing/license", "licensefile": "/licensing/licensefile", "licensingtest": "/licensing/licensingtest",
	"program": "/licensing/program", "webhook": "/licensing/webhook", "store": "/store", "memory": "/store/memory", "selling": "/licensing/selling", "payment": "/licensing/payment", "mail": "/licensing/mail",
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
	is.True(len(found) >= 17)
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
