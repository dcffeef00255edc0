package licensing_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
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
	var e license.Event
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
func hook(t *testing.T, h *licensing.Handler, host string, types ...string) webhook.Webhook {
	t.Helper()
	w, _, err := h.Webhooks().Create(t.Context(), webhook.CreateParams{URL: "https://" + host + "/in", Types: types})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// happen creates n licenses, and so n events.
func happen(t *testing.T, h *licensing.Handler, n int) {
	t.Helper()
	for range n {
		if _, err := h.Service().Create(t.Context(), license.CreateParams{Name: "n", ProductID: "p", CustomerID: "c"}); err != nil {
			t.Fatal(err)
		}
	}
}

// deliveries returns the newest deliveries to a webhook.
func deliveries(t *testing.T, h *licensing.Handler, id string) []webhook.Delivery {
	t.Helper()
	page, err := h.Webhooks().Deliveries(t.Context(), webhook.DeliveriesParams{WebhookID: id})
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

func TestTwoRunsDeliverEachEventToEachWebhookOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p, st := newPostOffice(), storetest.Twice(memory.New())
		a, b := licensing.NewHandler(st, postedBy(p)), licensing.NewHandler(st, postedBy(p))
		happen(t, a, 3) // before there are webhooks
		hook(t, a, "all.example")
		hook(t, a, "licenses.example", "license.*")
		hook(t, a, "none.example", "client.created")
		stopA, stopB := begin(t, a), begin(t, b)
		happen(t, a, 150)
		time.Sleep(time.Minute)
		stopA()
		happen(t, a, 50)
		time.Sleep(time.Minute)
		stopB()

		is.Equal(len(ids(p.at("licenses.example"))), 200)
		is.Equal(len(p.at("licenses.example")), 200) // and none twice
		is.Equal(len(p.at("all.example")), 202)      // and the making of the two after it
		is.Equal(len(ids(p.at("all.example"))), 202)
		is.Equal(len(p.at("none.example")), 0)
	})
}

// TestADeadReceiverLosesNothing takes a receiver away for an hour: connections
// are refused, and what could not be delivered is when it is back.
func TestADeadReceiverLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p := newPostOffice()
		h := licensing.NewHandler(memory.New(), seldom(p))
		w := hook(t, h, "dead.example")
		hook(t, h, "alive.example", "license.created")
		defer begin(t, h)()
		p.answers("dead.example", refused)
		for range 60 {
			happen(t, h, 5)
			time.Sleep(time.Minute)
		}
		require.AtLeast(t, len(p.at("alive.example")), 290) // but for the last round
		require.Less(t, len(p.at("dead.example")), 200)     // held back, not hammered
		seen, err := h.Webhooks().Get(t.Context(), w.ID)
		is.NoErr(err)
		is.True(seen.FailingSince != nil)
		is.Equal(deliveries(t, h, w.ID)[0].Status, webhook.DeliveryPending)

		p.answers("dead.example", nil)
		time.Sleep(5 * time.Minute)
		before := len(ids(p.at("dead.example")))
		time.Sleep(24 * time.Hour)
		is.Equal(len(ids(p.at("dead.example"))), 301) // all of them, and the other webhook's making
		require.AtLeast(t, before, 300)               // most of them as soon as it recovered
		seen, err = h.Webhooks().Get(t.Context(), w.ID)
		is.NoErr(err)
		is.Equal(seen.FailingSince, nil)
		is.Equal(deliveries(t, h, w.ID)[0].Status, webhook.DeliverySucceeded)
	})
}

