package servicetest

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/sales"
)

// TestSalesOverHTTP: a report on Monday has the numbers of the dashboard.
func TestSalesOverHTTP(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	c.do("PUT", "/plan/team", `{"product_id":"atlas","duration":"P7D"}`)
	for i := range 3 {
		c.do("PUT", fmt.Sprint("/purchase/shop:", i), fmt.Sprintf(`{"at":%q,"customer_id":"cus_%d","plan_id":"team","state":"active"}`, c.Clock.Now().Format(time.RFC3339), i))
	}
	c.create("Ada Lovelace", "atlas", "cus_9")
	c.do("POST", "/license/trial", `{"plan_id":"team","customer_id":"cus_8"}`)
	got := c.do("GET", "/sales?period=week", "")
	is.Equal(got.Code, http.StatusOK)
	total := got.json["total"].(map[string]any)
	is.Equal([]any{total["new"], total["by_hand"], total["trials"]}, []any{3.0, 1.0, 1.0})
	is.Equal([]any{got.json["object"], got.json["period"], got.json["active"], got.json["paying"]}, []any{"sales", "week", 5.0, 3.0})
	team := got.json["plans"].([]any)[0].(map[string]any)
	is.Equal([]any{team["plan_id"], team["in_force"], team["due_soon"]}, []any{"team", 4.0, 3.0})
	day := got.json["days"].([]any)[1].(map[string]any)
	is.Equal([]any{day["day"], day["plan_id"], day["new"]}, []any{c.Clock.Now().Format(time.DateOnly), "team", 3.0})
	is.Equal(c.do("GET", "/sales?period=last-week", "").json["total"].(map[string]any)["new"], 0.0)

	report, err := c.Handler.Selling().Sales(t.Context(), "week")
	is.NoErr(err)
	is.Equal(report.Total.New, int64(3))
	is.Equal(report.To.Sub(report.From), 7*24*time.Hour)
	for _, query := range []string{"", "?period=decade"} { // names the periods
		refused := c.do("GET", "/sales"+query, "")
		is.Equal(refused.Code, http.StatusUnprocessableEntity)
		is.Equal(refused.json["code"], "invalid_parameters")
		require.Contains(t, refused.Body.String(), strings.Join(sales.PeriodNames, ", "))
	}
	is.Equal(c.limited("atlas").do("GET", "/sales?period=week", "").json["code"], "product_forbidden")
	client, secret := c.NewClient(auth.CreateClientParams{Name: "By default"})
	byDefault := *c
	byDefault.token, _ = c.NewToken(client.ID, secret)
	is.Equal(byDefault.do("GET", "/sales?period=week", "").json["code"], "insufficient_scope")
}

// TestSalesOverHTTPWhileCounting: licenses from before the first event are counted later, and
// the answer says so.
func TestSalesOverHTTPWhileCounting(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	for i := range 1200 {
		c.create("n", "atlas", fmt.Sprint("cus_", i))
	}
	got := c.do("GET", "/sales?period=week", "").json
	is.True(got["counted_to"] != nil)
	for more := true; more; {
		var err error
		_, more, err = inner.Of(c.Handler.Service()).Sales().Count(t.Context())
		is.NoErr(err)
	}
	got = c.do("GET", "/sales?period=week", "").json
	is.Equal([]any{got["counted_to"], got["whole"], got["active"]}, []any{nil, true, 1200.0})
}
