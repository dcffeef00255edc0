package servicetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A brokenStore fails each update and each read of a license with fault, once it
// is set.
type brokenStore struct {
	store.Store
	fault atomic.Pointer[func(context.Context) error]
}

// fail makes the store fail from now on; nil ends the failure.
func (b *brokenStore) fail(fault func(context.Context) error) {
	if fault == nil {
		b.fault.Store(nil)
		return
	}
	b.fault.Store(&fault)
}

func (b *brokenStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	if fault := b.fault.Load(); fault != nil {
		return (*fault)(ctx)
	}
	return b.Store.Update(ctx, fn)
}

func (b *brokenStore) License(ctx context.Context, id string) (store.License, error) {
	if fault := b.fault.Load(); fault != nil {
		return store.License{}, (*fault)(ctx)
	}
	return b.Store.License(ctx, id)
}

func (b *brokenStore) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	if fault := b.fault.Load(); fault != nil && kind == "ready" {
		return store.Entry{}, (*fault)(ctx)
	}
	return b.Store.Entry(ctx, kind, key)
}

// newBroken returns a service on a broken store, a token for it, and its log.
func newBroken(t *testing.T, opts licensing.Options) (*licensing.Handler, *brokenStore, string, *bytes.Buffer) {
	t.Helper()
	log := new(bytes.Buffer)
	opts.Logger = slog.New(slog.NewJSONHandler(log, nil))
	st := &brokenStore{Store: memory.New()}
	h := licensing.NewHandler(st, opts)
	token := tokenFor(t, h)
	log.Reset()
	return h, st, token, log
}

// tokenFor returns a token of a new client.
func tokenFor(t *testing.T, h *licensing.Handler) string {
	t.Helper()
	is := is.New(t)
	c, secret, err := h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "n"})
	is.NoErr(err)
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/oauth/token", nil)
	r.SetBasicAuth(c.ID, secret)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var got struct {
		AccessToken string `json:"access_token"`
	}
	is.NoErr(json.Unmarshal(w.Body.Bytes(), &got))
	return got.AccessToken
}