func TestADeliveryIsTriedTenTimesOverThreeDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p := newPostOffice()
		opts := seldom(p)
		var observed []licensing.Observation
		opts.Observe = func(_ context.Context, seen licensing.Observation) {
			if seen.Kind == licensing.ObservationDelivery {
				observed = append(observed, seen)
			}
		}
		h := licensing.NewHandler(memory.New(), opts)
		w := hook(t, h, "x.example", "license.created")
		p.answers("x.example", status(500))
		stop := begin(t, h)
		happen(t, h, 1)
		time.Sleep(4 * 24 * time.Hour)
		stop()
		is.Equal(len(observed), 10)
		for i, seen := range observed {
			is.Equal(seen.Attempt, i+1)
			is.Equal(seen.Outcome == licensing.OutcomeGaveUp, i == 9)
		}
		tries := p.at("x.example")
		is.Equal(len(tries), 10)
		is.Equal(len(ids(tries)), 1) // always the same id
		span := tries[9].at.Sub(tries[0].at)
		require.Greater(t, span, 65*time.Hour)
		require.Less(t, span, 85*time.Hour)
		d := deliveries(t, h, w.ID)[0]
		is.Equal(d.Status, webhook.DeliveryFailed)
		is.Equal(d.NextAttemptAt, nil)
		is.Equal(len(d.Attempts), 10)
		is.Equal(d.Attempts[0].StatusCode, 500)
		is.Equal(d.Attempts[0].Error, "answered 500")

		// By hand it is sent again, with the same id and the retries of a new one,
		// also while it waits for one.
		stop = begin(t, h)
		for range 2 {
			tried := len(p.at("x.example"))
			_, err := h.Webhooks().Resend(t.Context(), w.ID, d.ID)
			is.NoErr(err)
			time.Sleep(2 * time.Minute)
			is.Equal(len(p.at("x.example"))-tried, 2)
		}
		p.answers("x.example", nil)
		time.Sleep(10 * time.Minute)
		stop()
		is.Equal(len(ids(p.at("x.example"))), 1)
		is.Equal(deliveries(t, h, w.ID)[0].Status, webhook.DeliverySucceeded)
	})
}

// TestAKilledProcessLosesNothing cuts a process off from its store with
// requests under way, which is what the store sees of kill -9.
func TestAKilledProcessLosesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p, st := newPostOffice(), memory.New()
		cut := &brokenStore{Store: st}
		dying, next := licensing.NewHandler(cut, postedBy(p)), licensing.NewHandler(st, postedBy(p))
		hook(t, next, "x.example", "license.created")
		p.answers("x.example", func(*http.Request) (*http.Response, error) {
			cut.fail(func(context.Context) error { return store.ErrUnavailable }) // it was delivered, but the outcome is lost
			return status(200)(nil)
		})
		stop := begin(t, dying)
		happen(t, next, 30) // some claimed, some not handed on yet
		time.Sleep(5 * time.Second)
		stop()
		p.answers("x.example", nil)
		first := ids(p.at("x.example"))
		require.Greater(t, len(first), 0)

		stop = begin(t, next)
		time.Sleep(time.Hour)
		stop()
		is.Equal(len(ids(p.at("x.example"))), 30)
		for id, n := range ids(p.at("x.example")) {
			is.True(n == 1 || n == 2 && first[id] == 1) // repeated only what was under way
		}
	})
}

// TestTheClaimsOfAKilledProcessEndSoon kills a process that has claimed as many
// deliveries as one claim may have.
func TestTheClaimsOfAKilledProcessEndSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p, st := newPostOffice(), memory.New()
		cut := &brokenStore{Store: st}
		dying, next := licensing.NewHandler(cut, postedBy(p)), licensing.NewHandler(st, postedBy(p))
		w := hook(t, next, "x.example", "license.created")
		happen(t, next, 300)
		p.answers("x.example", func(r *http.Request) (*http.Response, error) {
			if len(p.at("x.example")) > 100 { // by now batches are large
				cut.fail(func(context.Context) error { return store.ErrUnavailable })
				return refused(r)
			}
			return status(200)(r)
		})
		stop := begin(t, dying)
		time.Sleep(time.Second)
		stop()
		p.answers("x.example", nil)
		stop = begin(t, next)
		time.Sleep(40 * time.Second)
		stop()
		waiting, err := next.Webhooks().Deliveries(t.Context(), webhook.DeliveriesParams{WebhookID: w.ID, Status: webhook.DeliveryPending})
		is.NoErr(err)
		is.Equal(len(waiting.Data), 0)
	})
}

