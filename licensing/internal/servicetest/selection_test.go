package servicetest

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// ids returns the IDs of the elements of a list.
func (a answer) ids() (ids []string) {
	for _, e := range a.json["data"].([]any) {
		ids = append(ids, e.(map[string]any)["id"].(string))
	}
	return ids
}

// limited returns c with a client that sees one product.
func (c *caller) limited(product string) *caller {
	client, secret := c.NewClient(auth.CreateClientParams{Name: "Limited", Scopes: auth.Scopes(), Products: []string{product}})
	inner := *c
	inner.token, _ = c.NewToken(client.ID, secret)
	return &inner
}

// TestSelectLicensesOverHTTP: a support tool finds a license as an operator does, but not by
// its key.
func TestSelectLicensesOverHTTP(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	c.do("PUT", "/plan/team", `{"product_id":"atlas","duration":"P7D"}`)
	bought := c.do("PUT", "/purchase/shop:1", `{"at":"2026-06-01T00:00:00Z","customer_id":"cus_1","name":"Ada Lovelace","plan_id":"team","state":"active"}`).json
	id, key := bought["license_id"].(string), bought["license"].(map[string]any)["key"].(string)
	other := c.create("Grace Hopper", "globe", "cus_2")
	found := func(query string) []string {
		t.Helper()
		a := c.do("GET", "/license?"+query, "")
		is.Equal(a.Code, http.StatusOK)
		return a.ids()
	}
	for query, want := range map[string][]string{
		"search=lovelace": {id}, "search=shop:1": {id}, "search=" + id: {id}, "search=cus_2": {other},
		"plan_id=team": {id}, "only=due": {id}, "only=due&customer_id=cus_2": nil, "only=near_limit": nil, "only=updates_ended": nil, "only=updates_end_soon": nil,
		"newest_first": {other, id}, "newest_first=true": {other, id}, "newest_first=false": {id, other},
	} {
		is.Equal(found(query), want) // query
	}
	is.Equal(c.do("GET", "/license?search="+key, "").ids(), nil)
	is.Equal(c.do("GET", "/license?only=due&search="+key, "").ids(), nil)
	for _, query := range []string{"newest_first=1", "newest_first=TRUE", "newest_first=true&newest_first=true"} {
		is.Equal(c.do("GET", "/license?"+query, "").Code, http.StatusBadRequest) // query
	}
	refused := c.do("GET", "/license?only=wrong", "")
	is.Equal(refused.Code, http.StatusBadRequest)
	is.Equal(refused.json["errors"].([]any)[0].(map[string]any)["parameter"], "only")

	first := c.do("GET", "/license?plan_id=team&limit=1", "").json
	cursor := first["next_cursor"].(string) // more may have the plan
	is.Equal(c.do("GET", "/license?plan_id=team&cursor="+cursor, "").json["has_more"], false)
	is.Equal(c.do("GET", "/license?plan_id=other&cursor="+cursor, "").Code, http.StatusBadRequest)
	limited := c.limited("atlas")
	is.Equal(limited.do("GET", "/license?search=a", "").ids(), []string{id})
	for _, query := range []string{"plan_id=team", "only=due"} {
		is.Equal(limited.do("GET", "/license?"+query, "").Code, http.StatusForbidden)
	}
}

