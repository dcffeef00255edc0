package servicetest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// wait reports n paid purchases of a plan that does not exist.
func (c *caller) wait(n int) {
	c.t.Helper()
	for i := range n {
		if f := c.do("PUT", fmt.Sprint("/purchase/shop:", i), fmt.Sprintf(`{"at":"2026-06-01T00:00:00Z","customer_id":"cus_%d","plan_id":"price_team","state":"active"}`, i)); f.json["waiting"] != "unknown_plan" {
			c.t.Fatal(f.Body)
		}
	}
}

// TestTakeUpWaitingOverHTTP runs the requests of the guide: purchases that were reported before
// their plan get their licenses, 50 a request.
func TestTakeUpWaitingOverHTTP(t *testing.T) {
	is := is.New(t)
	guide, err := os.ReadFile(filepath.Join("..", "..", "docs", "purchases.md"))
	is.NoErr(err)
	requests := regexp.MustCompile(`(?s)curl -X (PUT|POST) -H "Authorization: Bearer \$TOKEN"[^"]*"\$BASE(/plan/[^"]+)"(?: -d '([^']+)')?\n`).FindAllStringSubmatch(string(guide), -1)
	is.Equal(len(requests), 2)
	put, take := requests[0], requests[1]

	c := newCaller(t, licensing.Options{})
	c.wait(120)
	c.do("PUT", "/purchase/shop:ended", `{"at":"2026-06-01T00:00:00Z","customer_id":"cus_1","plan_id":"price_team","state":"active"}`)
	c.do("PUT", "/purchase/shop:ended", `{"at":"2026-06-02T00:00:00Z","state":"refunded"}`)
	c.do("PUT", "/purchase/shop:other", `{"at":"2026-06-01T00:00:00Z","customer_id":"cus_1","plan_id":"price_other","state":"active"}`)
	is.Equal(c.do("POST", take[2], "").Code, http.StatusNotFound)
	created := c.do(put[1], put[2], put[3])
	is.Equal([]any{created.Code, created.json["waiting"]}, []any{http.StatusCreated, 120.0})
	is.Equal(c.do("GET", put[2], "").json["waiting"], nil)

	body, licensed := "", 0
	for pages := 1; ; pages++ {
		a := c.do(take[1], take[2], body)
		is.Equal(a.Code, http.StatusOK)
		licensed += int(a.json["licensed"].(float64))
		if a.json["has_more"] == false {
			is.Equal(pages, 3)
			break
		}
		body = fmt.Sprintf(`{"cursor":%q}`, a.json["next_cursor"])
	}
	is.True(licensed >= 120)
	is.Equal(c.do(put[1], put[2], put[3]).json["waiting"], nil)
	is.Equal(c.do(take[1], take[2], "").json, map[string]any{"object": "plan_take_up", "licensed": 0.0, "has_more": false})
	is.Equal(c.do("GET", "/purchase/shop:7", "").json["license"].(map[string]any)["expires_at"], "2027-06-01T00:00:00Z")
	is.Equal(c.do("GET", "/purchase/shop:other", "").json["waiting"], "unknown_plan")
	is.Equal(c.do(take[1], take[2], "", "Idempotency-Key", "k").Code, http.StatusUnprocessableEntity)
	is.Equal(c.do(take[1], take[2], `{"cursor":"x"}`).Code, http.StatusUnprocessableEntity)
}

// TestTakeUpWaitingLimited: a client that is limited to products takes up the purchases that it
// sees, of a plan that it sees.
func TestTakeUpWaitingLimited(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	c.wait(1)
	atlas, globe := c.limited("atlas"), c.limited("globe")
	is.Equal(atlas.do("PUT", "/plan/price_team", `{"product_id":"atlas"}`).json["waiting"], nil) // a purchase without a product exists only for others
	is.Equal(atlas.do("POST", "/plan/price_team/waiting", "").json["licensed"], 0.0)
	is.Equal(globe.do("POST", "/plan/price_team/waiting", "").Code, http.StatusNotFound)
	is.Equal(c.do("POST", "/plan/price_team/waiting", "").json["licensed"], 1.0)
}

// TestTakeUpWaitingStopped stops a call after each of its Updates. Each purchase then either
// waits, or has one license and its event, and a repeated call gives the rest their licenses.
func TestTakeUpWaitingStopped(t *testing.T) {
	const all = 5
	for updates := range all + 1 {
		is := is.New(t)
		st := &stoppingStore{memory.New(), 1 << 30}
		h := licensing.NewHandler(st, licensing.Options{BeforeCreate: func(ctx context.Context, _ *api.CreateLicenseParams) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			return st.Store.Update(ctx, func(store.Tx) error { return nil }) // begins only outside of an Update
		}})
		for i := range all {
			_, err := h.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: fmt.Sprint("shop:", i), CustomerID: fmt.Sprint("cus_", i), PlanID: "team", State: api.PurchaseActive})
			is.NoErr(err)
		}
		plan, err := h.Selling().PutPlan(t.Context(), api.PutPlanParams{ID: "team", ProductID: "atlas"})
		is.NoErr(err)
		is.Equal(plan.Waiting, all)
		licensed := func() (n int) {
			for i := range all {
				f, err := h.Selling().GetPurchase(t.Context(), fmt.Sprint("shop:", i))
				is.NoErr(err)
				licenses, err := h.Service().List(t.Context(), api.ListLicensesParams{CustomerID: fmt.Sprint("cus_", i)})
				is.NoErr(err)
				events, err := h.Service().Events(t.Context(), api.ListEventsParams{CustomerID: fmt.Sprint("cus_", i), Types: []string{api.EventLicenseCreated}})
				is.NoErr(err)
				is.Equal(len(licenses.Data), len(events.Data))
				is.Equal(f.License != nil, len(licenses.Data) == 1)
				n += len(licenses.Data)
			}
			return n
		}
		st.left = updates
		done, err := h.Selling().TakeUpWaiting(t.Context(), api.TakeUpWaitingParams{ID: "team"})
		is.Equal(errors.Is(err, errStopped), updates < all)
		is.Equal(done.Licensed, updates)
		is.Equal(licensed(), updates)
		st.left = 1 << 30
		done, err = h.Selling().TakeUpWaiting(t.Context(), api.TakeUpWaitingParams{ID: "team"})
		is.NoErr(err)
		is.Equal(done.Licensed, all-updates)
		is.Equal(licensed(), all)
	}
}