// TestAClaimIsRenewedWhileItIsSent has a receiver so slow that one batch takes
// longer than a claim lasts.
func TestAClaimIsRenewedWhileItIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p, st := newPostOffice(), storetest.Twice(memory.New())
		a, b := licensing.NewHandler(st, postedBy(p)), licensing.NewHandler(st, postedBy(p))
		w := hook(t, a, "x.example", "license.created")
		happen(t, a, 150)
		p.answers("x.example", func(r *http.Request) (*http.Response, error) {
			if len(p.at("x.example")) > 60 { // four quick batches, so the next is as large as can be
				time.Sleep(14 * time.Second)
			}
			return status(200)(r)
		})
		stopA := begin(t, a)
		time.Sleep(5 * time.Second)
		stopB := begin(t, b) // sends a few at a time, and so often looks for more
		time.Sleep(time.Hour)
		stopA()
		stopB()
		is.Equal(len(p.at("x.example")), 150) // and none twice
		is.Equal(deliveries(t, a, w.ID)[0].Status, webhook.DeliverySucceeded)
	})
}

// TestAClockThatWasAheadHoldsNothingBack corrects a clock that was a day ahead,
// while Run runs and between two processes.
func TestAClockThatWasAheadHoldsNothingBack(t *testing.T) {
	for name, restart := range map[string]bool{"in one process": false, "across a restart": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				var ahead atomic.Int64
				var l ledger
				p, st := newPostOffice(), memory.New()
				cut := &brokenStore{Store: st}
				open := func(st store.Store) *licensing.Handler {
					opts := postedBy(p)
					opts.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
					opts.Subscribers = []licensing.Subscriber{{Name: "ledger", FromStart: true, Handle: l.handle}}
					return licensing.NewHandler(st, opts)
				}
				ahead.Store(int64(24 * time.Hour))
				h := open(cut)
				w := hook(t, h, "x.example", "license.created")
				p.answers("x.example", refused)
				stop := begin(t, h)
				time.Sleep(time.Second)
				happen(t, h, 10) // enough to open the breaker
				time.Sleep(30 * time.Second)
				if restart {
					cut.fail(func(context.Context) error { return store.ErrUnavailable }) // killed, with the lease of the subscriber
					stop()
					h = open(st)
				}
				ahead.Store(0)
				p.answers("x.example", nil)
				happen(t, h, 10)
				if restart {
					is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
						e, err := tx.Entry(t.Context(), "cursor", "subscriber:ledger")
						if err != nil {
							return err
						}
						var rec map[string]any
						is.NoErr(json.Unmarshal(e.Data, &rec))
						rec["holder"], rec["until"] = "killed", time.Now().Add(24*time.Hour+30*time.Second)
						e.Data, err = json.Marshal(rec)
						is.NoErr(err)
						return tx.PutEntries(t.Context(), e)
					}))
					stop = begin(t, h)
				}
				time.Sleep(10 * time.Minute)
				stop()
				waiting, err := h.Webhooks().Deliveries(t.Context(), webhook.DeliveriesParams{WebhookID: w.ID, Status: webhook.DeliveryPending})
				is.NoErr(err)
				is.Equal(len(waiting.Data), 0)
				is.Equal(len(ids(p.at("x.example"))), 20)
				is.Equal(len(l.got()), 21)
			})
		})
	}
}

// TestAWebhookSendsWhatItsClientMaySee narrows the client that made a webhook,
// and then disables it.
func TestAWebhookSendsWhatItsClientMaySee(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p := newPostOffice()
		h := licensing.NewHandler(memory.New(), postedBy(p))
		c, _, err := h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "n", Products: []string{"a", "b"}})
		is.NoErr(err)
		as := h.Webhooks().In(h.Service().As(license.Caller{Actor: "client:" + c.ID, Products: c.Products}))
		w, _, err := as.Create(t.Context(), webhook.CreateParams{URL: "https://x.example/"})
		is.NoErr(err)
		defer begin(t, h)()
		sentFor := func(product string) int {
			before := len(p.at("x.example"))
			_, err := h.Service().Create(t.Context(), license.CreateParams{Name: "n", ProductID: product, CustomerID: "c"})
			is.NoErr(err)
			time.Sleep(5 * time.Second)
			return len(p.at("x.example")) - before
		}
		is.Equal(sentFor("a"), 1)
		_, err = as.Test(t.Context(), w.ID) // a test has no product
		is.NoErr(err)
		time.Sleep(5 * time.Second)
		is.Equal(deliveries(t, h, w.ID)[0].Status, webhook.DeliverySucceeded)
		narrowed, disabled := []string{"b"}, true
		_, err = h.Auth().UpdateClient(t.Context(), auth.UpdateClientParams{ID: c.ID, Products: &narrowed})
		is.NoErr(err)
		is.Equal(sentFor("a"), 0)
		is.Equal(deliveries(t, h, w.ID)[0].Status, webhook.DeliveryFailed)
		is.Equal(sentFor("b"), 1)
		_, err = h.Auth().UpdateClient(t.Context(), auth.UpdateClientParams{ID: c.ID, Disabled: &disabled})
		is.NoErr(err)
		is.Equal(sentFor("b"), 0)
	})
}

