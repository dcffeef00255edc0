package servicetest

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
)

// A post office takes the requests to all receivers in place of the network.
type postOffice struct {
	mu     sync.Mutex
	answer map[string]func(*http.Request) (*http.Response, error) // by host
	got    map[string][]sent                                      // by host
}

// A sent is one request to a receiver.
type sent struct {
	at        time.Time
	id        string
	eventType string
}

func newPostOffice() *postOffice {
	return &postOffice{answer: map[string]func(*http.Request) (*http.Response, error){}, got: map[string][]sent{}}
}

// RoundTrip implements [http.RoundTripper]. A receiver without a configured
// answer returns 204.
func (p *postOffice) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var e api.Event
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.got[r.URL.Host] = append(p.got[r.URL.Host], sent{time.Now(), r.Header.Get("webhook-id"), e.Type})
	answer := p.answer[r.URL.Host]
	p.mu.Unlock()
	if answer == nil {
		return status(204)(r)
	}
	return answer(r)
}

// answers says how a host answers from now on; nil: 204.
func (p *postOffice) answers(host string, answer func(*http.Request) (*http.Response, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer[host] = answer
}

// at returns what has come to a host.
func (p *postOffice) at(host string) []sent {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]sent(nil), p.got[host]...)
}

func status(code int, header ...string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		h := http.Header{}
		for i := 0; i < len(header); i += 2 {
			h.Set(header[i], header[i+1])
		}
		return &http.Response{StatusCode: code, Header: h, Body: http.NoBody}, nil
	}
}

func refused(*http.Request) (*http.Response, error) { return nil, syscall.ECONNREFUSED }

// hanging answers when the sender has given up.
func hanging(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// postedBy are options with a post office and without a log.
func postedBy(p *postOffice) licensing.Options {
	return licensing.Options{Logger: slog.New(slog.DiscardHandler), Webhooks: webhook.Options{Transport: p}}
}

// seldom is postedBy for tests that take days.
func seldom(p *postOffice) licensing.Options {
	opts := postedBy(p)
	opts.PollInterval = time.Minute
	return opts
}

// begin runs Run until stop, which returns when it has returned.
func begin(t *testing.T, h *licensing.Handler) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Run(ctx) }()
	return sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

// hook makes a webhook at a host.
func hook(t *testing.T, h *licensing.Handler, host string, types ...string) api.Webhook {
	t.Helper()
	w, _, err := h.Webhooks().Create(t.Context(), api.CreateWebhookParams{URL: "https://" + host + "/in", Types: types})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// happen creates n licenses, and so n events.
func happen(t *testing.T, h *licensing.Handler, n int) {
	t.Helper()
	for range n {
		if _, err := h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c"}); err != nil {
			t.Fatal(err)
		}
	}
}

// deliveries returns the newest deliveries to a webhook.
func deliveries(t *testing.T, h *licensing.Handler, id string) []api.Delivery {
	t.Helper()
	page, err := h.Webhooks().Deliveries(t.Context(), api.ListDeliveriesParams{WebhookID: id})
	if err != nil {
		t.Fatal(err)
	}
	return page.Data
}

// ids returns how often each message came.
func ids(all []sent) map[string]int {
	counts := map[string]int{}
	for _, s := range all {
		counts[s.id]++
	}
	return counts
}
