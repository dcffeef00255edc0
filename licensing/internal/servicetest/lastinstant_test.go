package servicetest

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
)

// TestALicenseMayEndInTheYear9999 with a grace period that passes it, as a shop that means
// "never" says it: each way to get there is accepted or refused, and then everything works.
func TestALicenseMayEndInTheYear9999(t *testing.T) {
	const never, license = `"9999-12-31T23:59:59.999Z"`, `{"name":"n","product_id":"atlas","customer_id":"c",`
	now := func(c *caller) string { return c.Clock.Now().UTC().Format(time.RFC3339) }
	buy := func(reference, more string) func(c *caller, id string) answer {
		return func(c *caller, id string) answer {
			return c.do("PUT", "/fulfillment/"+reference, strings.NewReplacer("NOW", now(c), "ID", id).Replace(`{"at":"NOW","customer_id":"c","state":"active",`+more+`}`))
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
					is.Equal(c.do("GET", "/fulfillment?license_id="+l.(map[string]any)["id"].(string), "").Code, http.StatusOK)
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
