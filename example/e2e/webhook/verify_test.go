package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/seed-d8a106b4/licensekit/example/e2e/internal/node"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// A message is one delivery as it came.
type message struct {
	Header http.Header
	Body   string
}

// inbox is a receiver, and what has come to it.
func inbox(t *testing.T) (url string, came <-chan message) {
	t.Helper()
	in := make(chan message, 100)
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			in <- message{r.Header.Clone(), string(body)}
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, in
}

// TestStandardWebhooks has real deliveries verified by the libraries of the
// standard for Go and for Node, before, within and after the overlap of a
// rotation.
func TestStandardWebhooks(t *testing.T) {
	is := is.New(t)
	st, err := sqlite.Open(filepath.Join(t.TempDir(), "licenses.db"))
	is.NoErr(err)
	defer st.Close()
	h := licensing.NewHandler(st, licensing.Options{
		Logger: slog.New(slog.DiscardHandler), PollInterval: 10 * time.Millisecond,
		MasterKey: []byte(strings.Repeat("k", 32)), Webhooks: webhook.Options{AllowPrivate: true},
	})
	url, came := inbox(t)
	w, first, err := h.Webhooks().Create(t.Context(), api.CreateWebhookParams{URL: url, Types: []string{api.EventLicenseCreated}})
	is.NoErr(err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()

	next := func() message {
		_, err := h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Ada's <license> & \u2028 ü", ProductID: "p", CustomerID: "c"})
		is.NoErr(err)
		select {
		case m := <-came:
			return m
		case <-time.After(30 * time.Second):
			t.Fatal("no delivery came")
			panic("unreachable")
		}
	}
	var checks []check
	expect := func(m message, good, bad []string) {
		for _, s := range good {
			checks = append(checks, check{s, m.Header, m.Body, true})
		}
		for _, s := range bad {
			checks = append(checks, check{s, m.Header, m.Body, false})
		}
	}
	other := "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	m := next()
	expect(m, []string{first}, []string{other})
	checks = append(checks, check{first, m.Header, m.Body + " ", false})
	_, second, err := h.Webhooks().RotateSecret(t.Context(), api.RotateWebhookParams{ID: w.ID, OverlapSeconds: new(int64(3600))})
	is.NoErr(err)
	expect(next(), []string{first, second}, []string{other})
	_, third, err := h.Webhooks().RotateSecret(t.Context(), api.RotateWebhookParams{ID: w.ID, OverlapSeconds: new(int64)})
	is.NoErr(err)
	expect(next(), []string{third}, []string{first, second})
	cancel()
	is.NoErr(<-ended)

	t.Run("envelope", func(t *testing.T) {
		is := is.New(t)
		var e struct {
			Type      string          `json:"type"`
			Timestamp time.Time       `json:"timestamp"`
			Data      json.RawMessage `json:"data"`
			ID        string          `json:"id"`
		}
		is.NoErr(json.Unmarshal([]byte(m.Body), &e))
		is.Equal(e.Type, "license.created")
		require.Less(t, time.Since(e.Timestamp), time.Minute)
		is.Equal(m.Header.Get("webhook-id"), e.ID)
		is.Equal(m.Header.Get("Content-Type"), "application/json")
		require.NotContains(t, string(e.Data), `"key"`)
	})
	t.Run("Go", func(t *testing.T) {
		is := is.New(t)
		for _, c := range checks {
			wh, err := standardwebhooks.NewWebhook(c.Secret)
			is.NoErr(err)
			is.Equal(wh.Verify([]byte(c.Body), c.Header) == nil, c.Good)
		}
	})
	t.Run("Node", func(t *testing.T) { verifyWithNode(t, checks) })
}

// A check is a message, a secret, and whether they belong together.
type check struct {
	Secret string
	Header http.Header
	Body   string
	Good   bool
}

// verifyWithNode has testdata/verify.cjs verify the messages.
func verifyWithNode(t *testing.T, checks []check) {
	is := is.New(t)
	dir := node.Install(t, "testdata")
	input, err := json.Marshal(checks)
	is.NoErr(err)
	out := node.Run(t, node.Command{Dir: dir, Input: input}, "node", "verify.cjs")
	is.Equal(strings.TrimSpace(string(out)), fmt.Sprint(len(checks), " verified"))
}