// TestEveryAttemptChecksWhatItMaySend: a retry and a resend send nothing that the
// client that created the webhook may not see any more.
func TestEveryAttemptChecksWhatItMaySend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p := newPostOffice()
		h := licensing.NewHandler(memory.New(), postedBy(p))
		c, _, err := h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "n", Products: []string{"p", "q"}})
		is.NoErr(err)
		as := h.Webhooks().In(h.Service().As(license.Caller{Actor: "client:" + c.ID, Products: c.Products}))
		w, _, err := as.Create(t.Context(), webhook.CreateParams{URL: "https://x.example/"})
		is.NoErr(err)
		p.answers("x.example", status(500))
		defer begin(t, h)()
		happen(t, h, 1)
		time.Sleep(3 * time.Second)
		is.Equal(len(p.at("x.example")), 1)
		narrowed := []string{"q"}
		_, err = h.Auth().UpdateClient(t.Context(), auth.UpdateClientParams{ID: c.ID, Products: &narrowed})
		is.NoErr(err)
		time.Sleep(time.Minute)
		is.Equal(len(p.at("x.example")), 1)
		failed := deliveries(t, h, w.ID)[0]
		is.Equal(failed.Status, webhook.DeliveryFailed)
		_, err = h.Webhooks().Resend(t.Context(), w.ID, failed.ID)
		is.NoErr(err)
		time.Sleep(time.Minute)
		is.Equal(len(p.at("x.example")), 1)
		is.Equal(deliveries(t, h, w.ID)[0].Status, webhook.DeliveryFailed)
	})
}

// TestARetryChecksTheEventTypes: after the types of a webhook were narrowed, the
// deliveries in its queue that it no longer selects fail without another request.
// What an operator resends is sent nevertheless, as often as it takes.
func TestARetryChecksTheEventTypes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p := newPostOffice()
		h := licensing.NewHandler(memory.New(), postedBy(p))
		w := hook(t, h, "x.example", "license.created")
		p.answers("x.example", status(500))
		defer begin(t, h)()
		happen(t, h, 1)
		time.Sleep(3 * time.Second)
		is.Equal(len(p.at("x.example")), 1)
		p.answers("x.example", nil)
		types := []string{"license.deleted"}
		_, err := h.Webhooks().Update(t.Context(), webhook.UpdateParams{ID: w.ID, Types: &types})
		is.NoErr(err)
		_, err = h.Webhooks().Test(t.Context(), w.ID)
		is.NoErr(err)
		time.Sleep(time.Minute)
		is.Equal(len(p.at("x.example")), 2) // the test
		skipped := deliveries(t, h, w.ID)[1]
		is.Equal(skipped.Status, webhook.DeliveryFailed)
		is.Equal(skipped.NextAttemptAt, nil)
		is.Equal(len(skipped.Attempts), 2)
		is.Equal(skipped.Attempts[1].Error, "skipped: the webhook no longer selects this event type")
		w, err = h.Webhooks().Get(t.Context(), w.ID)
		is.NoErr(err)
		is.Equal(w.FailingSince, nil) // it is no failure of the receiver
		is.Equal(w.Status, webhook.StatusActive)

		p.answers("x.example", status(500))
		_, err = h.Webhooks().Resend(t.Context(), w.ID, skipped.ID)
		is.NoErr(err)
		time.Sleep(3 * time.Second)
		is.Equal(len(p.at("x.example")), 3)
		p.answers("x.example", nil)
		time.Sleep(time.Minute)
		is.Equal(len(p.at("x.example")), 4)
		is.Equal(deliveries(t, h, w.ID)[1].Status, webhook.DeliverySucceeded)
	})
}

