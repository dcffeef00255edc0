package licensing_test

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
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

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
