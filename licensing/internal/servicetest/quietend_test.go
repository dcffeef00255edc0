package servicetest

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/sales"
)

// TestAnEndThatChangesNothingIsCounted: a purchase that ends while a greater one goes on is
// in the event of the end and in the numbers of its plan, and the license stays as it is.
func TestAnEndThatChangesNothingIsCounted(t *testing.T) {
	for name, test := range map[string]struct{ base, other string }{
		"an add-on of an unlimited license": {"unlimited", "seats"},
		"a smaller base":                    {"large", "small"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				c := newCaller(t, licensing.Options{})
				for id, plan := range map[string]string{
					"unlimited": `{"product_id":"atlas"}`, "seats": `{"product_id":"atlas","kind":"addon","max_activations":2}`,
					"large": `{"product_id":"atlas","max_activations":10}`, "small": `{"product_id":"atlas","max_activations":5}`,
				} {
					is.Equal(c.do("PUT", "/plan/"+id, plan).Code, http.StatusCreated)
				}
				now := c.Clock.Now().UTC()
				buy := func(reference, plan, license string, days int) answer {
					return c.do("PUT", "/purchase/"+reference, `{"at":"`+now.AddDate(0, 0, -1).Format(time.RFC3339)+`","customer_id":"c","state":"active","plan_id":"`+plan+`","license_id":"`+license+
						`","until":"`+now.AddDate(0, 0, days).Format(time.RFC3339)+`"}`)
				}
				id := c.do("PUT", "/purchase/base", `{"at":"`+now.Format(time.RFC3339)+`","customer_id":"c","state":"active","plan_id":"`+test.base+`"}`).json["license_id"].(string)
				is.Equal(buy("other", test.other, id, 130).Code, http.StatusOK)
				defer begin(t, c.Handler)()
				time.Sleep(time.Minute)
				c.token = c.Kit.Token()
				before := c.do("GET", "/license/"+id, "")
				c.Clock.Advance(140 * 24 * time.Hour)
				time.Sleep(time.Minute)
				c.token = c.Kit.Token()
				after := c.do("GET", "/license/"+id, "")
				is.Equal(after.Header().Get("ETag"), before.Header().Get("ETag"))
				events := c.do("GET", "/event?subject="+id+"&limit=200", "").Body.String()
				is.Equal(strings.Count(events, `"ended":["other"]`), 1)
				require.NotContains(t, events, "license.expiring")
				period := sales.Period{From: now.Truncate(24 * time.Hour), To: now.AddDate(0, 0, 141).Truncate(24 * time.Hour)}
				rep, err := inner.Of(c.Handler.Service()).Sales().Report(t.Context(), period, period)
				is.NoErr(err)
				is.Equal([]int64{rep.Total.New, rep.Total.Ended}, []int64{2, 1})
			})
		})
	}
}
