package licensingtest

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A Kit is a licensing service that is ready for a test. Create one with [New].
type Kit struct {
	Handler *licensing.Handler
	Store   store.Store
	Clock   *Clock

	// Client has every scope and no product limit; Secret is its secret.
	Client auth.Client
	Secret string

	t       testing.TB
	mu      sync.Mutex
	token   string
	renewAt time.Time
}

// New returns an in-memory service that uses a [Clock]. In opts, Now must be nil;
// a nil Logger discards. Errors fail the test.
func New(t testing.TB, opts licensing.Options) *Kit {
	t.Helper()
	return newKit(t, memory.New(), opts)
}

func newKit(t testing.TB, st store.Store, opts licensing.Options) *Kit {
	t.Helper()
	if opts.Now != nil {
		t.Fatal("licensingtest: leave Options.Now nil, and move the Clock of the Kit instead")
	}
	clock := NewClock()
	opts.Now = clock.Now
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	k := &Kit{t: t, Store: st, Clock: clock, Handler: licensing.NewHandler(st, opts)}
	k.Client, k.Secret = k.NewClient(auth.CreateClientParams{Name: "licensingtest", Scopes: auth.Scopes()})
	return k
}

// NewClient creates another API client and returns its credentials.
func (k *Kit) NewClient(p auth.CreateClientParams) (c auth.Client, secret string) {
	k.t.Helper()
	c, secret, err := k.Handler.Auth().CreateClient(k.t.Context(), p)
	if err != nil {
		k.t.Fatalf("licensingtest: creating a client: %v", err)
	}
	return c, secret
}

// Token returns an access token of Client that has not expired by the Clock. It
// requests a new one if necessary.
func (k *Kit) Token() string {
	k.t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := k.Clock.Now(); k.token == "" || !now.Before(k.renewAt) {
		var ttl time.Duration
		k.token, ttl = k.NewToken(k.Client.ID, k.Secret)
		k.renewAt = now.Add(ttl)
	}
	return k.token
}

// NewToken requests an access token with the credentials of any client and
// returns it with its lifetime.
func (k *Kit) NewToken(clientID, secret string) (token string, ttl time.Duration) {
	k.t.Helper()
	form := url.Values{"grant_type": {"client_credentials"}}
	r := httptest.NewRequestWithContext(k.t.Context(), http.MethodPost, "/oauth/token", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(clientID, secret)
	w := httptest.NewRecorder()
	k.Handler.ServeHTTP(w, r)
	var answer struct {
		AccessToken string `json:"access_token"`
		ExpiresIn   int64  `json:"expires_in"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
		k.t.Fatalf("licensingtest: getting a token: %d %s", w.Code, w.Body)
	}
	return answer.AccessToken, time.Duration(answer.ExpiresIn) * time.Second
}

// Events returns every event so far, oldest first.
func (k *Kit) Events() []store.Event {
	k.t.Helper()
	var all []store.Event
	var after int64
	for {
		events, err := k.Store.Events(k.t.Context(), store.EventQuery{After: after})
		if err != nil {
			k.t.Fatalf("licensingtest: reading events: %v", err)
		}
		if len(events) == 0 {
			return all
		}
		all = append(all, events...)
		after = events[len(events)-1].Seq
	}
}