func TestAHangingReceiverCostsItsOwnSlotsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p := newPostOffice()
		h := licensing.NewHandler(memory.New(), postedBy(p))
		hook(t, h, "hangs.example", "license.created")
		hook(t, h, "quick.example", "license.created")
		p.answers("hangs.example", hanging)
		defer begin(t, h)()
		synctest.Wait()
		began := time.Now()
		happen(t, h, 500)
		time.Sleep(5 * time.Second)
		quick := p.at("quick.example")
		is.Equal(len(quick), 500)
		require.Less(t, quick[499].at.Sub(began), 2*time.Second)
		require.AtMost(t, len(p.at("hangs.example")), 4)
	})
}

func TestWhatTheAnswerOfAReceiverMeans(t *testing.T) {
	for name, test := range map[string]struct {
		answer   func(*http.Request) (*http.Response, error)
		status   webhook.DeliveryStatus
		webhook  webhook.Status
		attempts int // in the first minute
	}{
		"200":                   {status(200), "succeeded", "active", 1},
		"299":                   {status(299), "succeeded", "active", 1},
		"a redirect":            {status(302, "Location", "https://elsewhere.example/"), "pending", "active", 2},
		"404":                   {status(404), "pending", "active", 2},
		"410":                   {status(410), "pending", "disabled", 1},
		"429 and a longer wait": {status(429, "Retry-After", "3600"), "pending", "active", 1},
		"502 slows down":        {status(502), "pending", "active", 2},
		"503 until a date":      {status(503, "Retry-After", "Sat, 01 Jan 2000 02:00:00 GMT"), "pending", "active", 1},
		"a broken connection":   {func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }, "pending", "active", 2},
		"no such name":          {func(*http.Request) (*http.Response, error) { return nil, errors.New("no such host") }, "pending", "active", 2},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				p := newPostOffice()
				h := licensing.NewHandler(memory.New(), postedBy(p))
				w := hook(t, h, "x.example", "license.created")
				p.answers("x.example", test.answer)
				stop := begin(t, h)
				happen(t, h, 1)
				time.Sleep(time.Minute)
				stop()
				d := deliveries(t, h, w.ID)[0]
				is.Equal(d.Status, test.status)
				is.Equal(len(d.Attempts), test.attempts)
				is.Equal(len(p.at("elsewhere.example")), 0)
				w, err := h.Webhooks().Get(t.Context(), w.ID)
				is.NoErr(err)
				is.Equal(w.Status, test.webhook)
			})
		})
	}
}

func TestAPanicInTheTransportIsAFailedAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var log strings.Builder
		p := newPostOffice()
		opts := postedBy(p)
		opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
		h := licensing.NewHandler(memory.New(), opts)
		w := hook(t, h, "x.example", "license.created")
		p.answers("x.example", func(*http.Request) (*http.Response, error) { panic("not today") })
		stop := begin(t, h)
		happen(t, h, 1)
		time.Sleep(2 * time.Second)
		d := deliveries(t, h, w.ID)[0]
		is.Equal(d.Attempts[0].Error, "the transport panicked")
		p.answers("x.example", nil)
		time.Sleep(time.Minute)
		stop()
		is.Equal(deliveries(t, h, w.ID)[0].Status, webhook.DeliverySucceeded)
		require.Contains(t, log.String(), "not today")
	})
}

// TestAResendIsSentWhenItsUpdateEnds: however long the Update takes that it is part of,
// and although no event announces it.
func TestAResendIsSentWhenItsUpdateEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p := newPostOffice()
		h := licensing.NewHandler(memory.New(), seldom(p))
		w := hook(t, h, "x.example", "license.created")
		defer begin(t, h)()
		happen(t, h, 1)
		time.Sleep(5 * time.Minute)
		d := deliveries(t, h, w.ID)[0]
		is.NoErr(h.Service().Atomically(t.Context(), func(s *license.Service) error {
			_, err := h.Webhooks().In(s).Resend(t.Context(), w.ID, d.ID)
			time.Sleep(100 * time.Millisecond)
			return err
		}))
		time.Sleep(time.Second)
		is.Equal(len(p.at("x.example")), 2)
	})
}

