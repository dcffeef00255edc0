//go:build linux

package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

const (
	workers  = 4
	kept     = 40                    // licenses of each worker
	imported = 20                    // rows of each import
	pace     = 40 * time.Millisecond // of each worker
)

// A load sends requests of all kinds to a service. The number of its licenses,
// customers, purchases and webhooks stays the same.
type load struct {
	t        *testing.T
	base     string
	client   auth.Client
	secret   string
	receiver string
	received atomic.Int64 // deliveries

	token    atomic.Pointer[string]
	number   atomic.Int64
	requests atomic.Int64

	mu       sync.Mutex
	statuses map[string]int // by verb and status
}

// newLoad creates what a load needs in a service that listens at base.
func newLoad(t *testing.T, h *licensing.Handler, base string) *load {
	t.Helper()
	is := is.New(t)
	l := &load{t: t, base: base, statuses: map[string]int{}}
	l.receive()
	var err error
	l.client, l.secret, err = h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "soak", Scopes: auth.Scopes()})
	is.NoErr(err)
	_, err = h.Selling().PutPlan(t.Context(), api.PutPlanParams{ID: "sold", ProductID: "atlas", Duration: api.Duration{Years: 1}})
	is.NoErr(err)
	l.renew(t.Context())
	for _, path := range []string{"/well", "/flapping", "/ill"} {
		l.send(t.Context(), "create webhook", "POST", "/webhook", fmt.Sprintf(`{"url":%q}`, l.receiver+path))
	}
	return l
}

