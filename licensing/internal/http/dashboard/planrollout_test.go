package dashboard_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A tickingStore takes a second for each Update, once it has a site.
type tickingStore struct {
	store.Store
	of *site
}

func (st *tickingStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	if st.of != nil {
		st.of.advance(time.Second)
	}
	return st.Store.Update(ctx, fn)
}

// TestRollOutPlan: an operator sees the number first, and continues after two seconds.
func TestRollOutPlan(t *testing.T) {
	is := is.New(t)
	st := &tickingStore{Store: memory.New()}
	s := newSiteOn(t, st, licensing.Options{})
	s.plan(api.PutPlanParams{ID: "price_1", Terms: api.Terms{MaxActivations: new(int64(2))}})
	id := ""
	for i := range 130 {
		f, err := s.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: fmt.Sprint("shop:", i), CustomerID: "ada", PlanID: "price_1", State: api.PurchaseActive, At: s.clock()})
		is.NoErr(err)
		id = f.LicenseID
	}
	_, err := s.Service().Create(t.Context(), api.CreateLicenseParams{Name: "n", CustomerID: "c", PlanID: "price_1"})
	is.NoErr(err)
	s.plan(api.PutPlanParams{ID: "price_1", Terms: api.Terms{MaxActivations: new(int64(3))}})
	v := s.admin()
	s.plan(api.PutPlanParams{ID: "price_2"})
	require.Contains(t, v.get("plan/price_2/rollout").body, "<p>0 purchases of this plan.</p>")
	require.Contains(t, v.get("plan/price_1").body, `plan/price_1/rollout">Apply to existing licenses</a>`)
	require.Contains(t, v.get("plan/price_1/rollout").body, "130 purchases of this plan.", "stay as they are: 1.", ">Apply</button>")

	st.of = s
	a := v.follow(v.post("plan/price_1/rollout", "reason", "One more"))
	is.Equal(a.notice(), "100 licenses have other terms now.")
	require.Contains(t, a.body, ">Continue</button>", `value="One more"`)
	a = v.follow(v.post(strings.TrimPrefix(a.Request.URL.RequestURI(), mount+"/dashboard/"), "reason", "One more"))
	is.Equal(a.notice(), "30 licenses have other terms now.")
	require.Contains(t, a.Request.URL.Path, "plan/price_1")
	st.of = nil
	l, err := s.Service().Get(t.Context(), id)
	is.NoErr(err)
	is.Equal(*l.MaxActivations, int64(3))
	require.Contains(t, v.get("licenses/"+id).body, "One more")
	is.Equal(v.follow(v.post("plan/price_1/rollout")).notice(), "0 licenses have other terms now.")
	s.operator("sue@example.com", operator.RoleSupport)
	is.Equal(s.signedIn("sue@example.com").post("plan/price_1/rollout").StatusCode, http.StatusForbidden)
}
