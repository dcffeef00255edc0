package servicetest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/sales"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestErasureLeavesSales: an erasure blanks events that were counted, which stay counted,
// and the event of the deletion before it is counted, which counts as an end.
func TestErasureLeavesSales(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		s := newShop(t, memory.New(), licensing.Options{})
		rules := inner.Of(s.h.Service()).Sales()
		count := func() {
			for more := true; more; {
				var err error
				_, more, err = rules.Count(t.Context())
				is.NoErr(err)
			}
		}
		s.sell("month", "", "cus_ada")
		s.sell("month", "", "cus_bob")
		s.sell("seats", s.subs[0].license, "cus_ada")
		count()
		erased, err := s.h.Service().EraseCustomer(t.Context(), "cus_ada")
		is.NoErr(err)
		s.truth() // of what was not counted yet
		count()
		s.truth()
		p, before := sales.PeriodOf("week", time.Now())
		rep, err := rules.Report(t.Context(), p, before)
		is.NoErr(err)
		is.Equal(rep.Total, sales.Numbers{New: 3, Ended: 1, Active: 1, Paying: 1, Erased: int64(erased.Events)})
		is.Equal(rep.Plans[0].Plan, "month")
		is.Equal([]int64{rep.Plans[0].Ended, rep.Plans[0].InForce}, []int64{1, 1})

		s.sell("month", "", "cus_eve")
		_, err = s.h.Service().EraseCustomer(t.Context(), "cus_eve") // nothing was counted of it
		is.NoErr(err)
		count()
		s.truth()
	})
}

// TestSalesInGrace: a license is in force until its grace period ends, and one that is revoked
// before that has ended.
func TestSalesInGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		s := newShop(t, memory.New(), licensing.Options{})
		s.sell("month", "", "cus_ada")
		rules := inner.Of(s.h.Service()).Sales()
		time.Sleep(31 * 24 * time.Hour)
		ends := time.Now().Add(-time.Hour)
		_, err := s.h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "atlas", CustomerID: "cus_bob", ExpiresAt: &ends, Terms: api.Terms{GraceSeconds: 7200}})
		is.NoErr(err)
		s.truth()
		_, err = s.h.Service().Revoke(t.Context(), api.MoveLicenseParams{ID: s.subs[0].license})
		is.NoErr(err)
		p, before := sales.PeriodOf("week", time.Now())
		rep, err := rules.Report(t.Context(), p, before)
		is.NoErr(err)
		is.Equal(rep.Total, sales.Numbers{ByHand: 1, Ended: 1, Paying: -1})
	})
}
