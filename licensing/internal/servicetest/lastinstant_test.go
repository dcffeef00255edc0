package servicetest

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/sales"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestALicenseMayEndInTheYear9999 with a grace period that passes it, as a shop that means
// "never" says it: each way to get there is accepted or refused, and then everything works.
func TestALicenseMayEndInTheYear9999(t *testing.T) {
	const never, license = `"9999-12-31T23:59:59.999Z"`, `{"name":"n","product_id":"atlas","customer_id":"c",`
	now := func(c *caller) string { return c.Clock.Now().UTC().Format(time.RFC3339) }
	buy := func(reference, more string) func(c *caller, id string) answer {
		return func(c *caller, id string) answer {
			return c.do("PUT", "/purchase/"+reference, strings.NewReplacer("NOW", now(c), "ID", id).Replace(`{"at":"NOW","customer_id":"c","state":"active",`+more+`}`))
		}
	}
	post := func(path, body string) func(c *caller, id string) answer {
		return func(c *caller, id string) answer { return c.do("POST", strings.Replace(path, "ID", id, 1), body) }
	}
	for name, test := range map[string]struct {
		do   func(c *caller, id string) answer
		code int
	}{
		"created":               {post("/license", license+`"expires_at":`+never+`,"grace_seconds":1}`), http.StatusCreated},
		"longest grace":         {post("/license", license+`"expires_at":"9950-01-01T00:00:00Z","grace_seconds":3155760000}`), http.StatusCreated},
		"updates":               {post("/license", license+`"updates_until":`+never+`}`), http.StatusCreated},
		"plan from 9999":        {post("/license", `{"name":"n","customer_id":"c","plan_id":"year","starts_at":"9999-06-01T00:00:00Z"}`), http.StatusUnprocessableEntity},
		"renewed":               {post("/license/ID/renew", `{"expires_at":`+never+`}`), http.StatusOK},
		"renewed beyond":        {post("/license/ID/renew", `{"duration":"P99999999Y"}`), http.StatusUnprocessableEntity},
		"patched":               {func(c *caller, id string) answer { return c.do("PATCH", "/license/"+id, `{"expires_at":`+never+`}`) }, http.StatusOK},
		"bought":                {buy("a", `"plan_id":"year","until":`+never), http.StatusCreated},
		"bought by a reseller":  {buy("a", `"plan_id":"year","license_id":"ID","until":`+never), http.StatusOK},
		"added":                 {buy("a", `"plan_id":"more","license_id":"ID","until":`+never), http.StatusOK},
		"longest plan":          {buy("a", `"plan_id":"longest"`), http.StatusCreated},
		"updates of a purchase": {buy("a", `"plan_id":"updates","until":`+never), http.StatusCreated},
		"imported": {func(c *caller, _ string) answer {
			return c.do("POST", "/import/license", license+`"key":"ABC-1","expires_at":`+never+`,"grace_seconds":86400}`, "Content-Type", "application/x-ndjson")
		}, http.StatusOK},
		"longest plans in a row": {func(c *caller, id string) answer {
			for _, r := range "abcdefghi" {
				buy(string(r), `"plan_id":"longest","license_id":"ID"`)(c, id)
			}
			return buy("j", `"plan_id":"longest","license_id":"ID"`)(c, id)
		}, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				c := newCaller(t, licensing.Options{})
				for id, plan := range map[string]string{
					"year":    `{"product_id":"atlas","duration":"P1Y","grace_seconds":86400}`,
					"longest": `{"product_id":"atlas","duration":"P6900Y","grace_seconds":3155760000}`,
					"updates": `{"product_id":"atlas","duration":"P1Y","until_ends":"updates","grace_seconds":86400}`,
					"more":    `{"product_id":"atlas","kind":"addon","max_activations":3,"duration":"P1Y","grace_seconds":86400}`,
				} {
					is.Equal(c.do("PUT", "/plan/"+id, plan).Code, http.StatusCreated)
				}
				a := c.do("POST", "/license", license+`"expires_at":"`+c.Clock.Now().AddDate(1, 0, 0).UTC().Format(time.RFC3339)+`","grace_seconds":86400}`)
				is.Equal(a.Code, http.StatusCreated)
				stop := begin(t, c.Handler)
				defer stop()
				a = test.do(c, a.json["id"].(string))
				if a.Code != test.code {
					t.Errorf("%d, want %d: %s", a.Code, test.code, a.Body)
				}
				for range 3 {
					c.Clock.Advance(400 * 24 * time.Hour)
					time.Sleep(2 * time.Minute)
				}
				c.token = c.Kit.Token()
				is.Equal(c.Handler.Health(t.Context()).Problems, []licensing.HealthProblem{})
				for _, l := range c.do("GET", "/license?limit=200", "").json["data"].([]any) {
					key := l.(map[string]any)["key"].(string)
					is.Equal(c.do("GET", "/purchase?license_id="+l.(map[string]any)["id"].(string), "").Code, http.StatusOK)
					is.Equal(c.do("POST", "/license/activate", `{"key":"`+key+`","product_id":"atlas","fingerprint":"f"}`).Code/100 == 5, false)
					is.Equal(c.do("POST", "/license/validate", `{"key":"`+key+`","product_id":"atlas","fingerprint":"f","file":"P1D","nonce":"MDEyMzQ1Njc4OWFiY2RlZg"}`).Code, http.StatusOK)
				}
				events := c.do("GET", "/event?limit=200", "")
				is.Equal(events.Code, http.StatusOK)
				require.NotContains(t, events.Body.String(), `"+`, `"1000`)
				is.Equal(c.do("GET", "/export/license", "").Code, http.StatusOK)
			})
		})
	}
}

