package dashboard_test

import (
	"context"
	"encoding/json"
	"errors"
	"html"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/outbox"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// fakeReceiver is a transport that records requests and answers with a status
// and a body.
type fakeReceiver struct {
	mu       sync.Mutex
	status   int
	body     string
	duration time.Duration
	requests []http.Header
	bodies   []string
}

func (f *fakeReceiver) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	time.Sleep(f.duration)
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if f.status == 0 {
		return nil, errors.New("connection refused")
	}
	f.requests, f.bodies = append(f.requests, r.Header.Clone()), append(f.bodies, string(sent))
	return &http.Response{StatusCode: f.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(f.body)), Request: r}, nil
}

func (f *fakeReceiver) answer(status int, body string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status, f.body = status, body
}

// takes sets how long the receiver takes to answer.
func (f *fakeReceiver) takes(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.duration = d
}

// attempted returns a condition for site.run: the newest delivery has n attempts.
func (s *site) attempted(w api.Webhook, n int) func() bool {
	return func() bool {
		page, err := s.Webhooks().Deliveries(s.t.Context(), api.ListDeliveriesParams{WebhookID: w.ID, Limit: 1})
		return err == nil && len(page.Data) == 1 && len(page.Data[0].Attempts) == n
	}
}

// newReceiverSite returns a site with a webhook, whose receiver answers as the test
// says, and an admin who is signed in.
func newReceiverSite(t *testing.T) (*site, *visitor, api.Webhook, *fakeReceiver) {
	t.Helper()
	receiver := &fakeReceiver{}
	s := newSiteOn(t, memory.New(), licensing.Options{Webhooks: webhook.Options{Transport: receiver}})
	return s, s.admin(), s.webhook("https://shop.example/hooks"), receiver
}

// start runs Run until stop is called.
func (s *site) start() (stop func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	return func() {
		cancel()
		is.New(s.t).NoErr(<-done)
	}
}

// TestTestEventShowsItsResult: the page after a test event has the result, even if
// the receiver takes some time.
func TestTestEventShowsItsResult(t *testing.T) {
	t.Parallel()
	s, v, w, receiver := newReceiverSite(t)
	s.run(t)
	defer s.start()()
	receiver.answer(http.StatusOK, "")
	receiver.takes(50 * time.Millisecond)
	a := v.follow(v.post("settings/webhooks/" + w.ID + "/test"))
	require.Contains(t, a.body, "A test event has been sent.", "The delivery succeeded. Status 200 after ")

	receiver.answer(http.StatusBadRequest, "")
	a = v.follow(v.post("settings/webhooks/" + w.ID + "/test"))
	require.Contains(t, a.body, "The event is not delivered. The last attempt failed. Status 400 after ")
	require.NotContains(t, a.body, "has been sent", "note good")

	receiver.answer(0, "")
	a = v.follow(v.post("settings/webhooks/" + s.webhook("https://other.example/hooks").ID + "/test"))
	require.Matches(t, a.body, regexp.MustCompile(`<p class="note warn">The event is not delivered\. The last attempt failed\. No response after \d+ ms \(connection failed or invalid HTTP\)\.`))
	require.NotContains(t, a.body, "has been sent", "note good")

	v.post("settings/webhooks/" + w.ID + "/pause") // no attempt follows
	a = v.follow(v.post("settings/webhooks/" + w.ID + "/test"))
	require.Contains(t, a.body, "A test event has been queued.", "The delivery is pending. The webhook is paused.")
}

