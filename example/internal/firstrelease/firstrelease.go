// Package firstrelease checks that a store opened from data of the first
// release still holds all of that data. testdata/README.md describes the data.
//
// It reads only through the service, and never through the store, so that it
// is independent of how a store keeps its records.
package firstrelease

import (
	"embed"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
	"github.com/seed-d8a106b4/licensekit/store"
)

//go:embed testdata/credentials.json testdata/golden.txt
var testdata embed.FS

// credentials are the secrets in the data, and the instant at which it was
// frozen.
type credentials struct {
	Now     time.Time         `json:"now"`
	Secrets map[string]string `json:"secrets"`
	Clients map[string]string `json:"clients"` // client ids by name
	Plain   string            `json:"plain"`   // id of a license
	Ada     string            `json:"ada"`     // id of an operator
}

// shortLived are the sections of what an archive leaves out.
var shortLived = []string{"token", "session", "invitation", "throttled"}

// Check compares what st holds with what the first release stored. It writes
// to st. An archive does not hold short-lived records.
func Check(t testing.TB, st store.Store, archive bool) {
	t.Helper()
	text, err := testdata.ReadFile("testdata/golden.txt")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if archive {
		want = slices.DeleteFunc(want, func(line string) bool {
			section, _, _ := strings.Cut(line, " ")
			return slices.Contains(shortLived, section)
		})
	}
	got := Observe(t, st, archive)
	missing, added := without(want, got), without(got, want)
	for _, line := range missing[:min(10, len(missing))] {
		t.Errorf("missing: %s", line)
	}
	for _, line := range added[:min(10, len(added))] {
		t.Errorf("unexpected: %s", line)
	}
	if len(missing)+len(added) == 0 && !slices.Equal(got, want) {
		t.Error("the same lines in another order")
	}
}

// without returns the lines of all that are not in others.
func without(all, others []string) (left []string) {
	counts := map[string]int{}
	for _, line := range others {
		counts[line]++
	}
	for _, line := range all {
		if counts[line]--; counts[line] < 0 {
			left = append(left, line)
		}
	}
	return left
}

// Observe returns what st holds, as lines of a section's name and JSON.
func Observe(t testing.TB, st store.Store, archive bool) []string {
	o := &observer{t: t, archive: archive}
	text, err := testdata.ReadFile("testdata/credentials.json")
	if err == nil {
		err = json.Unmarshal(text, &o.known)
	}
	if err != nil {
		t.Fatal(err)
	}
	o.now = o.known.Now
	o.handler = licensing.NewHandler(st, licensing.Options{
		Now: o.clock, Logger: slog.New(slog.DiscardHandler), PollInterval: 10 * time.Millisecond,
		MasterKey: []byte("first release test master key 32"),
		PublicURL: "https://example.com/licensing",
		ClientIP:  func(*http.Request) netip.Addr { return o.address },
		Webhooks:  webhook.Options{Transport: o},
		Subscribers: []licensing.Subscriber{
			{Name: "ledger", FromStart: true, Handle: o.handle},
		},
	})
	o.service, o.auth, o.operators = o.handler.Service(), o.handler.Auth(), o.handler.Operators()
	o.address = netip.MustParseAddr("192.0.2.1")
	o.readLicenses()
	o.readLists()
	o.readEvents()
	o.readCredentials()
	o.use()
	return o.lines
}

// An observer writes down what a service answers.
type observer struct {
	t         testing.TB
	archive   bool
	known     credentials
	handler   *licensing.Handler
	service   *license.Service
	auth      *auth.Auth
	operators *operator.Service
	address   netip.Addr
	lines     []string

	mu      sync.Mutex
	now     time.Time
	handled []string // events of the subscriber
	sent    []string // requests to webhooks

	signedIn string // the event of the throttled operator, once let in
}

func (o *observer) clock() time.Time {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.now
}

func (o *observer) advance(d time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now = o.now.Add(d)
}

// newMembers removes the members that the first release did not have, with
// their defaults.
var newMembers = strings.NewReplacer(`"offline_seconds":null,"generation":1,`, "", `"held_until":null,"offline_until":null,`, "")

// add writes a line. An error is written instead of the value.
func (o *observer) add(section, about string, value any, err error) {
	if o.archive && slices.Contains(shortLived, section) {
		return
	}
	if err != nil {
		value = "error: " + err.Error()
	}
	text, err := json.Marshal(value)
	if err != nil {
		o.t.Fatal(err)
	}
	if about != "" {
		section += " " + about
	}
	o.lines = append(o.lines, section+" "+newMembers.Replace(string(text)))
}

// request sends a request to the handler and returns the answer.
func (o *observer) request(method, target, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(o.t.Context(), method, "http://localhost"+target, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	o.handler.ServeHTTP(w, r)
	return w
}
