package servicetest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

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
		is.Equal(d.Status, api.DeliveryFailed)
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
		is.Equal(deliveries(t, h, w.ID)[0].Status, api.DeliverySucceeded)
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
		status   api.DeliveryStatus
		webhook  api.WebhookStatus
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
		is.Equal(deliveries(t, h, w.ID)[0].Status, api.DeliverySucceeded)
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
		is.Equal(w.Status, api.WebhookDisabled)
		is.Equal(w.StatusReason, "every delivery failed for five days")
		audit := p.at("audit.example")
		is.Equal(audit[len(audit)-1].eventType, "webhook.disabled")
		tries := len(p.at("x.example"))
		time.Sleep(3 * time.Hour)
		is.Equal(len(p.at("x.example")), tries) // left alone

		// Made active again, it gets what was under way.
		p.answers("x.example", nil)
		active := api.WebhookActive
		_, err = h.Webhooks().Update(t.Context(), api.UpdateWebhookParams{ID: w.ID, Status: &active})
		is.NoErr(err)
		time.Sleep(30 * time.Hour)
		is.Equal(p.at("x.example")[tries].eventType, "license.created")
		pending, err := h.Webhooks().Deliveries(t.Context(), api.ListDeliveriesParams{WebhookID: w.ID, Status: api.DeliveryPending})
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
		change := func(status api.WebhookStatus) {
			_, err := h.Webhooks().Update(t.Context(), api.UpdateWebhookParams{ID: w.ID, Status: &status})
			is.NoErr(err)
		}
		change(api.WebhookPaused)
		happen(t, h, 5)
		time.Sleep(2 * time.Hour)
		is.Equal(len(p.at("x.example")), 0)
		change(api.WebhookActive)
		time.Sleep(2 * time.Minute)
		is.Equal(len(p.at("x.example")), 5)
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
		_, err = h.Webhooks().Deliveries(t.Context(), api.ListDeliveriesParams{WebhookID: w.ID})
		require.ErrorIs(t, err, api.ErrNotFound)
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
		_, err := h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c", Metadata: maps.Clone(metadata)})
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
		is.Equal(len(deliveries(t, right, w.ID)), 0) // none was attempted
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
