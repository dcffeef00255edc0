package servicetest

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// TestALimitedClientSeesNoPurchaseOfAnotherProduct, although it is one of a license that the
// client sees: not by its reference, in a list, in a search, or in an event.
func TestALimitedClientSeesNoPurchaseOfAnotherProduct(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	is.Equal(c.do("PUT", "/plan/base", `{"product_id":"atlas"}`).Code, http.StatusCreated)
	is.Equal(c.do("PUT", "/plan/other", `{"product_id":"borealis"}`).Code, http.StatusCreated)
	at := c.Clock.Now().UTC().Format(time.RFC3339)
	buy := func(reference, more string) answer {
		t.Helper()
		a := c.do("PUT", "/purchase/"+reference, `{"at":"`+at+`","customer_id":"c","state":"active",`+more+`}`)
		is.True(a.Code < 300)
		return a
	}
	id := buy("shop:own", `"plan_id":"base"`).json["license_id"].(string)
	is.Equal(buy("shop:foreign", `"plan_id":"other","license_id":"`+id+`"`).json["waiting"], "other_product")

	client, secret := c.NewClient(auth.CreateClientParams{Name: "limited", Scopes: auth.Scopes(), Products: []string{"atlas"}})
	token, _ := c.NewToken(client.ID, secret)
	for path, status := range map[string]int{
		"/purchase/shop:foreign":     http.StatusNotFound,
		"/purchase?license_id=" + id: http.StatusOK,
		"/purchase":                  http.StatusOK,
		"/event":                     http.StatusOK,
		"/event?subject=" + id:       http.StatusOK,
	} {
		all, limited := c.do("GET", path, ""), c.do("GET", path, "", "Authorization", "Bearer "+token)
		is.Equal(limited.Code, status)
		if status == http.StatusOK {
			require.Contains(t, all.Body.String(), "shop:foreign")
			require.NotContains(t, limited.Body.String(), "shop:foreign")
		} else {
			require.NotContains(t, limited.Body.String(), id)
		}
		if strings.HasPrefix(path, "/event") {
			n := 0
			for _, e := range all.json["data"].([]any) {
				if e.(map[string]any)["product_id"] == "atlas" {
					n++
				}
			}
			is.Equal(len(limited.json["data"].([]any)), n) // each event, without the purchase
			is.Equal(strings.Count(limited.Body.String(), `"granted":"base"`), 1)
			is.Equal(strings.Count(limited.Body.String(), `"granted":`), 1)
		}
	}
	for products, n := range map[string]int{"": 1, "atlas": 0} {
		caller := license.Caller{}
		if products != "" {
			caller.Products = []string{products}
		}
		page, err := c.Handler.Service().As(caller).List(t.Context(), api.ListLicensesParams{Search: "shop:foreign"})
		is.NoErr(err)
		is.Equal(len(page.Data), n)
	}
}
