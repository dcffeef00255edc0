package servicetest

import (
	"net/http"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing"
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
	is.Equal(refused.Code, http.StatusBadRequest)
	is.Equal(refused.json["errors"].([]any)[0].(map[string]any)["parameter"], "before")
}
