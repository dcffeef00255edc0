package servicetest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
)

const basicPlan = `{"product_id":"atlas","duration":"P1M","max_activations":2}`

func TestPlansOverHTTP(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	a := c.do("PUT", "/plan/price_1", basicPlan)
	is.Equal([]any{a.Code, a.Header().Get("Location"), a.Header().Get("ETag"), a.json["duration"]}, []any{http.StatusCreated, "../plan/price_1", `"1"`, "P1M"})
	is.Equal(c.do("PUT", "/plan/price_1", basicPlan).Code, http.StatusOK) // unchanged
	is.Equal(c.do("GET", "/plan/price_1", "", "If-None-Match", `"1"`).Code, http.StatusNotModified)
	a = c.do("PUT", "/plan/price_1", `{"product_id":"atlas"}`, "If-Match", `"1"`)
	is.Equal([]any{a.Code, a.Header().Get("ETag"), a.json["max_activations"]}, []any{http.StatusOK, `"2"`, nil})
	is.Equal(c.do("PUT", "/plan/price_1", basicPlan, "If-Match", `"1"`).Code, http.StatusPreconditionFailed)
	is.Equal(c.do("PUT", "/plan/price_2", basicPlan, "If-Match", `*`).Code, http.StatusBadRequest) // it would create
	is.Equal(c.do("PUT", "/plan/price_2", basicPlan, "If-Match", `"1"`).Code, http.StatusNotFound)
	is.Equal(c.do("PUT", "/plan/-", basicPlan).Code, http.StatusUnprocessableEntity)
	is.Equal(c.do("GET", "/plan?product_id=atlas", "").json["data"].([]any)[0].(map[string]any)["id"], "price_1")

	a = c.do("POST", "/license", `{"name":"n","customer_id":"c","plan_id":"price_1","max_activations":null,"grace_seconds":5}`)
	is.Equal([]any{a.Code, a.json["product_id"], a.json["plan_id"], a.json["expires_at"]}, []any{http.StatusCreated, "atlas", "price_1", nil})
	id := a.json["id"].(string)
	is.Equal(c.do("PUT", "/plan/price_1", basicPlan).Code, http.StatusOK)
	a = c.do("POST", "/license", `{"name":"n","customer_id":"c","plan_id":"price_1","max_activations":null}`)
	is.Equal([]any{a.json["max_activations"], a.json["expires_at"] == nil}, []any{nil, false}) // null is not left out
	a = c.do("POST", "/license/"+id+"/plan", `{"plan_id":"price_1"}`)
	is.Equal([]any{a.Code, a.json["max_activations"], a.json["expires_at"]}, []any{http.StatusOK, 2.0, nil})
	is.Equal(c.do("POST", "/license", `{"name":"n","customer_id":"c","plan_id":"nothing"}`).Code, http.StatusUnprocessableEntity)
	a = c.do("POST", "/license", `{"name":7,"plan_id":"price_1"}`) // all faults, and none about product_id
	is.Equal(len(a.json["errors"].([]any)), 2)
	is.Equal(c.do("DELETE", "/plan/price_1", "").json["deleted"], true)
	is.Equal(c.do("GET", "/plan/price_1", "").Code, http.StatusNotFound)
}

// A fault of the path is not one of the body, and both are reported together.
func TestAFaultOfThePathNamesItsParameter(t *testing.T) {
	c := newCaller(t, licensing.Options{})
	for _, test := range []struct{ path, body, want string }{
		{"/license", `{"id":"","name":"n"}`, "#/id"}, // the path has no such parameter
		{"/plan/-", basicPlan, "planID"},
		{"/plan/-", `{"product_id":7}`, "#/product_id planID"},
		{"/purchase/-", `{"at":"2026-01-01T00:00:00Z"}`, "reference"},
		{"/purchase/-", `{"at":7}`, "#/at reference"},
		{"/plan/p", `{"product_id":"atlas","id":"p"}`, "#/id"},
		{"/customer/%20x/suspend", `{"reason":" y"}`, "#/reason customerID"},
		{"/customer/lic_x/suspend", `{}`, "customerID"},
	} {
		t.Run(test.path+test.body, func(t *testing.T) {
			is := is.New(t)
			method := "PUT"
			switch {
			case test.path == "/license":
				method = "PATCH"
			case strings.HasPrefix(test.path, "/customer"):
				method = "POST"
			}
			a := c.in(t).do(method, test.path, test.body)
			is.Equal(a.Code, http.StatusUnprocessableEntity)
			var places []string
			for _, e := range a.json["errors"].([]any) {
				at, _ := e.(map[string]any)["pointer"].(string)
				name, _ := e.(map[string]any)["parameter"].(string)
				places = append(places, at+name)
			}
			is.Equal(strings.Join(places, " "), test.want)
		})
	}
}