// TestSelectEventsOverHTTP: a support tool lists what happened to a customer.
func TestSelectEventsOverHTTP(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	first := c.create("Ada Lovelace", "atlas", "cus_1")
	c.Clock.Advance(20 * time.Minute)
	second := c.create("Grace Hopper", "globe", "cus_2")
	c.do("POST", "/license/"+second+"/suspend", "")
	list := func(c *caller, query string) (found []string) {
		t.Helper()
		a := c.do("GET", "/event?"+query, "")
		is.Equal(a.Code, http.StatusOK)
		for _, e := range a.json["data"].([]any) {
			e := e.(map[string]any)
			found = append(found, e["type"].(string)+" "+e["subject"].(string))
		}
		return found
	}
	is.Equal(list(c, "customer_id=cus_1"), []string{"license.created " + first})
	is.Equal(list(c, "type=webhook.*&type=plan.*"), nil)
	is.Equal(list(c, "type=license.suspended&type=license.created&newest_first"), []string{"license.suspended " + second, "license.created " + second, "license.created " + first})
	before := c.Clock.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
	is.Equal(list(c, "type=license.*&newest_first&before="+before), []string{"license.created " + first})
	is.Equal(list(c.limited("atlas"), "customer_id=cus_2&newest_first"), nil)
	refused := c.do("GET", "/event?before="+before, "")
	is.Equal(refused.Code, http.StatusUnprocessableEntity)
	is.Equal(refused.json["errors"].([]any)[0].(map[string]any)["parameter"], "before")
	is.Equal(c.do("GET", "/event?limit=0&before="+before, "").Code, http.StatusBadRequest) // for its limit
}

// TestReopenAndTrialOverHTTP: a support tool takes back a refund and allows another trial. The
// license of a purchase that is reopened is checked outside of the Update.
func TestReopenAndTrialOverHTTP(t *testing.T) {
	is := is.New(t)
	var h *licensing.Handler
	checked := 0
	c := newCaller(t, licensing.Options{BeforeCreate: func(ctx context.Context, p *api.CreateLicenseParams) error {
		if p.ProductID == "other" {
			return nil
		}
		checked++
		ctx, cancel := context.WithTimeout(ctx, time.Second) // inside an Update, the other Update would not begin
		defer cancel()
		_, err := h.Service().Create(ctx, api.CreateLicenseParams{Name: "other", ProductID: "other", CustomerID: "other"})
		return err
	}})
	h = c.Handler
	c.do("PUT", "/purchase/shop:1", `{"at":"2026-06-01T00:00:01Z","customer_id":"cus_1","plan_id":"team","state":"active"}`)
	c.do("PUT", "/purchase/shop:1", `{"at":"2026-06-01T00:00:02Z","state":"refunded"}`)
	c.do("PUT", "/plan/team", `{"product_id":"atlas","duration":"P7D"}`) // for which the purchase waited
	reopened := c.do("POST", "/purchase/shop:1/reopen", `{"reason":"by mistake"}`, "Idempotency-Key", "k")
	is.Equal(reopened.json["result"], "created")
	is.True(checked > 0)
	is.Equal(c.do("POST", "/purchase/shop:1/reopen", `{"reason":"by mistake"}`, "Idempotency-Key", "k").json, reopened.json)
	again := c.do("POST", "/purchase/shop:1/reopen", "")
	is.Equal(again.Code, http.StatusUnprocessableEntity)
	is.Equal(again.json["errors"].([]any)[0].(map[string]any)["parameter"], "reference")
	is.Equal(c.limited("globe").do("POST", "/purchase/shop:1/reopen", "").Code, http.StatusNotFound)

	csv := c.do("GET", "/export/license.csv?customer_id=cus_1", "")
	is.Equal(csv.Header().Get("Content-Type"), "text/csv; charset=utf-8")
	is.Equal(strings.Count(csv.Body.String(), "\n"), 2)
	require.Contains(t, csv.Body.String(), reopened.json["license"].(map[string]any)["key"].(string))
	csv = c.limited("globe").do("GET", "/export/license.csv", "")
	is.Equal(strings.Count(csv.Body.String(), "\n"), 1)

	trial := func(customer string) answer {
		return c.do("POST", "/license/trial", `{"plan_id":"team","customer_id":"`+customer+`","subjects":["device:1"]}`)
	}
	id := trial("cus_2").json["license"].(map[string]any)["id"].(string)
	is.Equal(trial("cus_3").Code, http.StatusConflict)
	is.Equal(c.limited("globe").do("POST", "/license/"+id+"/trial", "").Code, http.StatusNotFound)
	is.Equal(c.do("POST", "/license/"+id+"/trial", "").json, map[string]any{"object": "trial", "license_id": id, "allowed": true})
	is.Equal(trial("cus_3").Code, http.StatusCreated)
}
