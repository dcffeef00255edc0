package clients

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/e2e/internal/node"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

const oapiCodegen = "v2.8.2"

// description writes openapi.json, as the service at base answers it, into dir.
func description(t *testing.T, dir, base string) {
	is := is.New(t)
	resp, err := http.Get(base + "/openapi.json")
	is.NoErr(err)
	defer resp.Body.Close()
	var doc json.RawMessage
	is.NoErr(json.NewDecoder(resp.Body).Decode(&doc))
	is.NoErr(os.WriteFile(filepath.Join(dir, "openapi.json"), doc, 0o600))
}

// TestGeneratedTypeScript generates two clients and checks them under tsc --strict,
// with a program that sets an entitlement from a boolean variable. The service
// accepts true and refuses false.
func TestGeneratedTypeScript(t *testing.T) {
	is := is.New(t)
	dir := node.Install(t)
	base, client, secret := serve(t)
	description(t, dir, base)
	run := func(name string, args ...string) []byte {
		env := []string{"BASE=" + base, "CLIENT_ID=" + client.ID, "CLIENT_SECRET=" + secret}
		return node.Run(t, node.Command{Dir: dir, Env: env}, name, args...)
	}
	bin := filepath.Join(dir, "node_modules", ".bin")
	run(filepath.Join(bin, "openapi-typescript"), "openapi.json", "-o", "api.ts")
	run(filepath.Join(bin, "openapi-ts"), "-i", "openapi.json", "-o", "heyapi")
	run(filepath.Join(bin, "tsc"), "-p", ".")

	var answers []struct {
		Status       int
		Entitlements map[string]any
		Pointer      string
	}
	is.NoErr(json.Unmarshal(run("node", "entitlement.js"), &answers))
	is.Equal(len(answers), 2)
	is.Equal(answers[0].Status, http.StatusCreated)
	is.Equal(answers[0].Entitlements, map[string]any{"export": true, "seats": 3.0, "edition": "pro"})
	is.Equal(answers[1].Status, http.StatusUnprocessableEntity)
	is.Equal(answers[1].Pointer, "#/entitlements/export")
}

// TestGeneratedGo generates a client with oapi-codegen, which compiles.
func TestGeneratedGo(t *testing.T) {
	dir := t.TempDir()
	base, _, _ := serve(t)
	description(t, dir, base)
	run := func(args ...string) {
		node.Run(t, node.Command{Dir: dir, Env: []string{"GOFLAGS=-mod=mod"}}, "go", args...)
	}
	run("mod", "init", "example.com/api")
	run("run", "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@"+oapiCodegen, "-generate", "types,client", "-package", "api", "-o", "api.go", "openapi.json")
	run("mod", "tidy")
	run("vet", ".")
}

// TestGeneratorsOfTheGuide: the guide names the versions that these tests use.
func TestGeneratorsOfTheGuide(t *testing.T) {
	is := is.New(t)
	guide, err := os.ReadFile("../../../licensing/docs/http.md")
	is.NoErr(err)
	used, err := os.ReadFile("testdata/package.json")
	is.NoErr(err)
	for _, name := range []string{"openapi-typescript", "@hey-api/openapi-ts"} {
		m := regexp.MustCompile(`"` + name + `": "([^"]+)"`).FindSubmatch(used)
		is.True(m != nil)
		require.Contains(t, string(guide), name+" "+string(m[1]))
	}
	require.Contains(t, string(guide), "oapi-codegen "+oapiCodegen)
}