func TestAWebhookThatFailsForFiveDaysIsDisabled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p := newPostOffice()
		h := licensing.NewHandler(memory.New(), seldom(p))
		w := hook(t, h, "x.example", "license.created")
		hook(t, h, "audit.example", "webhook.*")
		p.answers("x.example", refused)
		defer begin(t, h)()
		for range 12 {
			happen(t, h, 1)
			time.Sleep(12 * time.Hour)
		}
		w, err := h.Webhooks().Get(t.Context(), w.ID)
		is.NoErr(err)
		is.Equal(w.Status, webhook.StatusDisabled)
		is.Equal(w.StatusReason, "every delivery failed for five days")
		audit := p.at("audit.example")
		is.Equal(audit[len(audit)-1].eventType, "webhook.disabled")
		tries := len(p.at("x.example"))
		time.Sleep(3 * time.Hour)
		is.Equal(len(p.at("x.example")), tries) // left alone

		// Made active again, it gets what was under way.
		p.answers("x.example", nil)
		active := webhook.StatusActive
		_, err = h.Webhooks().Update(t.Context(), webhook.UpdateParams{ID: w.ID, Status: &active})
		is.NoErr(err)
		time.Sleep(30 * time.Hour)
		is.Equal(p.at("x.example")[tries].eventType, "license.created")
		pending, err := h.Webhooks().Deliveries(t.Context(), webhook.DeliveriesParams{WebhookID: w.ID, Status: webhook.DeliveryPending})
		is.NoErr(err)
		is.Equal(len(pending.Data), 0)
	})
}

func TestAPausedWebhookGetsEverythingLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p := newPostOffice()
		h := licensing.NewHandler(memory.New(), seldom(p))
		w := hook(t, h, "x.example", "license.created")
		defer begin(t, h)()
		change := func(status webhook.Status) {
			_, err := h.Webhooks().Update(t.Context(), webhook.UpdateParams{ID: w.ID, Status: &status})
			is.NoErr(err)
		}
		change(webhook.StatusPaused)
		happen(t, h, 5)
		time.Sleep(2 * time.Hour)
		is.Equal(len(p.at("x.example")), 0)
		change(webhook.StatusActive)
		time.Sleep(2 * time.Minute)
		is.Equal(len(p.at("x.example")), 5)
	})
}

func TestRunFinishesWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p, st := newPostOffice(), memory.New()
		h := licensing.NewHandler(st, postedBy(p))
		w := hook(t, h, "slow.example", "license.created")
		p.answers("slow.example", func(r *http.Request) (*http.Response, error) {
			time.Sleep(10 * time.Second)
			return status(200)(r)
		})
		stop := begin(t, h)
		happen(t, h, 50)
		time.Sleep(5 * time.Second)
		stop()
		began := len(p.at("slow.example"))
		require.Greater(t, began, 0)
		require.Less(t, began, 50)
		done := map[webhook.DeliveryStatus]int{}
		for _, d := range deliveries(t, h, w.ID) {
			done[d.Status]++
		}
		is.Equal(done[webhook.DeliverySucceeded], began) // none left in the dark
		p.answers("slow.example", nil)
		defer begin(t, h)() // and starts again immediately, without waiting for a lease to end
		time.Sleep(5 * time.Second)
		is.Equal(len(p.at("slow.example")), 50)
		is.Equal(len(ids(p.at("slow.example"))), 50)
	})
}

func TestATestIsSentToItsWebhookAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p := newPostOffice()
		h := licensing.NewHandler(memory.New(), postedBy(p))
		w := hook(t, h, "x.example", "license.created")
		hook(t, h, "other.example", "webhook.test", "webhook.deleted")
		defer begin(t, h)()
		_, err := h.Webhooks().Test(t.Context(), w.ID)
		is.NoErr(err)
		time.Sleep(time.Minute)
		is.Equal(len(p.at("x.example")), 1)
		is.Equal(p.at("x.example")[0].eventType, "webhook.test")
		is.Equal(len(p.at("other.example")), 0)

		is.NoErr(h.Webhooks().Delete(t.Context(), w.ID))
		happen(t, h, 1)
		time.Sleep(2 * time.Minute)
		is.Equal(len(p.at("x.example")), 1)
		is.Equal(len(p.at("other.example")), 1)
		_, err = h.Webhooks().Deliveries(t.Context(), webhook.DeliveriesParams{WebhookID: w.ID})
		require.ErrorIs(t, err, license.ErrNotFound)
	})
}