// receive starts the receiver of webhooks that is well, fails for some seconds and is
// well again, or fails, by the path.
func (l *load) receive() {
	began := time.Now()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		l.received.Add(1)
		isUp := int(time.Since(began)/(3*time.Second))%2 == 0
		if r.URL.Path == "/ill" || r.URL.Path == "/flapping" && !isUp {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	l.t.Cleanup(server.Close)
	l.receiver = server.URL
}

// renew gets another token.
func (l *load) renew(ctx context.Context) {
	query := url.Values{"client_id": {l.client.ID}, "client_secret": {l.secret}}.Encode()
	r, err := http.NewRequestWithContext(ctx, "GET", l.base+"/oauth/token?"+query, nil)
	if err != nil {
		l.t.Error(err)
		return
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		if ctx.Err() == nil {
			l.t.Error(err)
		}
		return
	}
	defer resp.Body.Close()
	var issued struct {
		Token string `json:"access_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&issued); err != nil {
		l.t.Error(err)
	}
	l.token.Store(&issued.Token)
}

// An answer has what later requests need.
type answer struct {
	ID, Key    string
	NextCursor string `json:"next_cursor"`
	Data       []struct{ ID, URL string }
}

// send sends one request. No answer may be that the service failed.
func (l *load) send(ctx context.Context, verb, method, path, body string) (a answer) {
	for range 2 {
		r, err := http.NewRequestWithContext(ctx, method, l.base+path, strings.NewReader(body))
		if err != nil {
			l.t.Error(err)
			return a
		}
		r.Header.Set("Authorization", "Bearer "+*l.token.Load())
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		if verb == "import" {
			r.Header.Set("Content-Type", "application/x-ndjson")
		}
		if verb == "create" {
			r.Header.Set("Idempotency-Key", fmt.Sprint("key-", l.number.Add(1)))
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			if ctx.Err() == nil {
				l.t.Errorf("%s: %v", verb, err)
			}
			return a
		}
		data, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		l.requests.Add(1)
		l.mu.Lock()
		l.statuses[fmt.Sprint(verb, " ", resp.StatusCode)]++
		l.mu.Unlock()
		switch {
		case resp.StatusCode >= 500 || err != nil && ctx.Err() == nil:
			l.t.Errorf("%s was answered %d %.300s (%v)", verb, resp.StatusCode, data, err)
			return a
		case resp.StatusCode == http.StatusUnauthorized: // the token has expired
			l.renew(ctx)
			continue
		}
		json.Unmarshal(data, &a) // not all answers are JSON objects
		return a
	}
	return a
}

// work sends requests until ctx ends.
func (l *load) work(ctx context.Context, worker int) {
	var licenses []answer
	cursor := ""
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		<-tick.C // the same load all the time, so that what grows is a leak
		if len(licenses) < kept || n%10 == 0 {
			a := l.send(ctx, "create", "POST", "/license", fmt.Sprintf(
				`{"name":"n","product_id":"atlas","customer_id":"cus_%d","max_activations":3,"lease_seconds":7200,"offline_seconds":7200}`, rand.N(100)))
			if a.ID != "" {
				licenses = append(licenses, a)
			}
			continue
		}
		if len(licenses) > kept {
			l.send(ctx, "delete", "DELETE", "/license/"+licenses[0].ID, "")
			licenses = licenses[1:]
			continue
		}
		a := licenses[rand.N(len(licenses))]
		withKey := fmt.Sprintf(`{"key":%q,"fingerprint":"%d"`, a.Key, rand.N(5))
		switch rand.N(20) {
		case 0, 1, 2:
			l.send(ctx, "activate", "POST", "/license/activate", withKey+`,"file":"PT1H"}`)
		case 3, 4, 5:
			l.send(ctx, "validate", "POST", "/license/validate", withKey+`}`)
		case 6, 7:
			l.send(ctx, "deactivate", "POST", "/license/deactivate", withKey+`}`)
		case 8:
			l.send(ctx, "update", "PATCH", "/license/"+a.ID, fmt.Sprintf(`{"metadata":{"n":"%d"}}`, n))
		case 9:
			l.send(ctx, "suspend", "POST", "/license/"+a.ID+"/suspend", `{}`)
			l.send(ctx, "reinstate", "POST", "/license/"+a.ID+"/reinstate", `{}`)
		case 10:
			l.send(ctx, "void files", "POST", "/license/"+a.ID+"/file/void", `{}`)
		case 11:
			l.send(ctx, "revocations", "GET", "/file/revocations?product_id=atlas", "")
		case 12:
			l.send(ctx, "list", "GET", "/license?limit=50", "")
			l.send(ctx, "list customer", "GET", fmt.Sprintf("/license/cus_%d", rand.N(100)), "")
		case 13:
			path := "/event?limit=200"
			if cursor != "" {
				path += "&after=" + url.QueryEscape(cursor)
			}
			cursor = l.send(ctx, "events", "GET", path, "").NextCursor
		case 14:
			l.send(ctx, "fulfill", "PUT", fmt.Sprintf("/purchase/shop:%d", rand.N(50)), fmt.Sprintf(
				`{"at":%q,"customer_id":"cus_shop","plan_id":"sold","state":"active","quantity":%d}`, time.Now().UTC().Format(time.RFC3339Nano), 1+rand.N(9)))
		case 15:
			l.send(ctx, "dashboard", "GET", "/dashboard/licenses?q=cus_1", "")
			l.send(ctx, "dashboard", "GET", "/dashboard/licenses/"+a.ID, "")
		case 16:
			l.send(ctx, "ready", "GET", "/ready?verbose", "")
		case 17:
			l.move(ctx, worker)
		case 18:
			l.send(ctx, "export", "GET", "/export/license?product_id=moved", "")
		case 19:
			l.flap(ctx)
		}
	}
}

// move imports some licenses and deletes them.
func (l *load) move(ctx context.Context, worker int) {
	if rand.N(5) > 0 {
		return
	}
	var rows strings.Builder
	for i := range imported {
		fmt.Fprintf(&rows, `{"key":"moved-license-%d-%d","name":"n","product_id":"moved","customer_id":"moved-%d"}`+"\n", worker, i, worker)
	}
	l.send(ctx, "import", "POST", "/import/license", rows.String())
	for _, found := range l.send(ctx, "list", "GET", fmt.Sprintf("/license?customer_id=moved-%d", worker), "").Data {
		l.send(ctx, "delete", "DELETE", "/license/"+found.ID, "")
	}
}

// flap enables the webhooks that have failed for so long that they were disabled,
// or replaces one.
func (l *load) flap(ctx context.Context) {
	if rand.N(10) > 0 {
		return
	}
	hooks := l.send(ctx, "webhooks", "GET", "/webhook", "").Data
	if len(hooks) > 3 {
		hooks = hooks[:3]
	}
	for _, hook := range hooks {
		l.send(ctx, "enable webhook", "PATCH", "/webhook/"+hook.ID, `{"status":"active"}`)
		l.send(ctx, "deliveries", "GET", "/webhook/"+hook.ID+"/delivery?limit=20", "")
	}
	if rand.N(5) == 0 && len(hooks) == 3 {
		l.send(ctx, "delete webhook", "DELETE", "/webhook/"+hooks[2].ID, "")
		l.send(ctx, "create webhook", "POST", "/webhook", fmt.Sprintf(`{"url":%q}`, l.receiver+"/flapping"))
	}
}
