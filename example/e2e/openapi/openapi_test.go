package openapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
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
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestTheServiceDoesWhatItSays checks every request that was taken and every
// answer, in the API suite and to the example of every operation; and then,
// that every success that is described has been seen.
func TestTheServiceDoesWhatItSays(t *testing.T) {
	c := newChecker(t)
	t.Run("Suite", func(t *testing.T) {
		licensingtest.RunAPI(t, func(*testing.T) store.Store { return memory.New() }, c.around)
	})
	t.Run("Example", func(t *testing.T) { testExamples(t, c) })
	t.Run("Member", func(t *testing.T) { testMembers(t, c) })
	t.Run("Selling", func(t *testing.T) { testSelling(t, c) })
	t.Run("Link", func(t *testing.T) { testLink(t, c) })
	for path, item := range c.doc.Paths.Map() {
		for method, o := range item.Operations() {
			for code := range o.Responses.Map() {
				status, err := strconv.Atoi(code)
				if err != nil {
					t.Errorf("%s %s: %s is no status", method, path, code)
				}
				if status < 400 && !c.saw(o.OperationID, status) {
					t.Errorf("nothing has seen %s %s answer %s", method, path, code)
				}
			}
		}
	}
}

// A service has something for every example: a license with a seat, a webhook
// with a delivery, and a client that may do everything.
type service struct {
	h       http.Handler
	rules   *license.Service
	license api.License
	link    api.Link
	replace *strings.Replacer // what stands in the examples by what is there
	token   string
	client  auth.Client
	secret  string
}

// newService returns a service on st, behind the checker, with records that
// were made in the store below it.
func newService(t *testing.T, c *checker, path string, st, below store.Store, limiter licensing.Limiter) service {
	t.Helper()
	is := is.New(t)
	ctx := t.Context()
	opts := licensing.Options{
		PublicURL: "https://host.example/licensing", PortalURL: "https://host.example/account", KeyHolderSeats: true, ClaimFrom: []string{"batch:"}, Logger: slog.New(slog.DiscardHandler),
		ClientIP: func(*http.Request) netip.Addr { return netip.MustParseAddr("192.0.2.1") },
	}
	h := licensing.NewHandler(below, opts)
	client, secret, err := h.Auth().CreateClient(ctx, auth.CreateClientParams{Name: "described", Scopes: auth.Scopes()})
	is.NoErr(err)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/oauth/token?"+url.Values{"client_id": {client.ID}, "client_secret": {secret}}.Encode(), nil))
	var issued struct {
		AccessToken string `json:"access_token"`
	}
	is.NoErr(json.Unmarshal(w.Body.Bytes(), &issued))

	params := api.CreateLicenseParams{Name: "n", ProductID: "atlas", CustomerID: "cus_1"}
	if strings.Contains(path, "/usage") || strings.Contains(path, "/meter/") {
		params.Meters = map[string]api.Meter{"exports": {}}
	}
	if strings.HasSuffix(path, "/claim") {
		params.CustomerID = "batch:spring"
	}
	l, err := h.Service().Create(ctx, params)
	is.NoErr(err)
	seat, err := h.Service().Activate(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: "host-7f3a"})
	is.NoErr(err)
	if strings.HasSuffix(path, "/renew") {
		ends := time.Now().AddDate(0, 1, 0)
		_, err = h.Service().Update(ctx, api.UpdateLicenseParams{ID: l.ID, ExpiresAt: api.To(ends)})
		is.NoErr(err)
	}
	if strings.HasSuffix(path, "/reinstate") {
		_, err = h.Service().Suspend(ctx, api.ChangeStateParams{ID: l.ID})
		is.NoErr(err)
	}
	for _, id := range []string{"price_pro", "trial"} {
		_, err = h.Selling().PutPlan(ctx, api.PutPlanParams{ID: id, ProductID: "atlas", Duration: api.Duration{Days: 14}})
		is.NoErr(err)
	}
	if strings.HasPrefix(path, "/purchase") {
		_, err = h.Selling().RecordPurchase(ctx, api.RecordPurchaseParams{Reference: "stripe:sub_1", CustomerID: "cus_1", PlanID: "price_pro", State: api.PurchaseActive})
		is.NoErr(err)
	}
	if strings.HasSuffix(path, "/reopen") {
		_, err = h.Selling().RecordPurchase(ctx, api.RecordPurchaseParams{Reference: "stripe:sub_1", At: time.Now(), State: api.PurchaseRefunded})
		is.NoErr(err)
	}
	if strings.HasSuffix(path, "{licenseID}/trial") {
		trial, err := h.Selling().StartTrial(ctx, api.StartTrialParams{PlanID: "trial", CustomerID: "cus_2", Subjects: []string{"device:1"}})
		is.NoErr(err)
		l = trial.License
	}
	link, err := inner.Of(h.Service()).Links().Start(ctx, api.StartLinkParams{ProductID: "atlas", Fingerprint: "host-1b2c", Name: "Laptop"}, "https://host.example/account")
	is.NoErr(err)
	hook, _, err := h.Webhooks().Create(ctx, api.CreateWebhookParams{URL: "https://host.example/hook"})
	is.NoErr(err)
	delivery, err := h.Webhooks().Test(ctx, hook.ID)
	is.NoErr(err)

	opts.Limiter = limiter
	return service{
		h: c.around(licensing.NewHandler(st, opts)), rules: h.Service(), license: l, link: link,
		replace: strings.NewReplacer(
			"{licenseID}", l.ID, "{activationID}", seat.Activation.ID, "{webhookID}", hook.ID, "{deliveryID}", delivery.ID,
			"{planID}", "price_pro", "{reference}", "stripe:sub_1", "{meter}", "exports",
			c.doc.Components.Schemas["License"].Value.Properties["key"].Value.Example.(string), l.Key,
			c.doc.Paths.Find("/license/link/poll").Post.RequestBody.Value.Content["application/json"].Example.(map[string]any)["secret"].(string), link.Secret,
		),
		token: issued.AccessToken, client: client, secret: secret,
	}
}

