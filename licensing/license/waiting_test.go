package license_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/seed-d8a106b4/licensekit/licensing/selling"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// newWaiting returns a seller with n purchases that are paid for and name the plan
// "new", which does not exist, and with some that wait for something else.
func newWaiting(t *testing.T, n int, opts ...func(*license.Options)) *seller {
	t.Helper()
	s := newSeller(t, memory.New(), opts...)
	for i := range n {
		s.tell(t, fmt.Sprintf("shop:%d", i), event{At: onDay(1), CustomerID: fmt.Sprintf("cus_%d", i), PlanID: "new", State: "active"})
	}
	s.tell(t, "other:1", event{At: onDay(1), CustomerID: "cus_x", PlanID: "newer", State: "active"})
	s.tell(t, "unpaid:1", event{At: onDay(1), CustomerID: "cus_y", PlanID: "new"})
	s.tell(t, "nobody:1", event{At: onDay(1), PlanID: "new", State: "active"})
	return s
}

func (s *seller) putNew(t *testing.T) {
	t.Helper()
	if _, err := selling.New(s.Service).PutPlan(t.Context(), api.PutPlanParams{ID: "new", ProductID: "prod_editor", Duration: api.Duration{Years: 1}}); err != nil {
		t.Fatal(err)
	}
}

func (s *seller) licenses(t *testing.T) int {
	t.Helper()
	page, err := s.List(t.Context(), api.ListLicensesParams{Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	return len(page.Data)
}

// TestTakeUpWaiting: after a plan was created, each purchase that waited for it gets
// the license that it would have had, 50 a call, and no other purchase does.
func TestTakeUpWaiting(t *testing.T) {
	is := is.New(t)
	s := newWaiting(t, 120)
	takeUp := inner.Of(s.Service).Purchases().TakeUpWaiting
	next, n, err := takeUp(t.Context(), "new", "")
	is.NoErr(err)
	is.Equal([]any{next, n}, []any{"", 0}) // there is no plan yet
	s.putNew(t)
	for _, want := range []int{50, 50, 20} {
		next, n, err = takeUp(t.Context(), "new", next)
		is.NoErr(err)
		is.Equal(n, want)
	}
	is.Equal(next, "")
	is.Equal(s.licenses(t), 120)
	f, err := selling.New(s.Service).GetPurchase(t.Context(), "shop:7")
	is.NoErr(err)
	is.Equal(*f.License.ExpiresAt, onDay(1).AddDate(1, 0, 0)) // from when it was paid
	next, n, err = takeUp(t.Context(), "new", "")
	is.NoErr(err)
	is.Equal([]any{next, n, s.licenses(t)}, []any{"", 0, 120})
	_, _, err = takeUp(t.Context(), "new", "wrong")
	require.ErrorIs(t, err, api.ErrInvalid)
}

// TestTakeUpWaitingStops: wherever the call stops, repeating it gives the rest their
// licenses. A purchase that the hook refuses keeps waiting and holds up no other.
func TestTakeUpWaitingStops(t *testing.T) {
	const all = 4
	down := errors.New("the other system is down")
	for stop := range all {
		is := is.New(t)
		created := 0
		hook := func(_ context.Context, p *api.CreateLicenseParams) error {
			switch {
			case p.CustomerID == "cus_1":
				return api.Invalid("customer_id", api.FieldUnknown, "is not known here")
			case created == stop:
				created = all // the system is up again
				return down
			}
			created++
			return nil
		}
		s := newWaiting(t, all, func(o *license.Options) { o.BeforeCreate = hook })
		s.putNew(t)
		_, n, err := inner.Of(s.Service).Purchases().TakeUpWaiting(t.Context(), "new", "")
		if stop == all-1 { // as many as the hook accepts
			is.NoErr(err)
		} else {
			require.ErrorIs(t, err, down)
		}
		is.Equal(n, stop)
		is.Equal(s.licenses(t), stop)
		_, n, err = inner.Of(s.Service).Purchases().TakeUpWaiting(t.Context(), "new", "")
		is.NoErr(err)
		is.Equal(n, all-1-stop)
		is.Equal(s.licenses(t), all-1)
		f, err := selling.New(s.Service).GetPurchase(t.Context(), "shop:1")
		is.NoErr(err)
		is.Equal([]any{f.Result, f.Waiting}, []any{api.PurchaseResultWaiting, api.Waiting("")})
	}
}

// TestCountWaiting: purchases that are paid for are counted apart from those that are
// not, and those that have ended are neither.
func TestCountWaiting(t *testing.T) {
	is := is.New(t)
	s := newWaiting(t, 2)
	s.tell(t, "ended:1", event{At: onDay(1), CustomerID: "cus_0", PlanID: "new", State: "active"})
	s.tell(t, "ended:1", event{At: onDay(2), State: "ended"})
	s.tell(t, "shop:done", event{At: onDay(1), CustomerID: "cus_0", PlanID: "basic", State: "active"})
	paid, unpaid, kept, more, err := inner.Of(s.Service).Purchases().CountWaiting(t.Context())
	is.NoErr(err)
	is.Equal([]any{paid, unpaid, kept, more}, []any{4, 1, 0, false})
	list, err := inner.Of(s.Service).Purchases().PaidPurchases(t.Context(), "cus_0")
	is.NoErr(err)
	is.Equal(len(list), 1)
	is.Equal(list[0].Reference, "shop:0")
}

// TestFindPurchases: a search finds any purchase by its reference, and one without a
// license by any part of what is known of it.
func TestFindPurchases(t *testing.T) {
	is := is.New(t)
	s := newWaiting(t, 3)
	mail := "Zoë@shop.example"
	s.tell(t, "shop:mail", event{At: onDay(1), CustomerID: "cus_z", Metadata: map[string]*string{"email": &mail}})
	s.tell(t, "shop:done", event{At: onDay(1), CustomerID: "cus_z", PlanID: "basic", State: "active"})
	find := func(text string) (got []string) {
		t.Helper()
		list, more, err := inner.Of(s.Service).Find().FindPurchases(t.Context(), text, 2)
		is.NoErr(err)
		for _, f := range list {
			got = append(got, f.Reference)
		}
		if more {
			got = append(got, "more")
		}
		return got
	}
	is.Equal(find("shop:1"), []string{"shop:1"})
	is.Equal(find("shop:done"), []string{"shop:done"})
	is.Equal(find("CUS_z"), []string{"shop:mail"})
	is.Equal(find("zoe@shop mail"), []string{"shop:mail"})
	is.Equal(len(find("shop:")), 3) // two, and more
	is.Equal(len(find("nothing")), 0)
}