func TestDeliveryPage(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s, v, w, receiver := newReceiverSite(t)

	queued, err := s.Webhooks().Test(t.Context(), w.ID)
	is.NoErr(err)
	at := "settings/webhooks/" + w.ID + "/deliveries/" + queued.ID
	a := v.get(at)
	require.Contains(t, a.body, "The delivery is pending.", ">Refresh</a>", "No attempts yet.")

	receiver.answer(http.StatusBadRequest, `unknown <b>event</b>`)
	s.run(t, s.attempted(w, 1))
	a = v.get(at)
	require.Contains(t, a.body, "The last attempt failed. Status 400 after ", "answered 400", "unknown &lt;b&gt;event&lt;/b&gt;", "Next attempt: in ")
	require.Contains(t, a.body, "Response body<span class=\"vh\"> of the attempt on ")

	receiver.answer(http.StatusOK, "accepted")
	stop := s.start()
	sent := v.post(at + "/resend")
	is.Equal(sent.to(), "../../../../../"+at)
	a = v.follow(sent) // shows the result
	stop()
	require.Contains(t, a.body, "The delivery succeeded. Status 200 after ")
	require.NotContains(t, a.body, ">Refresh</a>", "accepted")

	// The page shows what the receiver saw, except the signature.
	last := len(receiver.requests) - 1
	for name, values := range receiver.requests[last] {
		name = strings.ToLower(name)
		shown := regexp.MustCompile(`(?i)<dt>` + name + `</dt><dd>([^<]*?) ?<`).FindStringSubmatch(a.body)
		if shown == nil {
			t.Fatalf("the header %s is not shown", name)
		}
		if name == "webhook-signature" {
			is.Equal(shown[1], "Not shown")
			require.NotContains(t, a.body, values[0])
			require.NotContains(t, a.body, html.EscapeString(values[0]))
			continue
		}
		is.Equal(shown[1], values[0])
	}
	payload := regexp.MustCompile(`(?s)<code id="payload">(.*?)</code>`).FindStringSubmatch(a.body)
	var shown, received any
	is.NoErr(json.Unmarshal([]byte(html.UnescapeString(payload[1])), &shown))
	is.NoErr(json.Unmarshal([]byte(receiver.bodies[last]), &received))
	is.Equal(shown, received)

	s.operator("vic@example.com", operator.RoleViewer)
	a = s.signedIn("vic@example.com").get(at)
	is.Equal(a.StatusCode, http.StatusOK)
	require.NotContains(t, a.body, "/resend")

	// The event was removed after the retention period.
	id := at[strings.LastIndex(at, "/")+1:]
	is.NoErr(s.st.Update(t.Context(), func(tx store.Tx) error {
		rec, err := outbox.Get(t.Context(), tx, w.ID, id)
		if err != nil {
			return err
		}
		rec.EventID, rec.EventSeq = store.NewID("evt", s.now), 1<<40
		rec.State, rec.DueAt = string(api.DeliveryFailed), time.Time{}
		return outbox.Put(t.Context(), tx, rec)
	}))
	a = v.get(at)
	require.Contains(t, a.body, "The event is no longer stored")
	require.NotContains(t, a.body, `id="payload"`)
	require.Contains(t, a.body, "The delivery failed, and no further attempt is scheduled.")
}

func TestDeliveryPageOfAnotherWebhook(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	w := s.webhook("https://shop.example/hooks")
	s.license(api.CreateLicenseParams{Name: "Atlas"})
	at := "settings/webhooks/" + w.ID
	require.NotContains(t, v.get(at).body, "license.created<") // it waits for its first attempt
	_, err := s.Webhooks().Test(t.Context(), w.ID)
	is.NoErr(err)
	link := regexp.MustCompile(`href="[^"]*(/deliveries/dlv_\w{26})">webhook.test<`).FindStringSubmatch(v.get(at).body)
	is.Equal(v.get(at+link[1]).StatusCode, http.StatusOK)
	for _, id := range []string{"dlv_x", "dlv_" + strings.Repeat("0", 26), "%00"} {
		is.Equal(v.get(at+"/deliveries/"+id).StatusCode, http.StatusNotFound)
	}
	other := s.webhook("https://shop.example/other")
	is.Equal(v.get("settings/webhooks/"+other.ID+link[1]).StatusCode, http.StatusNotFound)
}