// product returns every combination of values of the members of a JSON object, without the
// members whose value is empty.
func product(members [][]string) (objects []string) {
	objects = []string{""}
	for _, m := range members {
		var next []string
		for _, o := range objects {
			for _, value := range m[1:] {
				if next = append(next, o); value != "" {
					next[len(next)-1] += `,"` + m[0] + `":` + value
				}
			}
		}
		objects = next
	}
	return objects
}

// TestNoTimeAndNoDurationIsTooLong walks all members that are instants or durations, each
// absent and at its limit with each other one, through every call that takes them.
func TestNoTimeAndNoDurationIsTooLong(t *testing.T) {
	const last = "9999-12-31T23:59:59.999Z"
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		p := newPostOffice()
		opts := postedBy(p)
		var heard atomic.Int64
		opts.PollInterval, opts.MasterKey = 10*time.Second, []byte(strings.Repeat("k", 32))
		opts.Limits = licensing.LimitOptions{ClientRate: -1, AddressRate: -1, KeyRate: -1}
		opts.Subscribers = []licensing.Subscriber{{Name: "all", FromStart: true, Handle: func(context.Context, api.Event) error { heard.Add(1); return nil }}}
		opts.Dashboard.Operator = func(http.ResponseWriter, *http.Request) (operator.Operator, bool) {
			return operator.Operator{ID: "op", Email: "ada@example.com", Role: operator.RoleAdmin}, true
		}
		c := newCaller(t, opts)
		hook(t, c.Handler, "shop.example")
		defer begin(t, c.Handler)()

		statuses := map[string]int{}
		var bodies strings.Builder
		do := func(name, method, path, body string, header ...string) answer {
			a := c.do(method, path, body, header...)
			statuses[fmt.Sprint(name, " ", a.Code)]++
			if a.Code >= 500 {
				t.Errorf("%s %s %s: %d %s", method, path, body, a.Code, a.Body)
			}
			bodies.WriteString(a.Body.String())
			return a
		}
		id := func(a answer) string { id, _ := a.json["id"].(string); return id }
		instants := func(name string, more ...string) []string {
			return append([]string{name, "", `"` + last + `"`, `"9990-06-01T00:00:00Z"`}, more...)
		}
		const long, offline = "3155760000", "315576000"
		terms := [][]string{
			instants("expires_at"), instants("starts_at"), instants("updates_until"),
			{"grace_seconds", "", long}, {"lease_seconds", "", long}, {"offline_seconds", "", offline},
		}
		license := func(n int) string { return fmt.Sprintf(`"name":"n","product_id":"atlas","customer_id":"c%d"`, n) }
		var rows strings.Builder
		for i, object := range product(terms) {
			do("create", "POST", "/license", "{"+license(i)+object+"}")
			fmt.Fprintf(&rows, `{"key":"OLD-%d",%s%s}`+"\n", i, license(i), object)
			if object != "" {
				do("patch", "PATCH", "/license/"+id(do("create", "POST", "/license", "{"+license(i)+"}")), "{"+object[1:]+"}")
			}
		}
		do("import", "POST", "/import/license", rows.String(), "Content-Type", "application/x-ndjson")
		for i, object := range product([][]string{instants("expires_at"), instants("updates_until"), {"duration", "", `"P9999Y"`, `"P7000Y"`, `"P100Y"`}, {"extend", "", `"updates"`}}) {
			for _, end := range []string{"", `,"expires_at":"2001-01-01T00:00:00Z"`, `,"expires_at":"9950-01-01T00:00:00Z","grace_seconds":` + long, `,"updates_until":"9950-01-01T00:00:00Z"`} {
				if object != "" {
					do("renew", "POST", "/license/"+id(do("create", "POST", "/license", "{"+license(i)+end+"}"))+"/renew", "{"+object[1:]+"}")
				}
			}
		}
		now := c.Clock.Now().UTC().Format(time.RFC3339)
		base := do("create", "POST", "/license", `{`+license(0)+`,"expires_at":"9990-06-01T00:00:00Z","grace_seconds":`+long+`}`)
		for i, object := range product([][]string{{"kind", "", `"addon"`}, {"duration", "", `"P1Y"`, `"P6900Y"`}, {"until_ends", "", `"updates"`}, {"starts", "", `"first_activation"`}, {"grace_seconds", "", long}, {"lease_seconds", "", long}, {"offline_seconds", "", offline}}) {
			plan := fmt.Sprint("plan", i)
			if do("plan", "PUT", "/plan/"+plan, `{"product_id":"atlas","max_activations":2`+object+`}`).Code != http.StatusCreated {
				continue
			}
			do("create", "POST", "/license", `{"name":"n","customer_id":"c","plan_id":"`+plan+`"}`)
			do("create", "POST", "/license", `{"name":"n","customer_id":"c","plan_id":"`+plan+`","starts_at":"9990-06-01T00:00:00Z"}`)
			do("trial", "POST", "/license/trial", fmt.Sprintf(`{"plan_id":%q,"customer_id":"t%d","name":"n","subjects":["s%d"]}`, plan, i, i))
			for n, until := range product([][]string{instants("until")}) {
				for on, license := range map[string]string{"new": "", "old": `,"license_id":"` + id(base) + `"`} {
					do("purchase", "PUT", fmt.Sprintf("/purchase/%s-%d-%s", plan, n, on), `{"at":"`+now+`","customer_id":"c0","state":"active","plan_id":"`+plan+`"`+license+until+`}`)
				}
			}
		}
		for _, at := range []string{last, "9990-06-01T00:00:00Z"} {
			do("purchase", "PUT", "/purchase/late", `{"at":"`+at+`","customer_id":"c","state":"active","plan_id":"plan0"}`)
			do("usage", "POST", "/usage", `{"licenses":[{"license_id":"`+id(base)+`","usage":[{"meter":"m","id":"a","total":1,"at":"`+at+`"}]}]}`)
			do("meter", "PUT", "/license/"+id(base)+"/meter/m", `{"used":1,"from":"`+at+`"}`)
			do("import", "POST", "/import/license", `{"key":"LATE",`+license(0)+`,"created_at":"`+at+`","exported_at":"`+at+`"}`, "Content-Type", "application/x-ndjson")
			for _, page := range []string{"licenses?expires=9999-12-31..9999-12-31", "audit?from=9999-12-31&to=9999-12-31", "audit?from=2026-01-01&to=9999-12-31"} {
				do("page", "GET", "/dashboard/"+page, "")
			}
			for _, filter := range []string{"expires_after=" + at, "expires_before=" + at} {
				do("list", "GET", "/license?limit=2&"+filter, "")
				do("export", "GET", "/export/license?"+filter, "")
			}
			for _, l := range do("list", "GET", "/license?limit=200", "").json["data"].([]any) {
				path := "/license/" + l.(map[string]any)["id"].(string) + "/verdict"
				do("verdict", "GET", path, "")
				do("verdict", "GET", path+"?at="+at+"&built_at="+at, "")
			}
		}
		for range 3 {
			time.Sleep(20 * time.Minute)
			c.Clock.Advance(400 * 24 * time.Hour)
		}
		time.Sleep(20 * time.Minute)
		c.token = c.Kit.Token()
		licenses := 0
		for cursor := "?"; cursor != ""; {
			a := do("list", "GET", "/license"+cursor+"&limit=200", "")
			for _, l := range a.json["data"].([]any) {
				l := l.(map[string]any)
				licenses++
				body := fmt.Sprintf(`{"key":%q,"product_id":"atlas","fingerprint":"f","built_at":%q,"file":"P1D","nonce":"MDEyMzQ1Njc4OWFiY2RlZg"}`, l["key"], last)
				do("activate", "POST", "/license/activate", body)
				do("validate", "POST", "/license/validate", body)
			}
			if cursor, _ = a.json["next_cursor"].(string); cursor != "" {
				cursor = "?cursor=" + url.QueryEscape(cursor)
			}
		}
		time.Sleep(20 * time.Minute)
		events := 0
		for cursor := "?"; cursor != ""; {
			a := do("events", "GET", "/event"+cursor+"&limit=200", "")
			events += len(a.json["data"].([]any))
			if cursor = ""; a.json["has_more"] == true {
				cursor = "?after=" + url.QueryEscape(a.json["next_cursor"].(string))
			}
		}
		t.Log(licenses, events, statuses)
		for _, made := range []string{"create 201", "patch 200", "renew 200", "import 200", "plan 201", "trial 201", "purchase 201", "purchase 200", "activate 200", "validate 200", "verdict 200", "page 200"} {
			require.AtLeast(t, statuses[made], 1)
		}
		// Neither what comes nor a notice names the last instant, which is never.
		require.NotContains(t, bodies.String(), `"next_change_at":"`+last, `"at":"`+last, `"grace_ends_at":"`+last, `"+1`, `"10000-`)
		is.Equal(c.Handler.Health(t.Context()).Problems, []licensing.HealthProblem{})
		is.Equal(int(heard.Load()), events)
		is.Equal(len(p.at("shop.example")), events-2) // all but that of the client and its own
		today := c.Clock.Now().UTC().Truncate(24 * time.Hour)
		period := sales.Period{From: today.AddDate(0, 0, -7), To: today.AddDate(0, 0, 1)}
		rep, err := inner.Of(c.Handler.Service()).Sales().Report(t.Context(), period, period)
		is.NoErr(err)
		is.True(rep.Whole && rep.CountedTo == nil)
	})
}