// ask sends the example of an operation, with other values of some members.
func (s service) ask(t *testing.T, method, path string, o *openapi3.Operation, others map[string]any) *httptest.ResponseRecorder {
	t.Helper()
	is := is.New(t)
	query := url.Values{}
	for _, p := range o.Parameters {
		if p := p.Value; p.In == "query" && p.Required {
			query.Set(p.Name, fmt.Sprint(p.Example))
		}
	}
	r := httptest.NewRequest(method, s.replace.Replace(path)+"?"+query.Encode(), nil)
	if o.RequestBody != nil {
		for mediaType, content := range o.RequestBody.Value.Content {
			if mediaType == "application/x-www-form-urlencoded" {
				continue // the other one is JSON
			}
			example := content.Example
			if rows, ok := example.([]any); ok { // NDJSON
				example = rows[0]
			}
			members := maps.Clone(example.(map[string]any))
			maps.Copy(members, others)
			body, err := json.Marshal(members)
			is.NoErr(err)
			r = httptest.NewRequest(method, r.URL.String(), strings.NewReader(s.replace.Replace(string(body))))
			r.Header.Set("Content-Type", mediaType)
		}
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

// testSelling asks for what is there, for what is not there yet, and again.
func testSelling(t *testing.T, c *checker) {
	is := is.New(t)
	st := memory.New()
	s := newService(t, c, "", st, st, nil)
	do := func(method, path, body string, header ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+s.token)
		if body != "" {
			r.Header.Set("Content-Type", "application/json")
		}
		for i := 0; i < len(header); i += 2 {
			r.Header.Set(header[i], header[i+1])
		}
		w := httptest.NewRecorder()
		s.h.ServeHTTP(w, r)
		return w
	}
	purchase := `{"at":"2026-01-01T00:00:00Z","customer_id":"cus_2","plan_id":"price_pro","state":"active"}`
	trial := `{"plan_id":"trial","customer_id":"cus_3","subjects":["device:1"]}`
	for _, status := range []int{http.StatusCreated, http.StatusOK} {
		is.Equal(do("PUT", "/plan/price_new", `{"product_id":"atlas"}`).Code, status)
		is.Equal(do("PUT", "/purchase/shop:7", purchase).Code, status)
		is.Equal(do("POST", "/license/trial", trial).Code, status)
	}
	tag := do("GET", "/plan/price_new", "").Header().Get("ETag")
	is.Equal(do("GET", "/plan/price_new", "", "If-None-Match", tag).Code, http.StatusNotModified)
}

// testLink polls a link that the customer has approved.
func testLink(t *testing.T, c *checker) {
	is := is.New(t)
	st := memory.New()
	s := newService(t, c, "", st, st, nil)
	_, err := s.rules.Customer("cus_1").ApproveLink(t.Context(), api.ApproveLinkParams{Code: s.link.Code, LicenseID: s.license.ID})
	is.NoErr(err)
	r := httptest.NewRequest("POST", "/license/link/poll", strings.NewReader(`{"secret":"`+s.link.Secret+`"}`))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	s.h.ServeHTTP(w, r)
	is.Equal(w.Code, http.StatusOK)
}

// testExamples asks every operation with its own example: of a service that is
// well, and of services that are not.
func testExamples(t *testing.T, c *checker) {
	for path, item := range c.doc.Paths.Map() {
		for method, o := range item.Operations() {
			t.Run(method+" "+path, func(t *testing.T) {
				is := is.New(t)
				well := memory.New()
				got := newService(t, c, path, well, well, nil).ask(t, method, path, o, nil)
				if got.Code >= 300 {
					t.Errorf("the example was answered %d %s", got.Code, got.Body)
				}

				busy, limited := memory.New(), http.StatusTooManyRequests
				if path == "/health" {
					limited = http.StatusOK // which no limit applies to
				}
				is.Equal(newService(t, c, path, busy, busy, exhausted{}).ask(t, method, path, o, nil).Code, limited)

				below := memory.New()
				for err, status := range map[error]int{store.ErrUnavailable: http.StatusServiceUnavailable, errors.New("disk 7"): http.StatusInternalServerError} {
					switch {
					case slices.Contains([]string{"/health", "/openapi.json", "/.well-known/oauth-authorization-server"}, path):
						status = http.StatusOK // whatever the store does
					case strings.HasPrefix(path, "/oauth/"), path == "/ready":
						status = http.StatusServiceUnavailable // RFC 6749 has no word for more, and a store that cannot answer is not ready
					}
					is.Equal(newService(t, c, path, &broken{Store: below, err: err, tokens: !strings.HasPrefix(path, "/oauth/")}, below, nil).ask(t, method, path, o, nil).Code, status)
				}
			})
		}
	}
}

// testMembers asks every operation with its own example, in which one member has a
// value that is hardly ever right. The checker finds values that are taken and not
// described, but for the rows of an import.
func testMembers(t *testing.T, c *checker) {
	values := []any{"", " ", "x", nil, 0, -1, 0.5, true, []any{}, []any{""}, map[string]any{}, map[string]any{"": ""}}
	for path, item := range c.doc.Paths.Map() {
		for method, o := range item.Operations() {
			if o.RequestBody == nil {
				continue
			}
			content := o.RequestBody.Value.Content
			isRow := content["application/x-ndjson"] != nil
			object := content["application/json"]
			if isRow {
				object = openapi3.NewMediaType().WithSchema(content["application/x-ndjson"].Schema.Value.Items.Value)
			}
			var s service
			for name, member := range object.Schema.Value.Properties {
				for _, value := range values {
					if s.h == nil {
						st := memory.New()
						s = newService(t, c, path, st, st, nil)
					}
					got := s.ask(t, method, path, o, map[string]any{name: value})
					if got.Code < 300 {
						s.h = nil // so that the next request is not refused because of this one
					}
					described, err := c.compile(member)
					is.New(t).NoErr(err)
					if isRow && described.Validate(value) != nil && !strings.Contains(got.Body.String(), `"result":"refused"`) {
						t.Errorf("a row was taken in which %s is %#v", name, value)
					}
					if got.Code >= 500 {
						t.Errorf("%s %s with %#v in %s was answered %d", method, path, value, name, got.Code)
					}
				}
			}
		}
	}
}

// exhausted refuses every request.
type exhausted struct{}

func (exhausted) Allow(context.Context, string) (wait time.Duration, ok bool) {
	return time.Second, false
}

// A broken store fails at every read and update; if tokens is set, not at the
// reads that verify a token.
type broken struct {
	store.Store
	err    error
	tokens bool
}

func (b *broken) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	if b.tokens && (kind == "token" || kind == "client") {
		return b.Store.Entry(ctx, kind, key)
	}
	return store.Entry{}, b.err
}

func (b *broken) Entries(context.Context, store.EntryQuery) ([]store.Entry, error) { return nil, b.err }

func (b *broken) License(context.Context, string) (store.License, error) {
	return store.License{}, b.err
}

func (b *broken) Licenses(context.Context, store.LicenseQuery) ([]store.License, error) {
	return nil, b.err
}

func (b *broken) Events(context.Context, store.EventQuery) ([]store.Event, error) { return nil, b.err }

func (b *broken) View(context.Context, func(store.Reader) error) error { return b.err }

func (b *broken) Update(context.Context, func(store.Tx) error) error { return b.err }
