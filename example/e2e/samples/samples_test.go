// Package samples runs the programs of licensing/docs/samples.
package samples

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/e2e/internal/node"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// A sample is a program of the guides in one language.
type sample struct {
	command, program, vectors string
}

// each runs a test for each language, in a folder with the samples.
func each(t *testing.T, test func(t *testing.T, dir string, s sample)) {
	for language, s := range map[string]sample{
		"JavaScript": {command: "node", program: "license.mjs", vectors: "vectors.mjs"},
		"Python":     {command: "python3", program: "license.py", vectors: "vectors.py"},
	} {
		t.Run(language, func(t *testing.T) {
			if language == "Python" {
				s.command = node.Python(t)
			} else if _, err := exec.LookPath(s.command); err != nil {
				t.Skipf("Node.js is needed: %v", err)
			}
			dir := t.TempDir()
			for _, from := range []string{"testdata", "../../../licensing/docs/samples"} {
				if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
					t.Fatal(err)
				}
			}
			test(t, dir, s)
		})
	}
}

// TestVectors: the samples accept and refuse the published files as licensefile does, and
// take the claims of the files that an office signed.
func TestVectors(t *testing.T) {
	is := is.New(t)
	data, err := os.ReadFile("../../../licensing/licensefile/testdata/vectors.json")
	is.NoErr(err)
	var vectors struct {
		Files []struct {
			Name   string
			Valid  bool
			Claims map[string]any
		}
	}
	is.NoErr(json.Unmarshal(data, &vectors))
	each(t, func(t *testing.T, dir string, s sample) {
		is := is.New(t)
		var accepted map[string]map[string]any
		is.NoErr(json.Unmarshal(node.Run(t, node.Command{Dir: dir, Input: data}, s.command, s.vectors), &accepted))
		for _, f := range vectors.Files {
			claims, ok := accepted[f.Name]
			if ok != f.Valid {
				t.Errorf("%s: valid should be %v", f.Name, f.Valid)
			} else if f.Claims != nil {
				is.Equal(claims, f.Claims)
			}
		}
	})
}

// TestSamples: a program activates, keeps its file, starts without the service, refuses
// an altered file and that of another machine, and says why the service refuses.
func TestSamples(t *testing.T) {
	is := is.New(t)
	st, err := sqlite.Open(filepath.Join(t.TempDir(), "licensing.db"))
	is.NoErr(err)
	defer st.Close()
	testSamples(t, st)
}

func testSamples(t *testing.T, st store.Store) {
	is := is.New(t)
	h := licensing.NewHandler(st, licensing.Options{Logger: slog.New(slog.DiscardHandler)})
	keys, err := h.Files().KeySet(t.Context())
	is.NoErr(err)
	jwks, err := json.Marshal(keys)
	is.NoErr(err)
	each(t, func(t *testing.T, dir string, s sample) { runSample(t, h, dir, s, jwks) })
}

func runSample(t *testing.T, h *licensing.Handler, dir string, s sample, jwks []byte) {
	is := is.New(t)
	is.NoErr(os.WriteFile(filepath.Join(dir, "keys.json"), jwks, 0o600))
	l, err := h.Service().Create(t.Context(), api.CreateLicenseParams{
		Name: "Ada Lovelace", ProductID: "atlas", CustomerID: "ada", Terms: api.Terms{Entitlements: map[string]any{"export": true}},
	})
	is.NoErr(err)
	mux := http.NewServeMux()
	mux.Handle("/licensing/", http.StripPrefix("/licensing", h))
	server := httptest.NewServer(mux)
	defer server.Close()
	key := l.Key
	run := func(machine string) (out string, ok bool) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, s.command, s.program, "keys.json", "license.jws", machine)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "LICENSE_SERVER="+server.URL+"/licensing", "LICENSE_KEY="+key)
		text, err := cmd.CombinedOutput()
		return string(text), err == nil
	}
	const licensed = "licensed to Ada Lovelace: {\"export\":true}\n"
	file := filepath.Join(dir, "license.jws")

	out, ok := run("machine-1")
	is.True(ok)
	is.Equal(out, licensed)
	good, err := os.ReadFile(file)
	is.NoErr(err)

	is.NoErr(os.Remove(file))
	_, err = h.Service().Suspend(t.Context(), api.ChangeStateParams{ID: l.ID, Reason: "Please pay invoice 7."})
	is.NoErr(err)
	out, ok = run("machine-1")
	is.True(!ok)
	is.Equal(strings.TrimSpace(out), "no license: The license is suspended: Please pay invoice 7.")
	_, err = h.Service().Reinstate(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	key = "AAAAA-AAAAA-AAAAA-AAAAA-AAAAA"
	out, ok = run("machine-1")
	is.True(!ok)
	is.Equal(strings.TrimSpace(out), "no license: No license has this license key; check it for typos.")
	key = l.Key
	is.NoErr(os.WriteFile(file, good, 0o600))

	_, err = h.Service().Revoke(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	is.NoErr(os.Remove(file))
	out, ok = run("machine-1")
	is.True(!ok)
	is.Equal(strings.TrimSpace(out), "no license: The license was revoked.")
	_, err = os.Stat(file)
	is.True(os.IsNotExist(err)) // nothing is kept for a refusal

	server.Close()
	is.NoErr(os.WriteFile(file, good, 0o600))
	out, ok = run("machine-1")
	is.True(ok)
	is.Equal(out, licensed)
	out, ok = run("machine-2") // the folder was copied
	is.True(!ok)
	require.Contains(t, out, "no license: The license was activated on another machine; enter the license key again to use it here. (")
	require.Contains(t, strings.ToLower(out), "refused")                                         // the error of the network
	for begin, end := range map[string]string{"\ufeff": "=\r\n", "> ": "\n> ", "": "\u200b\n"} { // it came by mail
		mailed := begin
		for rest := string(good); rest != ""; {
			n := min(75, len(rest))
			mailed, rest = mailed+rest[:n]+end, rest[n:]
		}
		is.NoErr(os.WriteFile(file, []byte(mailed), 0o600))
		out, ok = run("machine-1")
		is.True(ok)
		is.Equal(out, licensed)
	}
	is.NoErr(os.WriteFile(file, good[:len(good)-2], 0o600))
	out, ok = run("machine-1")
	is.True(!ok)
	require.Contains(t, out, "no license: not a whole license file; copy it again (")
	bad := strings.Replace(string(good), ".ey", ".ez", 1)
	is.True(bad != string(good))
	is.NoErr(os.WriteFile(file, []byte(bad), 0o600))
	_, ok = run("machine-1")
	is.True(!ok)
}
