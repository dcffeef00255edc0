package servicetest

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
)

// TestAListOfPurchasesReadsTheLicenseOnce, however many purchases it shows.
func TestAListOfPurchasesReadsTheLicenseOnce(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	st := newMeteredStore(c.Store)
	h := licensing.NewHandler(st, licensing.Options{Now: c.Clock.Now, Logger: discard})
	c.mount = h
	is.Equal(c.do("PUT", "/plan/base", `{"product_id":"atlas"}`).Code, http.StatusCreated)
	is.Equal(c.do("PUT", "/plan/seats", `{"product_id":"atlas","kind":"addon","max_activations":1}`).Code, http.StatusCreated)
	at := c.Clock.Now().UTC().Format(time.RFC3339)
	id := c.do("PUT", "/fulfillment/base", `{"at":"`+at+`","customer_id":"c","state":"active","plan_id":"base"}`).json["license_id"].(string)
	list := func(want int) int64 {
		t.Helper()
		before := st.reads.Load()
		a := c.do("GET", "/fulfillment?license_id="+id, "")
		is.Equal(len(a.json["data"].([]any)), want)
		return st.reads.Load() - before
	}
	one := list(1)
	for n := range 30 {
		is.Equal(c.do("PUT", fmt.Sprint("/fulfillment/add:", n), `{"at":"`+at+`","customer_id":"c","state":"active","plan_id":"seats","license_id":"`+id+`"}`).Code, http.StatusOK)
	}
	is.Equal(list(31), one)
}
