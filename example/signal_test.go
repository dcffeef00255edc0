//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// asProgram makes the test binary be the example itself.
const asProgram = "LICENSEKIT_EXAMPLE"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestSignals stops the program while a request is in flight: the request is
// answered, nothing stays behind, and the program says both and exits with 0.
func TestSignals(t *testing.T) {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			is := is.New(t)
			dir := t.TempDir()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-addr", "127.0.0.1:0")
			cmd.Env = append(os.Environ(), asProgram+"=1", "TMPDIR="+dir)
			cmd.WaitDelay = 10 * time.Second
			ex := &running{t: t, out: newScreen()}
			cmd.Stdout, cmd.Stderr = ex.out, ex.out
			is.NoErr(cmd.Start())
			exited := make(chan error, 1)
			go func() { exited <- cmd.Wait(); ex.out.close() }()
			is.True(ex.out.waitFor("Ctrl-C stops it."))

			base, err := url.Parse(ex.field("base address"))
			is.NoErr(err)
			body := `{"name":"in flight","product_id":"atlas","customer_id":"tall-ships"}`
			conn, err := net.Dial("tcp", base.Host)
			is.NoErr(err)
			defer conn.Close()
			is.NoErr(conn.SetDeadline(time.Now().Add(30 * time.Second)))
			fmt.Fprintf(conn, "POST %s/license HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n"+
				"Content-Type: application/json\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n",
				base.Path, base.Host, token(t, ex), len(body))
			in := bufio.NewReader(conn)
			line, err := in.ReadString('\n')
			is.NoErr(err)
			require.Contains(t, line, "100 Continue") // the handler has begun to read
			_, err = in.ReadString('\n')
			is.NoErr(err)

			is.NoErr(cmd.Process.Signal(sig))
			is.True(ex.out.waitFor("msg=stopping"))
			fmt.Fprint(conn, body)
			resp, err := http.ReadResponse(in, nil)
			is.NoErr(err)
			resp.Body.Close()
			is.Equal(resp.StatusCode, http.StatusCreated)

			is.NoErr(<-exited)
			require.Contains(t, ex.out.String(), "stopped: every request was answered")
			left, err := os.ReadDir(dir)
			is.NoErr(err)
			is.Equal(len(left), 0)
		})
	}
}

// token gets an access token with the credentials that the example printed.
func token(t *testing.T, ex *running) string {
	is := is.New(t)
	r, err := http.NewRequestWithContext(t.Context(), "GET", ex.field("base address")+"/oauth/token", nil)
	is.NoErr(err)
	r.SetBasicAuth(ex.field("client_id"), ex.field("client_secret"))
	resp, err := http.DefaultClient.Do(r)
	is.NoErr(err)
	defer resp.Body.Close()
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	is.NoErr(json.NewDecoder(resp.Body).Decode(&answer))
	return answer.AccessToken
}
