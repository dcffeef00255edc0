package servicetest

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/endpoints"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestCustomerOverHTTP: a support tool exports, renames and erases customers, whatever their
// IDs.
func TestCustomerOverHTTP(t *testing.T) {
	c := newCaller(t, licensing.Options{})
	for i, id := range []string{"cus_1", "stripe:cus_1", "ada@example.com", "50%", "a/b", "a//b", "%2F", "ä ö", strings.Repeat("x", 255)} {
		t.Run(id[:min(len(id), 20)], func(t *testing.T) {
			is := is.New(t)
			c := c.in(t)
			license := c.create("Ada Lovelace", "atlas", id)
			to := fmt.Sprintf("cus/%d%%", 100+i)
			renamed := c.do("POST", "/customer/"+url.PathEscape(id)+"/rename", fmt.Sprintf(`{"to":%q,"reason":"a new shop"}`, to))
			is.Equal(renamed.json, map[string]any{"object": "customer_rename", "licenses": 1.0, "purchases": 0.0})
			is.Equal(c.do("POST", "/customer/"+url.PathEscape(id)+"/rename", fmt.Sprintf(`{"to":%q}`, to)).json["licenses"], 0.0) // repeated
			is.Equal(c.do("GET", "/license/"+license, "").json["customer_id"], to)

			export := c.do("GET", "/customer/"+url.PathEscape(to)+"/export", "")
			is.Equal(export.Header().Get("Content-Type"), "application/json")
			is.Equal(export.json["customer_id"], to)
			is.Equal(len(export.json["licenses"].([]any)), 1)
			erased := c.do("DELETE", "/customer/"+url.PathEscape(to), "")
			is.Equal(erased.json["object"], "customer_erasure")
			is.Equal(erased.json["licenses"], 1.0)
			is.Equal(c.do("GET", "/license/"+license, "").Code, http.StatusNotFound)
			is.Equal(c.do("DELETE", "/customer/"+url.PathEscape(to), "").json["licenses"], 0.0)
			require.NotContains(t, c.do("GET", "/event?newest_first&limit=200", "").Body.String(), "Ada Lovelace")
		})
	}
}

// TestCustomerOverHTTPRefuses clients without the scope or with a limit, and an
// Idempotency-Key.
func TestCustomerOverHTTPRefuses(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	id := c.create("Ada Lovelace", "atlas", "cus_1")
	client, secret := c.NewClient(auth.CreateClientParams{Name: "By default"})
	narrow := *c
	narrow.token, _ = c.NewToken(client.ID, secret)
	limited := c.limited("atlas")
	for request, body := range map[string]string{
		"GET /customer/cus_1/export": "", "POST /customer/cus_1/rename": `{"to":"cus_2"}`, "DELETE /customer/cus_1": "",
	} {
		method, path, _ := strings.Cut(request, " ")
		is.Equal(narrow.do(method, path, body).json["code"], "insufficient_scope")
		is.Equal(limited.do(method, path, body).json["code"], "product_forbidden")
		if method != "GET" {
			refused := c.do(method, path, body, "Idempotency-Key", "k")
			is.Equal(refused.Code, http.StatusUnprocessableEntity)
			is.Equal(refused.json["errors"].([]any)[0].(map[string]any)["header"], "Idempotency-Key")
		}
	}
	is.Equal(c.do("GET", "/license/"+id, "").json["customer_id"], "cus_1")
	is.Equal(c.do("POST", "/customer/cus_1/rename", `{"to":"lic_1"}`).Code, http.StatusUnprocessableEntity)
	is.Equal(c.do("POST", "/customer/cus_1/rename", `{"to":"cus_1"}`).Code, http.StatusUnprocessableEntity)
	long := c.do("POST", "/customer/"+strings.Repeat("x", 256)+"/rename", `{"to":"cus_2"}`)
	is.Equal(long.json["errors"].([]any)[0].(map[string]any)["parameter"], "customerID")
}

// TestEraseCustomerInALargeFeed: an erasure whose walk of 10,000 events was stopped is finished
// by a repeated request. It may take as long as a bulk request.
func TestEraseCustomerInALargeFeed(t *testing.T) {
	is := is.New(t)
	st := &stoppingStore{memory.New(), 1 << 30}
	c := newCallerOn(t, st)
	id := c.do("POST", "/license", `{"name":"Ada Lovelace","product_id":"atlas","customer_id":"cus_1"}`).json["id"].(string)
	is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
		events := make([]store.Event, 10_000)
		for i := range events {
			events[i] = store.Event{ID: fmt.Sprint(i), Type: "license.created", Subject: fmt.Sprint(i), Time: time.Now(), CustomerID: "cus_2"}
		}
		return tx.AppendEvents(t.Context(), events...)
	}))
	st.left = 1
	is.Equal(c.do("DELETE", "/customer/cus_1", "").Code, http.StatusInternalServerError)
	is.Equal(c.do("GET", "/license/"+id, "").Code, http.StatusNotFound) // the first step is done
	st.left = 1 << 30
	is.Equal(c.do("DELETE", "/customer/cus_1", "").Code, http.StatusOK)
	newest := c.do("GET", "/event?newest_first&limit=1", "").json["data"].([]any)[0].(map[string]any)
	is.Equal(newest["type"], "customer.erased")
	require.NotContains(t, c.do("GET", "/event?limit=200", "").Body.String(), "Ada Lovelace")
	for _, route := range endpoints.Routes(endpoints.Config{Auth: auth.New(st, auth.Options{}), Metadata: http.NotFoundHandler()}) {
		if route.Scope == auth.ScopeCustomerWrite {
			is.True(route.Bulk)
			is.Equal(route.Steps, route.Method != "GET")
		}
	}
}

// newCallerOn returns a caller of a service on a store, without a Kit.
func newCallerOn(t *testing.T, st store.Store) *caller {
	is := is.New(t)
	h := licensing.NewHandler(st, licensing.Options{})
	client, secret, err := h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "all", Scopes: auth.Scopes()})
	is.NoErr(err)
	c := &caller{t: t, mount: h}
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {client.ID}, "client_secret": {secret}}
	c.token = c.do("POST", "/oauth/token", form.Encode(), "Authorization", "", "Content-Type", "application/x-www-form-urlencoded").json["access_token"].(string)
	return c
}
