package servicetest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
)

// TestSeveralPurchasesOverHTTP: what a client of the API can do with bases and add-ons of one
// license, from the plans to the move to another service.
func TestSeveralPurchasesOverHTTP(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	at := func(c *caller) string { return c.Clock.Now().UTC().Format(time.RFC3339) }
	tell := func(c *caller, reference, members string) answer {
		c.Clock.Advance(time.Minute)
		a := c.do("PUT", "/purchase/"+reference, `{"at":"`+at(c)+`",`+members+`}`)
		if a.Code > http.StatusCreated {
			t.Fatalf("%s %s: %s", reference, members, a.Body)
		}
		return a
	}
	plans := func(c *caller) {
		for id, plan := range map[string]string{
			"year":   `"duration":"P1Y","max_activations":5`,
			"seats":  `"kind":"addon","duration":"P30D","max_activations":2,"entitlements":{"projects":3}`,
			"sso":    `"kind":"addon","entitlements":{"sso":true}`,
			"leased": `"kind":"addon","lease_seconds":60`,
		} {
			a := c.do("PUT", "/plan/"+id, `{"product_id":"atlas",`+plan+`}`)
			is.Equal(a.Code == http.StatusCreated, id != "leased")
		}
	}
	plans(c)
	refused := c.do("POST", "/license", `{"name":"n","customer_id":"cus_1","plan_id":"seats"}`)
	is.Equal([]any{refused.Code, refused.json["errors"].([]any)[0].(map[string]any)["pointer"]}, []any{http.StatusUnprocessableEntity, "#/plan_id"})
	is.Equal(c.do("POST", "/license/trial", `{"customer_id":"cus_1","plan_id":"seats"}`).Code, http.StatusUnprocessableEntity)

	first := tell(c, "shop:1", `"customer_id":"cus_1","plan_id":"year","state":"active"`).json["license"].(map[string]any)
	id := first["id"].(string)
	get := func(c *caller) map[string]any {
		a := c.do("GET", "/license/"+id, "")
		is.Equal(a.Code, http.StatusOK)
		return a.json
	}
	is.Equal(c.do("POST", "/license/"+id+"/plan", `{"plan_id":"sso"}`).Code, http.StatusUnprocessableEntity)

	// An add-on waits until an event names its license. One that was never granted may be
	// given another license by a later event, but not by an earlier one.
	waits := tell(c, "shop:2", `"customer_id":"cus_1","plan_id":"seats","state":"active"`)
	is.Equal([]any{waits.json["result"], waits.json["waiting"], waits.json["license"]}, []any{"waiting", "license_id", nil})
	other := tell(c, "shop:9", `"customer_id":"cus_1","plan_id":"year","state":"active"`).json["license_id"].(string)
	is.Equal(c.Handler.Health(t.Context()).Waiting, []licensing.WaitingPurchase{{Reference: "shop:2", Waiting: "license_id"}})
	early := at(c)
	tell(c, "shop:3", `"customer_id":"cus_1","license_id":"`+other+`"`)
	tell(c, "shop:3", `"license_id":"`+id+`"`)
	is.Equal(c.do("PUT", "/purchase/shop:3", `{"at":"`+early+`","license_id":"`+other+`"}`).json["license_id"], id)
	sso := tell(c, "shop:3", `"plan_id":"sso","state":"active"`)
	is.Equal([]any{sso.json["result"], sso.json["license_id"], sso.json["counts"], sso.json["governs"]}, []any{"changed", id, true, false})
	is.Equal(c.do("PUT", "/purchase/shop:3", `{"at":"`+at(c)+`","license_id":"`+other+`"}`).json["code"], "reference_taken") // it was granted

	extra := tell(c, "shop:2", `"license_id":"`+id+`","quantity":2`)
	is.Equal([]any{extra.json["result"], extra.json["waiting"]}, []any{"changed", nil})
	l := get(c)
	is.Equal([]any{l["max_activations"], l["entitlements"]}, []any{9.0, map[string]any{"projects": 6.0, "sso": true}})
	is.Equal([]any{l["upcoming"].([]any)[0].(map[string]any)["max_activations"], l["reference"]}, []any{5.0, "shop:1"})

	// A renewal that is bought early begins when the year ends, until it is refunded.
	renewal := tell(c, "shop:4", `"customer_id":"cus_1","plan_id":"year","state":"active","license_id":"`+id+`"`)
	is.Equal([]any{renewal.json["counts"], renewal.json["starts_at"]}, []any{false, l["expires_at"]})
	later := get(c)["expires_at"]
	is.True(later.(string) > l["expires_at"].(string))
	back := tell(c, "shop:4", `"state":"refunded"`)
	is.Equal([]any{back.json["result"], back.json["refunded_at"] != nil, get(c)["expires_at"]}, []any{"changed", true, l["expires_at"]})
	is.Equal(tell(c, "shop:4", `"state":"active"`).json["result"], "unchanged") // refunded is final

	// A pause of the only base suspends the license, and its operator's hold stays.
	tell(c, "shop:1", `"state":"paused","reason":"declined"`)
	is.Equal(c.do("POST", "/license/"+id+"/suspend", `{"reason":"fraud"}`).Code, http.StatusOK)
	tell(c, "shop:1", `"state":"active"`)
	is.Equal([]any{get(c)["status"], get(c)["status_reason"]}, []any{"suspended", "fraud"})
	is.Equal(c.do("PATCH", "/license/"+id, `{"max_activations":20}`).Code, http.StatusOK)

	// The rows of an export bring all of that to another service.
	to := newCaller(t, licensing.Options{})
	plans(to)
	to.Clock.Advance(c.Clock.Now().Sub(to.Clock.Now()))
	rows := c.do("GET", "/export/license", "").Body.String()
	imported := to.do("POST", "/import/license", rows, "Content-Type", ndjson).Body.String()
	is.Equal(strings.Count(imported, `"result":"created"`), 2)
	same := func() {
		t.Helper()
		a, b := get(c), get(to)
		for _, l := range []map[string]any{a, b} {
			delete(l, "revision")
			delete(l, "updated_at")
			delete(l, "generation")
		}
		is.Equal(b, a)
		for _, reference := range []string{"shop:1", "shop:2", "shop:3", "shop:4"} {
			a, b := c.do("GET", "/purchase/"+reference, "").json, to.do("GET", "/purchase/"+reference, "").json
			for _, f := range []map[string]any{a, b} {
				delete(f, "updated_at")
				delete(f, "license")
			}
			is.Equal(b, a)
		}
	}
	same()
	for n, event := range []string{`"quantity":3`, `"state":"ended"`, `"plan_id":"sso"`} {
		for _, s := range []*caller{c, to} {
			tell(s, fmt.Sprint("shop:", 2), event)
			tell(s, "shop:1", `"quantity":`+fmt.Sprint(n+1))
			is.Equal(s.do("POST", "/license/"+id+"/reinstate", `{}`).Code == http.StatusOK, n == 0)
			s.Clock.Advance(20 * 24 * time.Hour)
			s.token = s.Token()
		}
		same()
	}
}
