//go:build !windows

package program

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// TestBinary builds a program with a license and one that sends a request. The
// first is at most 1 MB larger, and links no other module.
func TestBinary(t *testing.T) {
	if testing.Short() {
		t.Skip("go build takes seconds")
	}
	is := is.New(t)
	const bare = `package main

import ("fmt"; "net/http"; "io")

func main() {
	resp, err := http.Post("https://acme.example/", "application/json", nil)
	if err == nil {
		io.Copy(io.Discard, resp.Body)
	}
	fmt.Println(err)
}
`
	const licensed = `package main

import ("fmt"; "github.com/seed-d8a106b4/licensekit/licensing/program")

func main() {
	lic, err := program.Open(program.Options{URL: "https://acme.example/", ProductID: "atlas"})
	fmt.Println(lic.Status(), err)
	lic.SetKey(nil, ""); lic.TakeOver(nil); lic.Refresh(nil); lic.Release(nil); lic.Install(""); lic.Request(); lic.Close()
}
`
	sizes := map[string]int64{}
	for name, text := range map[string]string{"bare": bare, "licensed": licensed} {
		dir, err := os.MkdirTemp("testdata", name+"-") // in the module
		is.NoErr(err)
		defer os.RemoveAll(dir)
		is.NoErr(os.WriteFile(filepath.Join(dir, "main.go"), []byte(text), 0o600))
		file := filepath.Join(t.TempDir(), name)
		out, err := exec.CommandContext(t.Context(), "go", "build", "-o", file, "./"+dir).CombinedOutput()
		if err != nil {
			t.Fatalf("go build: %v\n%s", err, out)
		}
		info, err := os.Stat(file)
		is.NoErr(err)
		sizes[name] = info.Size()
		built, err := buildinfo.ReadFile(file)
		is.NoErr(err)
		is.Equal(len(built.Deps), 0)
	}
	t.Log(fmt.Sprint(sizes))
	require.AtMost(t, sizes["licensed"]-sizes["bare"], 1<<20)
}

// TestLicensingCodeIsShort counts the lines that a newcomer writes: those of the
// example, with its embedded keys.
func TestLicensingCodeIsShort(t *testing.T) {
	is := is.New(t)
	text, err := os.ReadFile("example_test.go")
	is.NoErr(err)
	_, embedded, _ := strings.Cut(string(text), "//go:embed")
	embedded, _, _ = strings.Cut(embedded, "\n\n")
	_, body, _ := strings.Cut(string(text), "func Example() {\n")
	body, _, found := strings.Cut(body, "\t\tfmt.Println(\"exporting\")")
	is.True(found)
	lines := 1 + strings.Count(embedded, "\n") + len(strings.Fields(strings.ReplaceAll(strings.ReplaceAll(body, " ", "_"), "\t", "")))
	require.AtMost(t, lines, 12)
}
