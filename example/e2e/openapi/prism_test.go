package openapi

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/e2e/internal/node"
)

var prism = flag.Int("prism", 0, "how many requests TestPrism sends; 0: none, because it takes a minute to install Prism")

// TestPrism is a second opinion: Prism, a program for Node.js, stands between the
// requests of TestFuzz and a service, and compares each answer with the
// description. It gets only the valid ones, because broken ones end it, and some
// others do, after hundreds of answers.
func TestPrism(t *testing.T) {
	if *prism == 0 {
		return
	}
	c := newChecker(t)
	judged, ended := 0, false
	var f *fuzzer
	f = newFuzzer(t, c, func(service http.Handler) http.Handler {
		toPrism := startPrism(t, service)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if f.wild || ended {
				service.ServeHTTP(w, r)
				return
			}
			sent := r.Method + " " + r.URL.String()
			answer := httptest.NewRecorder()
			toPrism.ServeHTTP(answer, r)
			header := answer.Result().Header
			if answer.Code == http.StatusBadGateway {
				t.Logf("Prism ended at %s", sent)
				ended = true
				service.ServeHTTP(w, httptest.NewRequestWithContext(r.Context(), "GET", "/health", nil))
				return
			}
			judged++
			var violations []struct {
				Location []string
				Message  string
			}
			if text := header.Get("Sl-Violations"); text != "" {
				if err := json.Unmarshal([]byte(text), &violations); err != nil {
					t.Errorf("%v in %.300s", err, text)
				}
			}
			isLines := header.Get("Content-Type") == "application/x-ndjson" // which Prism does not read
			isOperation := answer.Code != http.StatusMethodNotAllowed && !bytes.Contains(answer.Body.Bytes(), []byte(`"no_such_path"`))
			for _, v := range violations {
				if isOperation && !isLines && len(v.Location) > 0 && v.Location[0] == "response" {
					t.Errorf("%s was answered %d %.600s, but: %v", sent, answer.Code, answer.Body, v)
				}
			}
			header.Del("Sl-Violations")
			for name, values := range header {
				w.Header()[name] = values
			}
			w.WriteHeader(answer.Code)
			io.Copy(w, answer.Body)
		})
	}, rand.New(rand.NewPCG(rand.Uint64(), 0)), false)
	defer f.stop()
	for range *prism {
		f.next() // TestFuzz is about the errors
	}
	t.Logf("Prism compared %d answers", judged)
	if judged < min(*prism/3, 200) {
		t.Error("those are too few")
	}
}

// startPrism starts a service and Prism as its proxy, and returns a handler that
// sends requests to Prism.
func startPrism(t *testing.T, service http.Handler) http.Handler {
	t.Helper()
	is := is.New(t)
	dir := node.Install(t, "testdata")
	w := httptest.NewRecorder()
	service.ServeHTTP(w, httptest.NewRequest("GET", "/openapi.json", nil))
	is.NoErr(os.WriteFile(filepath.Join(dir, "openapi.json"), w.Body.Bytes(), 0o600))
	upstream := httptest.NewServer(service)
	t.Cleanup(upstream.Close)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	is.NoErr(err)
	address := listener.Addr().String()
	is.NoErr(listener.Close())
	host, port, err := net.SplitHostPort(address)
	is.NoErr(err)

	cmd := exec.CommandContext(t.Context(), "node_modules/.bin/prism", "proxy", "openapi.json", upstream.URL, "--host", host, "--port", port)
	cmd.Dir = dir
	out, err := cmd.StdoutPipe()
	is.NoErr(err)
	cmd.Stderr = cmd.Stdout
	is.NoErr(cmd.Start())
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	said := ""
	for lines := bufio.NewScanner(out); !strings.Contains(said, "is listening"); said += lines.Text() + "\n" {
		if !lines.Scan() {
			t.Fatal(said)
		}
	}
	go io.Copy(io.Discard, out)
	return httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
}