func TestPurchaseOverHTTP(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	c.do("PUT", "/plan/price_1", basicPlan)
	at := c.Clock.Now().UTC().Format("2006-01-02T15:04:05Z")
	body := `{"at":"` + at + `","customer_id":"cus_1","plan_id":"price_1","state":"active"}`
	a := c.do("PUT", "/purchase/shop:sub@1", body)
	license := a.json["license"].(map[string]any)
	is.Equal([]any{a.Code, a.json["object"], a.json["reference"], a.json["result"], a.Header().Get("Location")},
		[]any{http.StatusCreated, "purchase", "shop:sub@1", "created", "../license/" + license["id"].(string)})
	is.Equal([]any{license["reference"], license["plan_id"], license["max_activations"]}, []any{"shop:sub@1", "price_1", 2.0})
	is.True(license["key"] != nil)
	a = c.do("PUT", "/purchase/shop:sub@1", body) // without a key
	is.Equal([]any{a.Code, a.json["result"]}, []any{http.StatusOK, "unchanged"})
	a = c.do("PUT", "/purchase/shop:sub@1", `{"at":"`+at+`","until":null}`)
	is.Equal([]any{a.json["result"], a.json["license"].(map[string]any)["expires_at"]}, []any{"changed", nil})
	a = c.do("GET", "/purchase/shop:sub@1", "")
	is.Equal([]any{a.Code, a.json["fields"].(map[string]any)["until"]}, []any{http.StatusOK, map[string]any{"value": nil, "at": at}})
	before := c.Clock.Now().UTC().Add(-time.Minute).Format("2006-01-02T15:04:05Z")
	for _, event := range [][2]string{{at, "false"}, {before, "true"}, {at, "true"}, {at, "false"}} {
		a = c.do("PUT", "/purchase/shop:sub@1", `{"at":"`+event[0]+`","renews":`+event[1]+`}`)
		is.Equal([]any{a.Code, a.json["result"]}, []any{http.StatusOK, "unchanged"}) // no term follows from it
	}
	is.Equal(a.json["fields"].(map[string]any)["renews"], map[string]any{"value": true, "at": at}) // the later one, and the better one for the customer
	is.Equal(c.do("GET", "/purchase/shop:2", "").Code, http.StatusNotFound)
	is.Equal(c.do("PUT", "/purchase/shop:2", `{"at":"`+at+`"}`).json["waiting"], "customer_id")
	is.Equal(c.Handler.Health(t.Context()).WaitingPurchases, 0) // that one is not paid
	c.do("PUT", "/purchase/shop:4", `{"at":"`+at+`","customer_id":"cus_1","plan_id":"nothing","state":"active"}`)
	is.Equal(c.Handler.Health(t.Context()).WaitingPurchases, 1)
	a = c.do("PUT", "/purchase/shop:sub@1", `{"at":"`+at+`","customer_id":"cus_2"}`)
	is.Equal([]any{a.Code, a.json["code"]}, []any{http.StatusConflict, "reference_taken"})
	for member, body := range map[string]string{
		"at":        `{}`,
		"state":     `{"at":"` + at + `","state":"past_due"}`,
		"quantity":  `{"at":"` + at + `","quantity":0}`,
		"license":   `{"at":"` + at + `","license":{}}`,
		"until":     `{"at":"` + at + `","until":""}`,
		"plan_id":   `{"at":"` + at + `","plan_id":""}`,
		"reference": `{"at":"` + at + `","reference":"x"}`,
	} {
		a := c.do("PUT", "/purchase/shop:3", body)
		is.Equal(a.Code, http.StatusUnprocessableEntity)
		require.Contains(t, a.Body.String(), `"pointer":"#/`+member+`"`)
	}
	is.Equal(c.do("PUT", "/purchase/trial:x", `{"at":"`+at+`"}`).Code, http.StatusUnprocessableEntity)
	is.Equal(c.do("GET", "/license/"+license["id"].(string), "").json["expires_at"], nil)
	a = c.do("PUT", "/purchase/shop:5", `{"at":"`+at+`","customer_id":"cus_1","plan_id":"price_1","state":"active","license_id":"lic_`+noID+`"}`)
	is.Equal([]any{a.Code, a.json["result"]}, []any{http.StatusOK, "deleted"})
	require.NotContains(t, a.Body.String(), "created_at", "updated_at") // nothing was stored
}

