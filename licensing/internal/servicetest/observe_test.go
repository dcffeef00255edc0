package servicetest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// of returns what was observed of a kind.
func (o *outage) of(kind licensing.ObservationKind) (found []licensing.Observation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, seen := range o.seen {
		if seen.Kind == kind {
			found = append(found, seen)
		}
	}
	return found
}

// TestDeliveriesAreObserved covers a failed, a succeeded and a postponed attempt.
func TestDeliveriesAreObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		o := newOutage(t)
		o.receiver.answers("shop.example", func(r *http.Request) (*http.Response, error) {
			time.Sleep(40 * time.Millisecond)
			if len(o.receiver.at("shop.example")) == 1 {
				return status(500)(r)
			}
			if len(o.receiver.at("shop.example")) == 2 {
				return nil, fmt.Errorf("dial %s: refused", r.URL)
			}
			return status(202)(r)
		})
		h := o.handler()
		w, _, err := h.Webhooks().Create(t.Context(), api.CreateWebhookParams{URL: "https://shop.example/in?token=hush", Types: []string{"license.created"}})
		is.NoErr(err)
		happen(t, h, 1)
		o.run(h, time.Hour)
		got := o.of(licensing.ObservationDelivery)
		is.Equal(len(got), 3)
		for i, want := range []licensing.Observation{
			{Outcome: licensing.OutcomeFailed, Status: 500},
			{Outcome: licensing.OutcomeFailed},
			{Outcome: licensing.OutcomeSucceeded, Status: 202},
		} {
			require.NotContains(t, fmt.Sprintf("%+v", got[i]), "shop.example") // nothing of the URL
			is.Equal(got[i].Err != nil, want.Outcome == licensing.OutcomeFailed)
			want.Kind, want.Name, want.Attempt, want.Duration, want.Err = licensing.ObservationDelivery, w.ID, i+1, 40*time.Millisecond, got[i].Err
			is.Equal(got[i], want)
		}

		o.opts.MasterKey = []byte(strings.Repeat("o", 32))
		h = o.handler()
		happen(t, h, 1)
		o.run(h, time.Minute)
		got = o.of(licensing.ObservationDelivery)[3:]
		require.Greater(t, len(got), 0)
		is.Equal(got[0].Outcome, licensing.OutcomePostponed)
		is.Equal(got[0].Attempt, 1)
		is.True(got[0].Err != nil)
	})
}

// TestSubscribersAreObserved covers calls that fail, panic, are given up and
// succeed.
func TestSubscribersAreObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		o := newOutage(t)
		errMail := errors.New("no mail server")
		calls := 0
		o.opts.Subscribers = []licensing.Subscriber{{Name: "mailer", FromStart: true, MaxAttempts: 3, Handle: func(context.Context, api.Event) error {
			time.Sleep(20 * time.Millisecond)
			switch calls++; calls {
			case 1, 3:
				return errMail
			case 2:
				panic("no mail")
			}
			return nil
		}}}
		h := o.handler()
		happen(t, h, 2)
		o.run(h, time.Minute)
		got := o.of(licensing.ObservationSubscriber)
		is.Equal(len(got), 4)
		for i, want := range []licensing.Observation{
			{Outcome: licensing.OutcomeFailed, Attempt: 1, Err: errMail},
			{Outcome: licensing.OutcomeFailed, Attempt: 2, Err: got[1].Err},
			{Outcome: licensing.OutcomeGaveUp, Attempt: 3, Err: errMail},
			{Outcome: licensing.OutcomeSucceeded, Attempt: 1},
		} {
			want.Kind, want.Name, want.Duration = licensing.ObservationSubscriber, "mailer", 20*time.Millisecond
			is.Equal(got[i], want)
		}
		is.True(got[1].Err != nil)
	})
}

