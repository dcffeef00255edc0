package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/internal/process"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// page returns a guide.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../licensing/docs/" + name)
	is.New(t).NoErr(err)
	return string(text)
}

// block returns the block of code after a marker.
func block(t *testing.T, text, marker string) string {
	t.Helper()
	_, text, found := strings.Cut(text, "<!-- "+marker+" -->\n```")
	is.New(t).True(found)
	_, text, _ = strings.Cut(text, "\n") // the language
	text, _, _ = strings.Cut(text, "```")
	return text
}

// TestTutorial sells a license with the commands of docs/tutorial.md, and builds and runs
// its program: while the service runs, and after it has stopped.
func TestTutorial(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is needed")
	}
	if testing.Short() {
		t.Skip("linking a program takes a second")
	}
	is := is.New(t)
	tutorial, dir := page(t, "tutorial.md"), t.TempDir()
	environment := []string{"LICENSEKIT_ADDR=127.0.0.1:0", "LICENSEKIT_STORE=" + filepath.Join(dir, "licenses.db"), "HOME=" + dir}
	p := process.Start(t, program(t, environment, "serve"), false)
	words := strings.Fields(output(t, environment, "create-client", "shop", "license:read,license:write"))

	values := map[string]string{"BASE": p.URL, "CLIENT_ID": words[1], "CLIENT_SECRET": words[3]}
	session := regexp.MustCompile(`(?m)^(BASE|CLIENT_ID|CLIENT_SECRET)=\S+`).ReplaceAllStringFunc(block(t, tutorial, "run: example/licensekit"), func(line string) string {
		variable, _, _ := strings.Cut(line, "=")
		return variable + "=" + values[variable]
	})
	cmd := exec.CommandContext(t.Context(), "sh", "-euc", session+"\nprintf %s \"$KEY\" >key")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	is.NoErr(err)
	require.Contains(t, string(out), `"id":"price_team_year"`)
	key, err := os.ReadFile(filepath.Join(dir, "key"))
	is.NoErr(err)
	is.True(len(key) > 10)

	source := block(t, tutorial, "built")
	const url = "http://127.0.0.1:8181/licensing"
	require.Contains(t, source, `"`+url+`"`)
	is.NoErr(os.WriteFile(filepath.Join(dir, "main.go"), []byte(strings.ReplaceAll(source, url, p.URL)), 0o600))
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "atlas"), filepath.Join(dir, "main.go"))
	build.Dir = "../.."
	out, err = build.CombinedOutput()
	is.NoErr(err)
	is.Equal(string(out), "")
	run := func() string {
		cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "atlas"))
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "KEY="+string(key), "HOME="+dir, "XDG_CONFIG_HOME="+dir)
		out, err := cmd.CombinedOutput()
		is.NoErr(err)
		return string(out)
	}
	require.Contains(t, run(), "may export: true")
	p.Kill()
	require.Contains(t, run(), "may export: true")
}

// TestTestMode runs the command of docs/deploy.md for a service to test with: it does not
// know what the other one has sold.
func TestTestMode(t *testing.T) {
	is := is.New(t)
	const command = "\n    licensekit serve --store test.db --addr 127.0.0.1:8182\n"
	require.Contains(t, page(t, "deploy.md"), command)
	var services []*process.Process
	var clients []*process.Client
	for _, store := range []string{"licenses.db", "test.db"} {
		environment := []string{"LICENSEKIT_STORE=" + filepath.Join(t.TempDir(), store)}
		services = append(services, process.Start(t, program(t, environment, "serve", "--addr", "127.0.0.1:0"), false))
		clients = append(clients, process.NewClient(t, services[len(services)-1], output(t, environment, "create-client", "shop", "license:write")))
	}
	status, _, err := clients[1].Sell(services[1], "test@customer.example")
	is.NoErr(err)
	is.Equal(status, 201)
	status, _, err = clients[1].Sell(services[0], "test@customer.example")
	is.NoErr(err)
	is.Equal(status, 401) // a client of the test store
}