func TestTrialOverHTTP(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	c.do("PUT", "/plan/trial", `{"product_id":"atlas","duration":"P14D"}`)
	a := c.do("POST", "/license/trial", `{"plan_id":"trial","customer_id":"cus_1","subjects":["device:1"]}`)
	is.Equal([]any{a.Code, a.json["started"]}, []any{http.StatusCreated, true})
	id := a.json["license"].(map[string]any)["id"].(string)
	is.Equal(a.Header().Get("Location"), "../license/"+id)
	a = c.do("POST", "/license/trial", `{"plan_id":"trial","customer_id":"cus_1"}`)
	is.Equal([]any{a.Code, a.json["started"], a.json["license"].(map[string]any)["id"]}, []any{http.StatusOK, false, id})
	a = c.do("POST", "/license/trial", `{"plan_id":"trial","customer_id":"cus_2","subjects":["device:1"]}`)
	is.Equal([]any{a.Code, a.json["code"]}, []any{http.StatusConflict, "trial_taken"})
	require.NotContains(t, a.Body.String(), id)
	is.Equal(c.do("POST", "/license/trial", `{"plan_id":"trial","customer_id":"c"}`, "Authorization", "").Code, http.StatusUnauthorized)
}

// TestRollOutOverHTTP: the number first, then requests until there is no next_cursor.
func TestRollOutOverHTTP(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	is.Equal(c.do("PUT", "/plan/price_1", basicPlan).Code, http.StatusCreated)
	id := ""
	for i := range 60 {
		a := c.do("PUT", fmt.Sprint("/purchase/shop:", i), `{"at":"2026-01-01T00:00:00Z","customer_id":"c","plan_id":"price_1","state":"active"}`)
		is.Equal(a.Code, http.StatusCreated)
		id = a.json["license_id"].(string)
	}
	is.Equal(c.do("POST", "/license", `{"name":"n","customer_id":"c","plan_id":"price_1"}`).Code, http.StatusCreated)
	is.Equal(c.do("PUT", "/plan/price_1", `{"product_id":"atlas","duration":"P1M","max_activations":3}`).Code, http.StatusOK)
	a := c.do("GET", "/plan/price_1/use", "")
	is.Equal([]any{a.Code, a.json["object"], a.json["plan_id"], a.json["purchases"], a.json["licenses"], a.json["at_least"]}, []any{http.StatusOK, "plan_use", "price_1", 60.0, 1.0, false})
	a = c.do("POST", "/plan/price_1/rollout", "")
	is.Equal([]any{a.Code, a.json["object"], a.json["plan_id"], a.json["changed"]}, []any{http.StatusOK, "plan_rollout", "price_1", 50.0})
	a = c.do("POST", "/plan/price_1/rollout", `{"reason":"More","cursor":"`+a.json["next_cursor"].(string)+`"}`)
	is.Equal([]any{a.Code, a.json["changed"], a.json["next_cursor"]}, []any{http.StatusOK, 10.0, nil})
	is.Equal(c.do("GET", "/license/"+id, "").json["max_activations"], 3.0)
	is.Equal(c.do("POST", "/plan/price_1/rollout", `{"cursor":"x"}`).Code, http.StatusUnprocessableEntity)
	for _, id := range []string{"nothing", "-"} {
		is.Equal(c.do("GET", "/plan/"+id+"/use", "").Code, http.StatusNotFound)
		is.Equal(c.do("POST", "/plan/"+id+"/rollout", "").Code, http.StatusNotFound)
	}
}