// TestJobsAreObserved runs each job with a store that works and with one that
// does not.
func TestJobsAreObserved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		o := newOutage(t)
		o.opts.Subscribers = []licensing.Subscriber{{Name: "mailer", Handle: func(context.Context, api.Event) error { return nil }}}
		o.run(o.handler(), time.Minute)
		jobs := map[string]bool{}
		for _, seen := range o.of(licensing.ObservationJob) {
			is.Equal(seen.Outcome, licensing.OutcomeSucceeded)
			is.NoErr(seen.Err)
			jobs[seen.Name] = true
		}
		is.Equal(jobs, map[string]bool{
			"addresses": true, "poll_events": true, "purge": true, "expiry_notices": true, "license_terms": true, "usage": true, "usage_events": true,
			"sales": true, "webhooks": true, "subscriber:mailer": true, "retry_write": true,
		})
		is.Equal(len(o.of(licensing.ObservationStoreError)), 0)

		o.seen, o.store.off = nil, true
		o.run(o.handler(), time.Minute)
		var failed []licensing.Observation
		for _, seen := range o.of(licensing.ObservationJob) {
			if seen.Outcome == licensing.OutcomeFailed {
				failed = append(failed, seen)
			}
		}
		isMailer := func(seen licensing.Observation) bool { return seen.Name == "subscriber:mailer" }
		i := slices.IndexFunc(failed, isMailer)
		require.AtLeast(t, i, 0)
		require.ErrorIs(t, failed[i].Err, store.ErrUnavailable)
		broken := o.of(licensing.ObservationStoreError)
		is.Equal(len(broken), len(failed)) // one for each step
		i = slices.IndexFunc(broken, isMailer)
		require.AtLeast(t, i, 0)
		is.Equal(broken[i].Outcome, licensing.OutcomeUnavailable)
	})
}

// TestStoreErrorsOfRequestsAreObserved covers each kind, requests of the host, and
// errors that are not the store's.
func TestStoreErrorsOfRequestsAreObserved(t *testing.T) {
	is := is.New(t)
	var seen []licensing.Observation
	h, st, token, _ := newBroken(t, licensing.Options{Observe: func(_ context.Context, o licensing.Observation) {
		if o.Kind == licensing.ObservationStoreError {
			seen = append(seen, o)
		}
	}})
	for fault, outcome := range map[error]licensing.ObservationOutcome{
		store.ErrConflict:        licensing.OutcomeConflict,
		store.ErrUnavailable:     licensing.OutcomeUnavailable,
		store.ErrUnknownOutcome:  licensing.OutcomeUnknown,
		context.DeadlineExceeded: licensing.OutcomeTimeout,
	} {
		seen = nil
		fault = fmt.Errorf("disk 7: %w", fault)
		st.fail(func(context.Context) error { return fault })
		is.Equal(ask(t, h, "POST", "/license", token, someLicense).Code, http.StatusServiceUnavailable)
		is.Equal(len(seen), 1)
		require.ErrorIs(t, seen[0].Err, fault)
		is.Equal(seen[0], licensing.Observation{
			Kind: licensing.ObservationStoreError, Name: "POST /license", Outcome: outcome, Err: seen[0].Err, RequestID: "the-request",
		})
	}

	seen = nil
	h.WriteError(httptest.NewRecorder(), httptest.NewRequest("GET", "/mine", nil), store.ErrUnavailable)
	is.Equal(len(seen), 1)
	is.Equal(seen[0].Name, "WriteError")

	seen = nil
	st.fail(func(context.Context) error { return errors.New("a defect") })
	is.Equal(ask(t, h, "POST", "/license", token, someLicense).Code, http.StatusInternalServerError)
	st.fail(nil)
	is.Equal(ask(t, h, "GET", "/license/lic_none", token, "").Code, http.StatusNotFound)
	is.Equal(len(seen), 0)
}