func TestALongEventIsSentWithoutItsData(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p := newPostOffice()
		h := licensing.NewHandler(memory.New(), postedBy(p))
		hook(t, h, "x.example", "license.created")
		var size int64
		var body []byte
		p.answers("x.example", func(r *http.Request) (*http.Response, error) {
			size = r.ContentLength
			again, _ := r.GetBody()
			body, _ = io.ReadAll(again)
			return status(200)(r)
		})
		defer begin(t, h)()
		metadata := map[string]string{}
		for i := range 50 {
			metadata[strings.Repeat("k", i+1)] = strings.Repeat("v", 500)
		}
		_, err := h.Service().Create(t.Context(), license.CreateParams{Name: "n", ProductID: "p", CustomerID: "c", Metadata: maps.Clone(metadata)})
		is.NoErr(err)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		require.Greater(t, size, 0)
		require.AtMost(t, size, 20_000)
		require.HasSuffix(t, string(body), `"data":{"truncated":true}}`)
	})
}

// TestARequestWakesRun takes milliseconds at most.
func TestARequestWakesRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p := newPostOffice()
		c := newCaller(t, seldom(p))
		hook(t, c.Handler, "x.example", "license.created")
		defer begin(t, c.Handler)()
		synctest.Wait()
		c.do("POST", "/license", `{"name":"n","product_id":"p","customer_id":"c"}`)
		time.Sleep(30 * time.Millisecond)
		synctest.Wait()
		is.Equal(len(p.at("x.example")), 1)
	})
}

// TestAWrongMasterKeyHoldsDeliveriesBack is a process with another key than
// the one that made the webhook.
func TestAWrongMasterKeyHoldsDeliveriesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var log strings.Builder
		p, st := newPostOffice(), memory.New()
		open := func(key string) *licensing.Handler {
			opts := postedBy(p)
			opts.MasterKey = []byte(strings.Repeat(key, 32))
			opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
			return licensing.NewHandler(st, opts)
		}
		right, wrong := open("r"), open("w")
		w := hook(t, right, "x.example", "license.created")
		happen(t, right, 100)
		stop := begin(t, wrong)
		time.Sleep(time.Minute)
		stop()
		is.Equal(len(p.at("x.example")), 0)
		is.Equal(len(deliveries(t, right, w.ID)[0].Attempts), 0)
		lines := strings.Count(log.String(), "another Options.MasterKey")
		require.Greater(t, lines, 0)
		require.Less(t, lines, 30) // said, and not shouted
		defer begin(t, right)()
		time.Sleep(5 * time.Second)
		is.Equal(len(p.at("x.example")), 100)
	})
}

// TestTheLogSaysThatNothingRuns comes by as requests do.
func TestTheLogSaysThatNothingRuns(t *testing.T) {
	const warning = "check that Handler.Run is running"
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var log strings.Builder
		opts := postedBy(newPostOffice())
		opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
		h := licensing.NewHandler(memory.New(), opts)
		come := func(times int) int {
			for range times {
				ask(t, h, "GET", "/health", "", "")
				time.Sleep(2 * time.Minute)
			}
			synctest.Wait()
			return strings.Count(log.String(), warning)
		}
		is.Equal(come(5), 0) // nothing waits
		hook(t, h, "x.example")
		happen(t, h, 1)
		time.Sleep(2 * time.Minute)
		stop := begin(t, h)
		time.Sleep(2 * time.Minute)
		is.Equal(come(5), 0) // it runs, and nothing waits
		stop()
		time.Sleep(2 * time.Minute)
		happen(t, h, 1)
		time.Sleep(2 * time.Minute)
		is.Equal(come(5), 1) // once
		is.Equal(strings.Count(log.String(), "stored in plain text"), 1)
	})
}
