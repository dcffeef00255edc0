package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// TestREADMEMount runs the Go code of the README.
func TestREADMEMount(t *testing.T) {
	is := is.New(t)
	t.Chdir(t.TempDir())
	is.NoErr(readmeMount(t))
}

func readmeMount(t *testing.T) error {
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	mux := http.NewServeMux()

	st, err := sqlite.Open("licenses.db")
	if err != nil {
		return err
	}
	defer st.Close()
	h := licensing.NewHandler(st, licensing.Options{})
	wg.Go(func() { h.Run(ctx) }) // events out, housekeeping; returns soon after ctx ends: wait for it before st.Close

	mux.Handle("/licensing/", http.StripPrefix("/licensing", h))

	defer wg.Wait() // after cancel, and before st.Close
	defer cancel()
	client, secret, err := h.Auth().CreateClient(ctx, auth.CreateClientParams{Name: "Web shop"})
	if err != nil {
		return err
	}
	lic, err := h.Service().Create(ctx, license.CreateParams{Name: "Atlas Team", ProductID: "atlas", CustomerID: "cus_1"})
	if err != nil {
		return err
	}
	password := "the ferry leaves before breakfast"
	op, err := h.Operators().Create(ctx, operator.CreateParams{
		Email: "ada@example.com", Password: password, Role: operator.RoleAdmin, // a viewer changes nothing
	})
	if err != nil {
		return err
	}

	is := is.New(t)
	is.Equal(op.Role, operator.RoleAdmin)
	r := httptest.NewRequest("GET", "/licensing/oauth/token", nil)
	r.SetBasicAuth(client.ID, secret)
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	is.Equal(w.Code, http.StatusOK)
	is.Equal(lic.ProductID, "atlas")
	return nil
}

// TestREADMECode finds each Go block of the README in the file that the
// comment above it names, which is compiled and tested there.
func TestREADMECode(t *testing.T) {
	is := is.New(t)
	readme, err := os.ReadFile("../README.md")
	is.NoErr(err)
	marked := regexp.MustCompile("(?s)<!-- compiled: (\\S+) -->\n```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	is.Equal(len(marked), strings.Count(string(readme), "```go\n")) // every block is marked
	is.True(len(marked) > 0)
	for _, m := range marked {
		file, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(m[1])))
		is.NoErr(err)
		if !strings.Contains(unindented(string(file)), unindented(m[2])) {
			t.Errorf("%s does not hold this code of the README:\n%s", m[1], m[2])
		}
	}
}

// unindented takes the white space off the beginnings of lines.
func unindented(code string) string {
	return regexp.MustCompile(`(?m)^[ \t]+`).ReplaceAllString(code, "")
}

// TestREADMESession runs the curl session of the README, word for word,
// against the example.
func TestREADMESession(t *testing.T) {
	needCurl(t)
	is := is.New(t)
	readme, err := os.ReadFile("../README.md")
	is.NoErr(err)
	session := regexp.MustCompile("(?s)<!-- run -->\n```sh\n(.*?)```").FindStringSubmatch(string(readme))
	is.True(session != nil) // the README has a session

	ex := start(t)
	cmd := exec.CommandContext(t.Context(), "sh", "-e")
	cmd.Env = append(os.Environ(), "BASE="+ex.field("base address"), "CLIENT_ID="+ex.field("client_id"), "CLIENT_SECRET="+ex.field("client_secret"))
	cmd.Stdin = strings.NewReader("curl() { command curl --fail-with-body --max-time 20 \"$@\"; echo; }\n" + session[1])
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{
		`"name":"Atlas Team"`, `"expires_at":"2030-01-01T00:00:00Z"`, `"object":"list"`,
		`"name":"Atlas Team of Ten"`, `"max_activations":10`, `"deleted":true`,
		`"fingerprint":"pc-1"`, `{"valid":true,"code":"valid"`, `"status_reason":"invoice 7 is open"`,
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the session did not show %s:\n%s", want, out)
		}
	}
}
