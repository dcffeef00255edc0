package openapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestEveryAnswerOfTheSuiteIsDescribed checks every request that was taken and
// every answer in the API suite.
func TestEveryAnswerOfTheSuiteIsDescribed(t *testing.T) {
	c := newChecker(t)
	licensingtest.RunAPI(t, func(*testing.T) store.Store { return memory.New() }, c.around)
	for path, item := range c.doc.Paths.Map() {
		for method, o := range item.Operations() {
			if !strings.HasPrefix(path, "/license") && path != "/oauth/token" {
				continue // is asked below
			}
			for code := range o.Responses.Map() {
				status, err := strconv.Atoi(code)
				if err != nil {
					t.Errorf("%s %s: %s is no status", method, path, code)
				}
				if status < 300 && !c.saw(o.OperationID, status) {
					t.Errorf("the suite has not seen %s %s answer %s", method, path, code)
				}
			}
		}
	}
}

// A service has one licence, and a client that may do everything.
type service struct {
	h      http.Handler
	names  map[string]string // what to put in place of the examples of path parameters
	token  string
	client auth.Client
	secret string
}

// newService returns a service on st, behind the checker. Its own records are
// in the store below.
func newService(t *testing.T, c *checker, st store.Store, below store.Store, edit func(*licensing.Options)) service {
	t.Helper()
	is := is.New(t)
	opts := licensing.Options{PublicURL: "https://host.example/licensing", Logger: slog.New(slog.DiscardHandler)}
	made := licensing.NewHandler(below, opts)
	client, secret, err := made.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "described", Scopes: auth.Scopes()})
	is.NoErr(err)
	w := httptest.NewRecorder()
	made.ServeHTTP(w, httptest.NewRequest("GET", "/oauth/token?"+url.Values{"client_id": {client.ID}, "client_secret": {secret}}.Encode(), nil))
	var issued struct {
		AccessToken string `json:"access_token"`
	}
	is.NoErr(json.Unmarshal(w.Body.Bytes(), &issued))
	if edit != nil {
		edit(&opts)
	}
	l, err := made.Service().Create(t.Context(), license.CreateParams{Name: "n", ProductID: "atlas", CustomerID: "cus_1"})
	is.NoErr(err)
	return service{c.around(licensing.NewHandler(st, opts)), map[string]string{"licenseID": l.ID}, issued.AccessToken, client, secret}
}

// ask sends the example of an operation.
func (s service) ask(t *testing.T, method, path string, o *openapi3.Operation) *httptest.ResponseRecorder {
	t.Helper()
	for name, value := range s.names {
		path = strings.ReplaceAll(path, "{"+name+"}", value)
	}
	query := url.Values{}
	for _, p := range o.Parameters {
		if p.Value.In == "query" && p.Value.Required {
			query.Set(p.Value.Name, fmt.Sprint(p.Value.Example))
		}
	}
	body, mediaType := "", ""
	if o.RequestBody != nil {
		content := o.RequestBody.Value.Content["application/json"]
		data, err := json.Marshal(content.Example)
		is.New(t).NoErr(err)
		body, mediaType = string(data), "application/json"
	}
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.URL.RawQuery = query.Encode()
	if mediaType != "" {
		r.Header.Set("Content-Type", mediaType)
	}
	switch {
	case strings.HasPrefix(path, "/oauth/"):
		r.SetBasicAuth(s.client.ID, s.secret)
	case o.Security != nil && len(*o.Security) > 0:
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	w := httptest.NewRecorder()
	s.h.ServeHTTP(w, r)
	return w
}

// TestEveryOperationIsAsDescribed asks every operation with its own example:
// of a service that is well, and of services that are not.
func TestEveryOperationIsAsDescribed(t *testing.T) {
	c := newChecker(t)
	for path, item := range c.doc.Paths.Map() {
		for method, o := range item.Operations() {
			t.Run(method+" "+path, func(t *testing.T) {
				is := is.New(t)
				well := memory.New()
				got := newService(t, c, well, well, nil).ask(t, method, path, o)
				if got.Code >= 300 {
					t.Errorf("the example was answered %d %s", got.Code, got.Body)
				}

				busy := memory.New()
				s := newService(t, c, busy, busy, func(opts *licensing.Options) {
					opts.Limiter = exhausted{}
					opts.ClientIP = func(*http.Request) netip.Addr { return netip.MustParseAddr("192.0.2.1") }
				})
				is.Equal(s.ask(t, method, path, o).Code, http.StatusTooManyRequests)

				below := memory.New()
				for err, status := range map[error]int{store.ErrUnavailable: http.StatusServiceUnavailable, errors.New("disk 7"): http.StatusInternalServerError} {
					switch {
					case slices.Contains([]string{"/health", "/openapi.json", "/.well-known/oauth-authorization-server"}, path):
						status = http.StatusOK // whatever the store does
					case strings.HasPrefix(path, "/oauth/"):
						status = http.StatusServiceUnavailable // RFC 6749 has no word for more
					}
					is.Equal(newService(t, c, &broken{Store: below, err: err}, below, nil).ask(t, method, path, o).Code, status)
				}
			})
		}
	}
}

// exhausted lets nobody in.
type exhausted struct{}

func (exhausted) Take(context.Context, string) (wait time.Duration, ok bool) {
	return time.Second, false
}

// A broken store fails at every read and update that is not the look at a token.
type broken struct {
	store.Store
	err error
}

func (b *broken) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	if kind == "token" {
		return b.Store.Entry(ctx, kind, key)
	}
	return store.Entry{}, b.err
}

func (b *broken) License(context.Context, string) (store.License, error) {
	return store.License{}, b.err
}

func (b *broken) Licenses(context.Context, store.LicenseQuery) ([]store.License, error) { return nil, b.err }

func (b *broken) View(context.Context, func(store.Reader) error) error { return b.err }

func (b *broken) Update(context.Context, func(store.Tx) error) error { return b.err }
