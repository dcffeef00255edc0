//go:build !race

package licensing_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	gotoken "go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"
)

var update = flag.Bool("update", false, "rewrite testdata")

// TestGoAPI compares what each package exports with testdata/api, which has a
// file for each package, and checks that the README names the package. A line that goes or changes breaks programs that use
// it. After an intended change, describe it in CHANGELOG.md, and rewrite the
// files with
//
//	go test ./licensing -run GoAPI -update
//
// It is not built with the race detector: it only reads source, and takes half a minute there.
func TestGoAPI(t *testing.T) {
	if testing.Short() {
		t.Skip("compiling all packages takes seconds")
	}
	is := is.New(t)
	dir := filepath.Join("testdata", "api")
	packages := exportedPackages(t)
	if *update {
		is.NoErr(os.RemoveAll(dir))
		is.NoErr(os.MkdirAll(dir, 0o755))
	}
	readme, err := os.ReadFile(filepath.Join("..", "README.md"))
	is.NoErr(err)
	files := make(map[string]bool)
	for _, p := range packages {
		path := strings.TrimPrefix(p.Path(), module+"/")
		if !bytes.Contains(readme, []byte("`"+path+"`")) {
			t.Errorf("README.md does not name the package %s", path)
		}
		name := strings.ReplaceAll(path, "/", ".") + ".txt"
		files[name] = true
		got := surface(p)
		if *update {
			is.NoErr(os.WriteFile(filepath.Join(dir, name), []byte(strings.Join(got, "\n")+"\n"), 0o644))
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		want := strings.Split(strings.TrimSpace(string(text)), "\n")
		if added, gone := without(got, want), without(want, got); len(added)+len(gone) > 0 {
			t.Errorf("the Go API of %s changed. If this is intended, describe it in CHANGELOG.md, and run go test ./licensing -run GoAPI -update\n%s%s",
				p.Path(), lines("- ", gone), lines("+ ", added))
		}
	}
	stored, err := os.ReadDir(dir)
	is.NoErr(err)
	for _, f := range stored {
		if !files[f.Name()] {
			t.Errorf("there is no package for testdata/api/%s; describe its removal in CHANGELOG.md, and remove the file", f.Name())
		}
	}
}

// TestSurface shows what counts as a change of the Go API: all types, including
// promoted methods, but no names of parameters and nothing that is not exported.
func TestSurface(t *testing.T) {
	is := is.New(t)
	const source = `package p
type base struct{}
func (base) Promoted() {}
func (base) hidden() {}
type T struct { base; A []int ` + "`json:\"a,omitempty\"`" + `; b int }
func (t *T) Method(name string, more ...T) (err error) { return nil }
type I interface { Do(x int); seal() }
type List[E any] []E
type Alias = T
type Kind string
const One Kind = "one"
var Err error
func F(f func(int) bool) {}
func unexported() {}
`
	fset := gotoken.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", source, 0)
	is.NoErr(err)
	p, err := new(types.Config).Check("p", fset, []*ast.File{file}, nil)
	is.NoErr(err)
	is.Equal(surface(p), []string{
		`const One Kind = "one"`,
		"field T.A []int a,omitempty",
		"func F(func(int) bool)",
		"method (*T) Method(string, ...T) error",
		"method (I) Do(int)",
		"method (I) not exported",
		"method (T) Promoted()",
		"type Alias = T",
		"type I interface",
		"type Kind string",
		"type List[1 type parameters] []E",
		"type T struct",
		"var Err error",
	})
}

// without returns the lines of a that are not in b.
func without(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(line string) bool { return line == "" || slices.Contains(b, line) })
}

func lines(prefix string, list []string) string {
	var b strings.Builder
	for _, line := range list {
		b.WriteString(prefix + line + "\n")
	}
	return b.String()
}

// exportedPackages returns the packages of this module that a program can
// import, except for the commands.
func exportedPackages(t *testing.T) []*types.Package {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Export,Name", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	exports := make(map[string]string)
	var paths []string
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export, Name string }
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, module+"/") && p.Name != "main" && !strings.Contains(p.ImportPath+"/", "/internal/") {
			paths = append(paths, p.ImportPath)
		}
	}
	from := importer.ForCompiler(gotoken.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var packages []*types.Package
	for _, path := range paths {
		p, err := from.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	return packages
}

// surface returns a line for everything that a package exports, sorted.
func surface(p *types.Package) (list []string) {
	scope := p.Scope()
	for _, name := range scope.Names() {
		if gotoken.IsExported(name) {
			list = append(list, describe(scope.Lookup(name))...)
		}
	}
	slices.Sort(list)
	return list
}

// describe returns the lines of an object: its own, and those of its fields and
// methods.
func describe(o types.Object) []string {
	name := o.Name()
	switch o := o.(type) {
	case *types.Const:
		return []string{fmt.Sprintf("const %s %s = %s", name, typeName(o.Type(), o.Pkg()), o.Val().ExactString())}
	case *types.Func:
		return []string{"func " + name + signature(o.Signature(), o.Pkg())}
	case *types.Var:
		return []string{"var " + name + " " + typeName(o.Type(), o.Pkg())}
	}
	t := o.Type()
	kind := typeName(t.Underlying(), o.Pkg())
	list := []string{}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		kind = "struct"
		for i := range u.NumFields() {
			if f := u.Field(i); f.Exported() {
				list = append(list, strings.TrimSpace(fmt.Sprintf("field %s.%s %s %s", name, f.Name(), typeName(f.Type(), o.Pkg()), reflect.StructTag(u.Tag(i)).Get("json"))))
			}
		}
	case *types.Interface:
		kind = "interface"
	}
	if o.(*types.TypeName).IsAlias() {
		return []string{"type " + name + " = " + typeName(types.Unalias(t), o.Pkg())}
	}
	named, _ := t.(*types.Named)
	parameters := ""
	if named != nil && named.TypeParams().Len() > 0 {
		parameters = "[" + fmt.Sprint(named.TypeParams().Len()) + " type parameters]"
	}
	list = append(list, "type "+name+parameters+" "+kind)
	onValue := types.NewMethodSet(t)
	methods := onValue
	if !types.IsInterface(t) {
		methods = types.NewMethodSet(types.NewPointer(t))
	}
	for m := range methods.Methods() {
		if f := m.Obj().(*types.Func); f.Exported() {
			receiver := name
			if onValue.Lookup(f.Pkg(), f.Name()) == nil {
				receiver = "*" + name
			}
			list = append(list, "method ("+receiver+") "+f.Name()+signature(f.Signature(), o.Pkg()))
		} else if types.IsInterface(t) {
			list = append(list, "method ("+name+") not exported")
		}
	}
	return list
}

// signature formats parameters and results without their names.
func signature(s *types.Signature, in *types.Package) string {
	bare := func(t *types.Tuple) *types.Tuple {
		var vars []*types.Var
		for v := range t.Variables() {
			vars = append(vars, types.NewParam(gotoken.NoPos, nil, "", v.Type()))
		}
		return types.NewTuple(vars...)
	}
	return strings.TrimPrefix(typeName(types.NewSignatureType(nil, nil, nil, bare(s.Params()), bare(s.Results()), s.Variadic()), in), "func")
}

// typeName formats a type with the paths of packages of this module.
func typeName(t types.Type, in *types.Package) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p == in {
			return ""
		}
		return strings.TrimPrefix(p.Path(), module+"/")
	})
}