// TestAPanicOfObserveDoesNotStopBackgroundWork delivers all the same.
func TestAPanicOfObserveDoesNotStopBackgroundWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		o := newOutage(t)
		var log strings.Builder
		var calls atomic.Int64
		o.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
		o.opts.Observe = func(context.Context, licensing.Observation) {
			calls.Add(1)
			panic("no metrics today")
		}
		o.opts.Subscribers = []licensing.Subscriber{{Name: "mailer", FromStart: true, Handle: func(context.Context, api.Event) error { return nil }}}
		h := o.handler()
		hook(t, h, "shop.example", "license.created")
		happen(t, h, 2)
		o.run(h, time.Minute)
		is.Equal(len(o.receiver.at("shop.example")), 2)
		require.Greater(t, calls.Load(), 0)
		require.Contains(t, log.String(), "Options.Observe panicked")
		is.True(!hasProblem(t, h, licensing.HealthOverdue))
	})
}

// TestAPanicOfObserveKeepsTheAnswer of a request.
func TestAPanicOfObserveKeepsTheAnswer(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{Logger: discard, Observe: func(context.Context, licensing.Observation) { panic("no metrics today") }})
	is.Equal(c.do("POST", "/license", someLicense).Code, http.StatusCreated)
}

// TestObserveMayUseTheStore: no Update is under way while Observe runs, which would
// block forever.
func TestObserveMayUseTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		o := newOutage(t)
		var h *licensing.Handler
		kinds := map[licensing.ObservationKind]int{}
		o.opts.Observe = func(ctx context.Context, seen licensing.Observation) {
			o.mu.Lock()
			kinds[seen.Kind]++
			first := kinds[seen.Kind] == 1
			o.mu.Unlock()
			if first {
				_, err := h.Service().Create(ctx, api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c"})
				is.NoErr(err)
			}
		}
		o.opts.Subscribers = []licensing.Subscriber{{Name: "mailer", FromStart: true, Handle: func(context.Context, api.Event) error { return nil }}}
		h = o.handler()
		hook(t, h, "shop.example", "license.created")
		o.send(h, "GET", "/ready", "")
		o.run(h, time.Minute)
		is.Equal(len(kinds), 4)
		is.Equal(len(o.receiver.at("shop.example")), 4)
	})
}

