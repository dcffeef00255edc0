package payment

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/fakestripe"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A shop has a clock, and plans for one activation.
type shop struct {
	h     *licensing.Handler
	rules *license.Service
	sales *selling.Service
	log   *lockedBuffer
	now   time.Time
}

type lockedBuffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

func newShop(t *testing.T, plans ...string) *shop {
	t.Helper()
	s := &shop{now: time.Now().Truncate(time.Second), log: new(lockedBuffer)}
	s.h = licensing.NewHandler(memory.New(), licensing.Options{Now: func() time.Time { return s.now }, Logger: slog.New(slog.NewTextHandler(s.log, nil))})
	s.rules, s.sales = s.h.Service(), s.h.Selling()
	for _, id := range plans {
		_, err := s.sales.PutPlan(t.Context(), api.PutPlanParams{ID: id, ProductID: "atlas", Terms: api.Terms{MaxActivations: new(int64(1))}})
		is.New(t).NoErr(err)
	}
	return s
}

// tick makes the next event a later one.
func (s *shop) tick() { s.now = s.now.Add(time.Second) }

// status returns the status of the license of a purchase; empty: it has none.
func (s *shop) status(t *testing.T, reference string) api.LicenseStatus {
	t.Helper()
	f, err := s.sales.GetPurchase(t.Context(), reference)
	is.New(t).NoErr(err)
	if f.License == nil {
		return ""
	}
	return f.License.Status
}

// failing returns the detail of the problem of a provider in Health; empty: there is none.
func (s *shop) failing(t *testing.T, provider string) string {
	t.Helper()
	for _, p := range s.h.Health(t.Context()).Problems {
		if p.Code == licensing.HealthPayment && p.Subject == provider {
			return p.Detail
		}
	}
	return ""
}

const secret = "whsec_test"

// signed returns a request of a provider with an event, at the time of the shop.
func (s *shop) signed(provider string, body []byte) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	at := fmt.Sprint(s.now.Unix())
	switch provider {
	case "stripe":
		r.Header.Set("Stripe-Signature", "t="+at+",v1="+hex.EncodeToString(sign([]byte(secret), at, ".", string(body))))
	case "paddle":
		r.Header.Set("Paddle-Signature", "ts="+at+";h1="+hex.EncodeToString(sign([]byte(secret), at, ":", string(body))))
	case "polar":
		r.Header.Set("Webhook-Id", "msg_1")
		r.Header.Set("Webhook-Timestamp", at)
		r.Header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(sign([]byte(secret), "msg_1.", at, ".", string(body))))
	case "lemonsqueezy":
		r.Header.Set("X-Signature", hex.EncodeToString(sign([]byte(secret), string(body))))
	}
	return r
}

// send delivers an event and returns the answer.
func (s *shop) send(provider string, h http.Handler, body []byte) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, s.signed(provider, body))
	return w
}

// stripe returns the account as this package reads it.
func stripeOf(a fakestripe.Account) Stripe {
	return Stripe{Key: fakestripe.Key, Secrets: []string{secret}, Client: a.Client()}
}

// A fakeAPI answers requests with the text that a test has for their paths, and with 404.
type fakeAPI struct {
	mu    sync.Mutex
	texts map[string]string // by the path or, if there is one, the path, "?" and a part of the query
	asked []string
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, r.URL.String())
	best := ""
	for path := range f.texts {
		of, part, _ := strings.Cut(path, "?")
		if of == r.URL.Path && strings.Contains(r.URL.RawQuery, part) && len(path) > len(best) {
			best = path
		}
	}
	if best == "" || r.Header.Get("Authorization") != "Bearer key" {
		http.NotFound(w, r)
		return
	}
	fmt.Fprint(w, f.texts[best])
}

func (f *fakeAPI) set(path, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.texts[path] = text
}

// newAPI returns a fake and its URL.
func newAPI(t *testing.T) (*fakeAPI, string) {
	f := &fakeAPI{texts: map[string]string{}}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	return f, server.URL
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

type object map[string]any

func answer(status int, body string) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}
