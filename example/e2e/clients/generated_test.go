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

const (
	oapiCodegen = "v2.8.2"
	ogen        = "v1.25.0"
)

// A session is what a program reports that creates, lists and activates a license for
// one device, activates it for another, changes it with a stale ETag, asks for a verdict
// and for events, and deletes it.
type session struct {
	Listed            []string
	Activated         string // the fingerprint
	Conflict, Refused string // the codes of the problem and of its verdict
	Stale             string
	Verdict, Licensed string // the code, and the customer
	Events            []string
	Data              map[string]any // the entitlements in the first event
	Deleted           bool
}

// checkSession checks what a program printed whose license has the name and the customer.
func checkSession(t *testing.T, printed []byte, name string) {
	is := is.New(t)
	var got session
	is.NoErr(json.Unmarshal(printed, &got))
	is.Equal(got, session{
		Listed: []string{name}, Activated: "host-1", Conflict: "activation_limit", Refused: "activation_limit",
		Stale: "stale", Verdict: "not_activated", Licensed: name,
		Events: []string{"license.created", "activation.created"}, Data: map[string]any{"export": true}, Deleted: true,
	})
}

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

// TestGeneratedTypeScript generates three clients and checks them under tsc --strict,
// with two programs: one has a session, and the other sets an entitlement from a boolean
// variable, of which the service accepts true and refuses false.
func TestGeneratedTypeScript(t *testing.T) {
	is := is.New(t)
	dir := node.Install(t, "testdata/generated")
	base, client, secret := serve(t)
	description(t, dir, base)
	run := func(name string, args ...string) []byte {
		env := []string{"BASE=" + base, "CLIENT_ID=" + client.ID, "CLIENT_SECRET=" + secret}
		return node.Run(t, node.Command{Dir: dir, Env: env}, name, args...)
	}
	bin := filepath.Join(dir, "node_modules", ".bin")
	run(filepath.Join(bin, "openapi-typescript"), "openapi.json", "-o", "api.ts")
	run(filepath.Join(bin, "openapi-ts"), "-i", "openapi.json", "-o", "heyapi")
	run(filepath.Join(bin, "orval"))
	run(filepath.Join(bin, "tsc"), "-p", ".")
	checkSession(t, run("node", "session.js"), "orval")

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

// TestOgen generates a client with ogen and the options of the guide, and has a session.
func TestOgen(t *testing.T) {
	is := is.New(t)
	dir := t.TempDir()
	is.NoErr(os.CopyFS(dir, os.DirFS("testdata/generated/ogen")))
	base, client, secret := serve(t)
	description(t, dir, base)
	run := func(args ...string) []byte {
		env := []string{"GOFLAGS=-mod=mod", "BASE=" + base, "CLIENT_ID=" + client.ID, "CLIENT_SECRET=" + secret}
		return node.Run(t, node.Command{Dir: dir, Env: env}, "go", args...)
	}
	run("mod", "init", "example.com/session")
	run("get", "-tool", "github.com/ogen-go/ogen/cmd/ogen@"+ogen)
	run("tool", "ogen", "--config", "ogen.yml", "--package", "licensekit", "--target", "licensekit", "openapi.json")
	run("vet", "./...")
	checkSession(t, run("run", "."), "ogen")
}

// TestGeneratorsOfTheGuide: the guide has the versions and the ogen.yml that these tests use.
func TestGeneratorsOfTheGuide(t *testing.T) {
	is := is.New(t)
	guide, err := os.ReadFile("../../../licensing/docs/http.md")
	is.NoErr(err)
	used, err := os.ReadFile("testdata/generated/package.json")
	is.NoErr(err)
	for _, name := range []string{"openapi-typescript", "@hey-api/openapi-ts", "orval"} {
		m := regexp.MustCompile(`"` + name + `": "([^"]+)"`).FindSubmatch(used)
		is.True(m != nil)
		require.Contains(t, string(guide), name+" "+string(m[1]))
	}
	require.Contains(t, string(guide), "oapi-codegen "+oapiCodegen)
	require.Contains(t, string(guide), "ogen "+ogen)
	options, err := os.ReadFile("testdata/generated/ogen/ogen.yml")
	is.NoErr(err)
	require.Contains(t, string(guide), "```yaml\n"+string(options)+"```\n")
}