// TestOAuthRequestsNameTheirClient in the log and to Observe: the one that the request
// claims to be, if it has the form of a client ID.
func TestOAuthRequestsNameTheirClient(t *testing.T) {
	is := is.New(t)
	var seen []licensing.Observation
	h, st, _, log := newBroken(t, licensing.Options{Observe: func(_ context.Context, o licensing.Observation) { seen = append(seen, o) }})
	c, secret, err := h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "n"})
	is.NoErr(err)
	form := func(id, secret string) url.Values {
		return url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret}}
	}
	for _, tt := range []struct {
		method, id, secret string
		status             int
		want               string
	}{
		{"GET", c.ID, secret, 200, c.ID},
		{"POST", c.ID, secret, 200, c.ID},
		{"GET", c.ID, "csk_wrong", 401, c.ID},
		{"BASIC", c.ID, secret, 200, c.ID},
		{"BASIC", c.ID, "csk_wrong", 401, c.ID},
		{"POST", c.ID, "csk_wrong", 400, c.ID},
		{"GET", secret, secret, 401, ""}, // the secret in the wrong place
		{"GET", "cid_made_up", secret, 401, ""},
	} {
		seen = nil
		log.Reset()
		query, body := "", ""
		if values := form(tt.id, tt.secret).Encode(); tt.method == "GET" {
			query = "?" + values
		} else if tt.method == "POST" {
			body = values
		} else {
			body = "grant_type=client_credentials"
		}
		method := strings.Replace(tt.method, "BASIC", "POST", 1)
		r := httptest.NewRequest(method, "/oauth/token"+query, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if tt.method == "BASIC" {
			r.SetBasicAuth(tt.id, tt.secret)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		is.Equal(w.Code, tt.status)
		is.Equal(len(seen), 1)
		is.Equal(seen[0].Route, "/oauth/token")
		is.Equal(seen[0].ClientID, tt.want)
		require.Contains(t, log.String(), `"client_id":"`+tt.want+`"`)
		require.NotContains(t, log.String(), secret)
	}

	// A store error of its own, such as a missing permission, is a 503 here. It shows too.
	st.fail(func(context.Context) error { return errors.New("permission denied") })
	is.Equal(ask(t, h, "GET", "/oauth/token?"+form(c.ID, secret).Encode(), "", "").Code, http.StatusServiceUnavailable)
	st.fail(nil)
	is.True(hasProblem(t, h, licensing.HealthRequests))
}

// TestPatternNamesTheRoute on the request that middleware around the handler has, as a
// ServeMux sets it.
func TestPatternNamesTheRoute(t *testing.T) {
	is := is.New(t)
	h := licensing.NewHandler(memory.New(), licensing.Options{Logger: discard})
	portal := h.Portal(licensing.Portal{Customer: func(http.ResponseWriter, *http.Request) (string, bool) { return "c", true }})
	for _, tt := range []struct {
		h                  http.Handler
		method, path, want string
	}{
		{h, "GET", "/license/lic_1/verdict", "GET /license/{licenseID}/verdict"}, // 401
		{h, "HEAD", "/license/lic_1", "GET /license/{licenseID}"},
		{h, "GET", "/license/c", "GET /license/{licenseID}"},
		{h, "POST", "/oauth/token", "/oauth/token"},
		{h, "GET", "/dashboard/sign-in", "GET /dashboard/sign-in"},
		{h, "GET", "/ready", "GET /ready"},
		{h, "BREW", "/license", "outer"},
		{h, "OPTIONS", "/license", "outer"},
		{h, "GET", "/nothing", "outer"},
		{portal, "GET", "/lic_1", "GET /{license}"},
		{portal, "POST", "/lic_1/release", "POST /{license}/release"},
	} {
		var got string
		around := func(w http.ResponseWriter, r *http.Request) {
			r.Pattern = "outer"
			tt.h.ServeHTTP(w, r)
			got = r.Pattern
		}
		r := httptest.NewRequest(tt.method, "/licensing"+tt.path, nil)
		http.StripPrefix("/licensing", http.HandlerFunc(around)).ServeHTTP(httptest.NewRecorder(), r)
		is.Equal(got, tt.want)
	}
}

// TestCustomerPagesAreObserved with routes that are not the API's, and with the
// customer, whom the log does not have.
func TestCustomerPagesAreObserved(t *testing.T) {
	is := is.New(t)
	var seen []licensing.Observation
	h, _, _, log := newBroken(t, licensing.Options{Observe: func(_ context.Context, o licensing.Observation) { seen = append(seen, o) }})
	portal := h.Portal(licensing.Portal{Customer: func(w http.ResponseWriter, r *http.Request) (string, bool) {
		if r.URL.RawQuery == "out" {
			w.WriteHeader(http.StatusUnauthorized)
			return "", false
		}
		return "customer-7", true
	}})
	seen = nil
	for _, tt := range []struct{ path, route, customer string }{
		{"/", "portal/", "customer-7"},
		{"/lic_1", "portal/{license}", "customer-7"},
		{"/lic_1?out", "portal/{license}", ""},
		{"/static/none.css", "portal/static/{name}", ""},
		{"/a/b/c", "", ""},
	} {
		ask(t, portal, "GET", tt.path, "", "")
		last := seen[len(seen)-1]
		is.Equal(last.Route, tt.route)
		is.Equal(last.CustomerID, tt.customer)
	}
	require.Contains(t, log.String(), `"route":"portal/{license}"`)
	require.NotContains(t, log.String(), "customer-7")
}

// TestProbesAreLoggedAtDebug, unless they fail.
func TestProbesAreLoggedAtDebug(t *testing.T) {
	is := is.New(t)
	h, st, _, log := newBroken(t, licensing.Options{})
	ask(t, h, "GET", "/health", "", "")
	ask(t, h, "GET", "/ready", "", "")
	is.Equal(log.String(), "")
	st.fail(func(context.Context) error { return store.ErrUnavailable })
	ask(t, h, "GET", "/ready", "", "")
	require.Contains(t, log.String(), `"route":"/ready","status":503`)
}