// TestAStoreWithAnEndInTheYear9999ServesAgain: the event of such a license has stopped each
// process that counted it. The first one that can counts it, and all after it.
func TestAStoreWithAnEndInTheYear9999ServesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st, opts := memory.New(), licensing.Options{Logger: discard}
		before := licensing.NewHandler(st, opts) // which never counted it
		is.Equal(ask(t, before, "POST", "/license", tokenFor(t, before), `{"name":"n","product_id":"p","customer_id":"c","expires_at":"9999-12-31T23:59:59Z","grace_seconds":86400}`).Code, http.StatusCreated)
		h := licensing.NewHandler(st, opts)
		defer begin(t, h)()
		time.Sleep(time.Minute)
		happen(t, h, 2)
		time.Sleep(time.Minute)
		is.Equal(h.Health(t.Context()).Problems, []licensing.HealthProblem{})
		today := time.Now().UTC().Truncate(24 * time.Hour)
		period := sales.Period{From: today, To: today.AddDate(0, 0, 1)}
		rep, err := inner.Of(h.Service()).Sales().Report(t.Context(), period, period)
		is.NoErr(err)
		is.Equal([]int64{rep.Active, rep.Total.ByHand, rep.Uncounted}, []int64{3, 3, 0})
		is.True(rep.Whole && rep.CountedTo == nil)
	})
}