func ask(t *testing.T, h http.Handler, method, path, token, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Request-Id", "the-request")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// discard keeps what is expected to go wrong out of the tests' output.
var discard = slog.New(slog.DiscardHandler)

const someLicense = `{"name":"n","product_id":"p","customer_id":"c"}`

func TestFailuresTellTheLogAndNotTheCaller(t *testing.T) {
	for _, c := range []struct {
		name   string
		fail   func(context.Context) error
		status int
		code   string
	}{
		{"an error that is not known", func(context.Context) error { return errors.New("disk 7 on fire") }, 500, "internal"},
		{"a panic", func(context.Context) error { panic("disk 7 on fire") }, 500, "internal"},
		{"a store that is busy", func(context.Context) error { return fmt.Errorf("disk 7: %w", store.ErrConflict) }, 503, "busy"},
		{"a store that is gone", func(context.Context) error { return fmt.Errorf("disk 7: %w", store.ErrUnavailable) }, 503, "unavailable"},
		{"a store that takes too long", func(ctx context.Context) error {
			<-ctx.Done()
			return fmt.Errorf("disk 7: %w", ctx.Err())
		}, 503, "unavailable"},
	} {
		t.Run(c.name, func(t *testing.T) {
			is := is.New(t)
			h, st, token, log := newBroken(t, licensing.Options{Limits: licensing.LimitOptions{Timeout: 200 * time.Millisecond}})
			st.fail(c.fail)
			w := ask(t, h, "POST", "/license", token, someLicense)
			is.Equal(w.Code, c.status)
			require.Contains(t, w.Body.String(), `"code":"`+c.code+`"`)
			require.Contains(t, w.Body.String(), `"request_id":"the-request"`)
			require.NotContains(t, w.Body.String(), "disk 7")
			require.Contains(t, log.String(), "disk 7")
			require.Contains(t, log.String(), `"request_id":"the-request"`)
			if c.status == http.StatusServiceUnavailable {
				seconds, err := strconv.Atoi(w.Header().Get("Retry-After"))
				is.NoErr(err)
				require.AtLeast(t, seconds, 1)
			}
			is.Equal(ask(t, h, "GET", "/health", "", "").Code, http.StatusOK)
			st.fail(nil)
			is.Equal(ask(t, h, "POST", "/license", token, someLicense).Code, http.StatusCreated) // and continues
		})
	}
}

func TestReadyAsksTheStore(t *testing.T) {
	is := is.New(t)
	h, st, _, _ := newBroken(t, licensing.Options{})
	is.Equal(ask(t, h, "GET", "/ready", "", "").Body.String(), "{\"status\":\"ready\"}\n")
	st.fail(func(context.Context) error { return store.ErrUnavailable })
	is.Equal(ask(t, h, "GET", "/ready", "", "").Code, http.StatusServiceUnavailable)
	is.Equal(ask(t, h, "GET", "/health", "", "").Body.String(), "{\"status\":\"ok\"}\n")
}

func TestAHandlerThatAbortsIsNotAnswered(t *testing.T) {
	is := is.New(t)
	h, st, token, _ := newBroken(t, licensing.Options{})
	st.fail(func(context.Context) error { panic(http.ErrAbortHandler) })
	defer func() { is.Equal(recover(), http.ErrAbortHandler) }()
	ask(t, h, "POST", "/license", token, someLicense)
}

func TestTheOAuthEndpointsFailInTheirOwnForm(t *testing.T) {
	is := is.New(t)
	h := licensing.NewHandler(memory.New(), licensing.Options{Limiter: refusing{}, Logger: discard})
	w := ask(t, h, "POST", "/oauth/token", "", "{}")
	is.Equal(w.Code, http.StatusTooManyRequests)
	is.Equal(w.Header().Get("Content-Type"), "application/json")
	require.HasPrefix(t, w.Body.String(), `{"error":"rate_limited","error_description":`)
}

// refusing is a Limiter that refuses every public address.
type refusing struct{}

func (refusing) Allow(context.Context, string) (time.Duration, bool) { return 90 * time.Second, false }

func TestEachRequestIsOneLineWithoutSecrets(t *testing.T) {
	is := is.New(t)
	var seen []licensing.Observation
	h, _, token, log := newBroken(t, licensing.Options{Observe: func(_ context.Context, o licensing.Observation) { seen = append(seen, o) }})
	seen = nil
	ask(t, h, "POST", "/license", token, someLicense)
	ask(t, h, "GET", "/oauth/token?client_id=cid_query&client_secret=csk_query", "", "")
	ask(t, h, "BREW", "/nothing/"+token, token, "")

	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	is.Equal(len(lines), 3)
	is.Equal(len(seen), 3)
	for i, want := range []licensing.Observation{
		{Kind: licensing.ObservationRequest, Method: "POST", Route: "/license", Status: 201, RequestID: "the-request"},
		{Kind: licensing.ObservationRequest, Method: "GET", Route: "/oauth/token", Status: 401, RequestID: "the-request", ClientIP: netip.MustParseAddr("192.0.2.1")},
		{Kind: licensing.ObservationRequest, Method: "other", Route: "", Status: 404, RequestID: "the-request"},
	} {
		var line struct {
			Msg       string
			Method    string
			Route     string
			Status    int
			Duration  float64    `json:"duration_ms"`
			ClientID  string     `json:"client_id"`
			RequestID string     `json:"request_id"`
			ClientIP  netip.Addr `json:"client_ip"`
		}
		is.NoErr(json.Unmarshal([]byte(lines[i]), &line))
		is.Equal(line.Msg, "licensing: request")
		require.Greater(t, seen[i].Duration, 0)
		is.Equal(line.Duration, float64(seen[i].Duration.Microseconds())/1000)
		is.Equal(line.ClientID != "", i == 0)
		want.Duration, want.ClientID = seen[i].Duration, line.ClientID
		is.Equal(seen[i], want)
		is.Equal(licensing.Observation{Kind: want.Kind, Method: line.Method, Route: line.Route, Status: line.Status, Duration: want.Duration, ClientID: line.ClientID, RequestID: line.RequestID, ClientIP: line.ClientIP}, want)
	}
	require.NotContains(t, log.String(), "csk_")
	require.NotContains(t, log.String(), token)
}

func TestWriteErrorAnswersForAHost(t *testing.T) {
	is := is.New(t)
	w := httptest.NewRecorder()
	licensing.NewHandler(memory.New(), licensing.Options{Logger: slog.New(slog.DiscardHandler)}).WriteError(w, httptest.NewRequest("GET", "/mine", nil), fmt.Errorf("mine: %w", api.ErrNotFound))
	is.Equal(w.Code, http.StatusNotFound)
	is.Equal(w.Header().Get("Content-Type"), "application/problem+json")
	is.True(w.Header().Get("X-Request-Id") != "")
	require.Contains(t, w.Body.String(), w.Header().Get("X-Request-Id"))

	kit := newCaller(t, licensing.Options{})
	guarded := kit.Handler.Auth().RequireScope(auth.ScopeEventRead)(http.NotFoundHandler())
	w = httptest.NewRecorder()
	guarded.ServeHTTP(w, httptest.NewRequest("GET", "/mine", nil))
	is.Equal(w.Code, http.StatusUnauthorized)
	is.Equal(w.Header().Get("WWW-Authenticate"), `Bearer realm="licensing"`)
	require.Contains(t, w.Body.String(), `"request_id"`)
}

// Each case is named after a fault that licensing services are known for, and
// shows over HTTP that this one does not have it. Package license has the same
// faults as tests of the rules.
var faults = []struct {
	fault string
	run   func(is *is.I, c *caller, id, key string)
}{
	{"the seats in use are read, then a row is inserted, and two get the last one", func(is *is.I, c *caller, id, key string) {
		c.set(id, `{"max_activations":3}`)
		var wg sync.WaitGroup
		codes := make([]int, 60)
		for i := range codes {
			wg.Go(func() { codes[i] = c.withKey("/license/activate", key, fmt.Sprintf(`,"fingerprint":"pc-%d"`, i)).Code })
		}
		wg.Wait()
		admitted := 0
		for _, code := range codes {
			is.True(code == 200 || code == 409)
			if code == 200 {
				admitted++
			}
		}
		is.Equal(admitted, 3)
	}},
	{"dead machines hold their seats until a worker removes them", func(is *is.I, c *caller, id, key string) {
		c.set(id, `{"max_activations":1,"lease_seconds":60}`)
		is.Equal(c.withKey("/license/activate", key, `,"fingerprint":"dead"`).Code, 200)
		c.Clock.Advance(time.Minute) // and nothing runs
		is.Equal(c.withKey("/license/activate", key, `,"fingerprint":"alive"`).Code, 200)
	}},
	{"a heartbeat revives a lease that has ended, over the limit", func(is *is.I, c *caller, id, key string) {
		c.set(id, `{"max_activations":1,"lease_seconds":60}`)
		is.Equal(c.withKey("/license/activate", key, `,"fingerprint":"late"`).Code, 200)
		c.Clock.Advance(time.Minute)
		is.Equal(c.withKey("/license/activate", key, `,"fingerprint":"next"`).Code, 200)
		a := c.withKey("/license/validate", key, `,"fingerprint":"late"`)
		is.Equal(a.json["valid"], false)
		is.Equal(a.json["code"], "lease_ended")
		is.Equal(len(c.do("GET", "/license/"+id+"/activation", "").json["data"].([]any)), 1)
	}},
	{"a heartbeat of an unknown fingerprint is answered as valid", func(is *is.I, c *caller, id, key string) {
		c.set(id, `{"max_activations":1,"lease_seconds":60}`)
		a := c.withKey("/license/validate", key, `,"fingerprint":"unheard of"`)
		is.Equal(a.json["valid"], false)
		is.Equal(a.json["code"], "not_activated")
	}},
	{"a heartbeat still renews although the license is suspended, revoked or expired", func(is *is.I, c *caller, id, key string) {
		c.set(id, `{"max_activations":1,"lease_seconds":600}`)
		ends := c.withKey("/license/activate", key, `,"fingerprint":"pc"`).json["activation"].(map[string]any)["lease_ends_at"]
		c.Clock.Advance(time.Minute)
		for _, state := range []struct{ method, path, body, code string }{
			{"POST", "/suspend", "", "suspended"},
			{"POST", "/reinstate", "", "valid"},
			{"PATCH", "", `{"expires_at":"` + c.Clock.Now().Format(time.RFC3339) + `"}`, "expired"},
			{"POST", "/revoke", "", "revoked"},
		} {
			is.Equal(c.do(state.method, "/license/"+id+state.path, state.body).Code, 200)
			if state.code == "valid" {
				continue
			}
			a := c.withKey("/license/validate", key, `,"fingerprint":"pc"`)
			is.Equal(a.json["code"], state.code)
			is.Equal(a.json["activation"].(map[string]any)["lease_ends_at"], ends) // not renewed
		}
	}},
	{"who comes back before a sweep trips over the row of the lease that ended", func(is *is.I, c *caller, id, key string) {
		c.set(id, `{"max_activations":1,"lease_seconds":60}`)
		is.Equal(c.withKey("/license/activate", key, `,"fingerprint":"pc"`).Code, 200)
		c.Clock.Advance(time.Hour)
		is.Equal(c.withKey("/license/activate", key, `,"fingerprint":"pc"`).Code, 200)
	}},
	{"the end of the license is looked at when it comes in, and never when a seat is taken", func(is *is.I, c *caller, id, key string) {
		c.set(id, `{"expires_at":"`+c.Clock.Now().Add(time.Hour).Format(time.RFC3339)+`"}`)
		is.Equal(c.withKey("/license/activate", key, `,"fingerprint":"pc-1"`).Code, 200)
		c.Clock.Advance(time.Hour)
		a := c.withKey("/license/activate", key, `,"fingerprint":"pc-2"`)
		is.Equal(a.Code, 409)
		is.Equal(a.json["code"], "expired")
	}},
	{"an answer does not say how long it holds, and expiry is judged from a stale one", func(is *is.I, c *caller, id, key string) {
		ends := c.Clock.Now().Add(time.Hour)
		c.set(id, `{"expires_at":"`+ends.Format(time.RFC3339)+`"}`)
		a := c.withKey("/license/validate", key, "")
		is.Equal(a.json["next_change_at"], ends.Format(time.RFC3339))
		is.Equal(a.json["recheck_after"], 3600.0)
		is.Equal(a.Header().Get("Cache-Control"), "no-store")
	}},
	{"revoking destroys the record", func(is *is.I, c *caller, id, key string) {
		is.Equal(c.withKey("/license/activate", key, `,"fingerprint":"pc"`).Code, 200)
		is.Equal(c.do("POST", "/license/"+id+"/revoke", `{"reason":"refunded"}`).Code, 200)
		is.Equal(c.do("GET", "/license/"+id, "").json["status_reason"], "refunded")
		is.Equal(len(c.do("GET", "/license/"+id+"/activation", "").json["data"].([]any)), 1)
	}},
	{"a seat is stuck on an unreachable machine", func(is *is.I, c *caller, id, key string) {
		c.set(id, `{"max_activations":1}`)
		lost := c.withKey("/license/activate", key, `,"fingerprint":"lost"`).json["activation"].(map[string]any)["id"].(string)
		is.Equal(c.withKey("/license/activate", key, `,"fingerprint":"new","take_over":"`+lost+`"`).Code, 200)
		is.Equal(c.withKey("/license/validate", key, `,"fingerprint":"lost"`).json["code"], "evicted") // and its next validation says so
		held := c.do("GET", "/license/"+id+"/activation", "").json["data"].([]any)[0].(map[string]any)["id"].(string)
		is.Equal(c.do("DELETE", "/license/"+id+"/activation/"+held, "").Code, 200)
		is.Equal(c.withKey("/license/activate", key, `,"fingerprint":"third"`).Code, 200)
	}},
	{"a renewal does not show among the events", func(is *is.I, c *caller, id, key string) {
		c.set(id, `{"expires_at":"`+c.Clock.Now().Add(time.Hour).Format(time.RFC3339)+`"}`)
		is.Equal(c.do("POST", "/license/"+id+"/renew", `{"duration":"P1Y","reason":"invoice 7"}`).Code, 200)
		events := c.Events()
		last := events[len(events)-1]
		is.Equal(last.Type, "license.renewed")
		require.Contains(c.t, string(last.Data), "invoice 7")
	}},
	{"the answer is vague", func(is *is.I, c *caller, id, key string) {
		c.set(id, `{"max_activations":0}`)
		a := c.withKey("/license/activate", key, `,"fingerprint":"pc"`)
		is.Equal(a.Code, 409)
		reason := a.json["verdict"].(map[string]any)["reasons"].([]any)[0].(map[string]any)
		is.Equal(reason["code"], "activation_limit")
		is.True(reason["detail"] != "")
	}},
}

// set patches a license.
func (c *caller) set(id, patch string) {
	c.t.Helper()
	if a := c.do("PATCH", "/license/"+id, patch); a.Code != 200 {
		c.t.Fatalf("patch: %d %s", a.Code, a.Body)
	}
}

func TestFaultsOfOthers(t *testing.T) {
	for _, f := range faults {
		t.Run(f.fault, func(t *testing.T) {
			c := newCaller(t, licensing.Options{})
			id := c.create("n", "p", "c")
			f.run(is.New(t), c, id, c.keyOf(id))
		})
	}
}
