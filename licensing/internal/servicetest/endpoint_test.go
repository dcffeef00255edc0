package servicetest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/endpoints"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestEveryEndpointRefusesWhatItDoesNotKnow: unknown members and parameters,
// preconditions where nothing is conditional, and bodies where none is read.
func TestEveryEndpointRefusesWhatItDoesNotKnow(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{PublicURL: "https://example.com"})
	lic, err := c.Handler.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Atlas", ProductID: "atlas", CustomerID: "cus_1"})
	is.NoErr(err)
	hook, _, err := c.Handler.Webhooks().Create(t.Context(), api.CreateWebhookParams{URL: "https://shop.example/hooks"})
	is.NoErr(err)
	known := strings.NewReplacer("{licenseID}", lic.ID, "{webhookID}", hook.ID, "{activationID}", "act_x", "{deliveryID}", "dlv_x")
	before, err := c.Handler.Service().Events(t.Context(), api.ListEventsParams{})
	is.NoErr(err)
	for _, route := range endpoints.Routes(endpoints.Config{Auth: auth.New(memory.New(), auth.Options{}), Metadata: http.NotFoundHandler(), MaxImport: 1 << 20}) {
		if route.OAuth || route.Probe { // RFC 6749 requires the first to ignore them; see TestProbes
			continue
		}
		path := known.Replace(route.Path)
		t.Run(route.Method+" "+path, func(t *testing.T) {
			is := is.New(t)
			a := c.do(route.Method, path+"?no_such_parameter=1", "")
			is.Equal(a.Code, http.StatusBadRequest) // an unknown parameter
			is.True(strings.Contains(a.Body.String(), `"parameter":"no_such_parameter"`) || route.Do == nil)
			if route.Rows > 0 {
				return // its lines are read one by one
			}
			a = c.do(route.Method, path, `{"no_such_member":1}`, "Content-Type", "application/json")
			is.True(a.Code == http.StatusUnprocessableEntity || a.Code == http.StatusBadRequest) // an unknown member, or a body where none is read
			is.True(strings.Contains(a.Body.String(), `"pointer":"#/no_such_member"`) || strings.Contains(a.Body.String(), `"code":"unexpected_body"`))
			if route.Method != http.MethodGet {
				a = c.do(route.Method, path, "", "If-None-Match", "*", "Content-Type", "application/json")
				is.Equal(a.Code, http.StatusBadRequest) // a precondition for reading
				require.Contains(t, a.Body.String(), `"header":"If-None-Match"`)
			}
		})
	}
	after, err := c.Handler.Service().Events(t.Context(), api.ListEventsParams{})
	is.NoErr(err)
	is.Equal(len(after.Data), len(before.Data)) // nothing has changed
}

// A countingStore counts the reads of licenses and entries, and the updates.
type countingStore struct {
	store.Store
	licenses, entries, lists, updates atomic.Int64
}

func (c *countingStore) License(ctx context.Context, id string) (store.License, error) {
	c.licenses.Add(1)
	return c.Store.License(ctx, id)
}

func (c *countingStore) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	c.lists.Add(1)
	return c.Store.Licenses(ctx, q)
}

func (c *countingStore) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	c.entries.Add(1)
	return c.Store.Entry(ctx, kind, key)
}

func (c *countingStore) View(ctx context.Context, fn func(store.Reader) error) error {
	return c.Store.View(ctx, func(r store.Reader) error { return fn(countingReader{r, c}) })
}

func (c *countingStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	c.updates.Add(1)
	return c.Store.Update(ctx, func(tx store.Tx) error { return fn(countingTx{tx, c}) })
}

// calls returns what has been counted, and resets the count.
func (c *countingStore) calls() [4]int64 {
	return [4]int64{c.licenses.Swap(0), c.entries.Swap(0), c.lists.Swap(0), c.updates.Swap(0)}
}

type countingReader struct {
	store.Reader
	c *countingStore
}

func (r countingReader) License(ctx context.Context, id string) (store.License, error) {
	r.c.licenses.Add(1)
	return r.Reader.License(ctx, id)
}

func (r countingReader) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	r.c.lists.Add(1)
	return r.Reader.Licenses(ctx, q)
}

type countingTx struct {
	store.Tx
	c *countingStore
}

func (tx countingTx) License(ctx context.Context, id string) (store.License, error) {
	tx.c.licenses.Add(1)
	return tx.Tx.License(ctx, id)
}

// A license of a product that is not for the client is answered as one that
// does not exist: the same bytes, after the same calls of the store.
func TestAForeignProductIsAnsweredWithoutAHint(t *testing.T) {
	is := is.New(t)
	st := &countingStore{Store: memory.New()}
	now := time.Now() // fixed, so that verified tokens stay in the cache
	h := licensing.NewHandler(st, licensing.Options{Logger: discard, Now: func() time.Time { return now }})
	limited, secret, err := h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "limited", Products: []string{"mine"}})
	is.NoErr(err)
	w := ask(t, h, "GET", "/oauth/token?client_id="+limited.ID+"&client_secret="+secret, "", "")
	is.Equal(w.Code, http.StatusOK)
	token := strings.Split(w.Body.String(), `"`)[3]
	other, secret, err := h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "other"})
	is.NoErr(err)
	w = ask(t, h, "GET", "/oauth/token?client_id="+other.ID+"&client_secret="+secret, "", "")
	w = ask(t, h, "POST", "/license", strings.Split(w.Body.String(), `"`)[3], `{"name":"n","product_id":"theirs","customer_id":"c"}`)
	is.Equal(w.Code, http.StatusCreated)
	foreign := strings.TrimPrefix(w.Header().Get("Location"), "license/")

	is.Equal(ask(t, h, "GET", "/license", token, "").Code, http.StatusOK)
	for _, request := range []struct{ method, path, body string }{
		{"GET", "/license/", ""}, {"PATCH", "/license/", `{"name":"m"}`}, {"PATCH", "/license?id=", `{"name":5}`}, {"DELETE", "/license/", ""},
	} {
		st.calls()
		there := ask(t, h, request.method, request.path+foreign, token, request.body)
		thereCalls := st.calls()
		gone := ask(t, h, request.method, request.path+nobody, token, request.body)
		is.True(there.Code == http.StatusNotFound || strings.Contains(request.body, "5") && there.Code == http.StatusUnprocessableEntity)
		is.Equal(there.Body.String(), gone.Body.String())
		is.Equal(there.Header(), gone.Header())
		is.Equal(thereCalls, st.calls())
	}
	for _, path := range []string{"/license/%s", "/license?customer_id=%s", "/license?product_id=%s"} {
		st.calls()
		there := get(t, h, path, "c", token)
		thereCalls := st.calls()
		gone := get(t, h, path, "d", token)
		is.Equal(there.Body.String(), gone.Body.String())
		is.Equal(thereCalls, st.calls())
	}
}

func get(t *testing.T, h http.Handler, path, customer, token string) *httptest.ResponseRecorder {
	return ask(t, h, "GET", strings.ReplaceAll(path, "%s", customer), token, "")
}
