package servicetest

import (
	"net/http"
	"testing"

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
