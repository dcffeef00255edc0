package servicetest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	basefeed "github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/sales"
	"github.com/seed-d8a106b4/licensekit/store"
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

		moved := s.sell("month", "", "cus_dan")
		_, err = s.h.Service().Transfer(t.Context(), api.TransferLicenseParams{ID: moved.license, CustomerID: "cus_fay"})
		is.NoErr(err)
		_, err = s.h.Service().EraseCustomer(t.Context(), "cus_dan") // nor of this one, which another customer has
		is.NoErr(err)
		s.truth()
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
		_, err = s.h.Service().Revoke(t.Context(), api.ChangeStateParams{ID: s.subs[0].license})
		is.NoErr(err)
		p, before := sales.PeriodOf("week", time.Now())
		rep, err := rules.Report(t.Context(), p, before)
		is.NoErr(err)
		is.Equal(rep.Total, sales.Numbers{ByHand: 1, Ended: 1, Paying: -1})
	})
}

// TestSalesKeepEvents: retention removes no event that was not counted, and none that another
// consumer needs.
func TestSalesKeepEvents(t *testing.T) {
	is := is.New(t)
	s := newShop(t, memory.New(), licensing.Options{})
	rules := inner.Of(s.h.Service()).Sales()
	for range 2 {
		events := s.all()
		for more := true; more; {
			var err error
			_, more, err = rules.Count(t.Context())
			is.NoErr(err)
		}
		s.sell("month", "", s.next("cus"))
		counted := events[len(events)-1].Seq
		for bound, want := range map[int64]int64{1: 1, counted: counted, counted + 1: counted + 1, counted + 2: counted + 1} {
			got, err := rules.Needs(t.Context(), s.st, bound)
			is.NoErr(err)
			is.Equal(got, want)
		}
	}
}

// TestWhatIsDueSoon: a license is due for each of its ends, with what is known of the purchase
// behind it; one that is revoked or has lapsed is not.
func TestWhatIsDueSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		s := newShop(t, memory.New(), licensing.Options{})
		rules := inner.Of(s.h.Service()).Sales()
		outlives := s.sell("team", "", "outlives") // which ends in 60 days
		s.sell("month", outlives.license, "outlives")
		for _, state := range []api.PurchaseState{api.PurchasePaused, api.PurchaseEnded, api.PurchaseRefunded} {
			b := s.sell("month", "", string(state))
			time.Sleep(time.Minute)
			s.tell(api.RecordPurchaseParams{Reference: b.reference, State: state})
			later := time.Now().AddDate(0, 0, 40)
			_, err := s.h.Service().Renew(t.Context(), api.RenewLicenseParams{ID: b.license, ExpiresAt: &later})
			is.NoErr(err)
		}
		revoked := s.sell("month", "", "revoked")
		_, err := s.h.Service().Revoke(t.Context(), api.ChangeStateParams{ID: revoked.license})
		is.NoErr(err)
		_, err = s.h.Selling().StartTrial(t.Context(), api.StartTrialParams{PlanID: "trial", CustomerID: "trial"})
		is.NoErr(err)
		due := func() (list []string) {
			for more := true; more; {
				var err error
				_, more, err = rules.Count(t.Context())
				is.NoErr(err)
			}
			soon, err := rules.Soon(t.Context())
			is.NoErr(err)
			for _, d := range soon.Due {
				list = append(list, fmt.Sprint(d.License.CustomerID, " ", d.At.Day(), " ", d.Purchase, d.Updates, " ", d.State))
			}
			return list
		}
		is.Equal(due(), []string{"outlives 31 true false "})
		time.Sleep(20 * 24 * time.Hour)
		is.Equal(due(), []string{"outlives 31 true false ", "paused 10 false false paused", "ended 10 false false ended", "refunded 10 false false refunded"})
		time.Sleep(21 * 24 * time.Hour)
		is.Equal(due(), []string{"outlives 1 false false "})
	})
}

// A forgetfulStore fails the first read of events in an Update while fails is set.
type forgetfulStore struct {
	store.Store
	fails bool
}

func (st *forgetfulStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	return st.Store.Update(ctx, func(tx store.Tx) error { return fn(&forgetfulTx{tx, st}) })
}

type forgetfulTx struct {
	store.Tx
	st *forgetfulStore
}

func (tx *forgetfulTx) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	if tx.st.fails {
		tx.st.fails = false
		return nil, store.ErrUnavailable
	}
	return tx.Tx.Events(ctx, q)
}

// TestSalesAfterAFailedRead: a read that fails is not a store that has lost events.
//
// Fault: what was sold since the last count is never counted.
func TestSalesAfterAFailedRead(t *testing.T) {
	is := is.New(t)
	st := &forgetfulStore{Store: memory.New()}
	s := newShop(t, st, licensing.Options{})
	rules := inner.Of(s.h.Service()).Sales()
	count := func() (n int) {
		for more := true; more; {
			some, left, err := rules.Count(t.Context())
			if err == nil {
				n, more = n+some, left
			} else {
				require.ErrorIs(t, err, store.ErrUnavailable)
			}
		}
		return n
	}
	s.sell("month", "", "ada")
	is.True(count() > 0)
	s.sell("month", "", "bob")
	st.fails = true
	is.Equal(count(), 1)
	is.True(!st.fails)
}

// TestSalesAfterLostEvents: once the events that were counted are lost, the next ones count.
//
// Fault: each count continues after the newest event and stores nothing, so none ever does.
func TestSalesAfterLostEvents(t *testing.T) {
	is := is.New(t)
	s := newShop(t, memory.New(), licensing.Options{})
	rules := inner.Of(s.h.Service()).Sales()
	count := func() (n int) {
		for more := true; more; {
			some, left, err := rules.Count(t.Context())
			is.NoErr(err)
			n, more = n+some, left
		}
		return n
	}
	s.sell("month", "", "ada")
	is.True(count() > 0)
	is.NoErr(s.st.Update(t.Context(), func(tx store.Tx) error {
		e, err := tx.Entry(t.Context(), "sales_counted", "sales_counted")
		is.NoErr(err)
		var state map[string]any
		is.NoErr(json.Unmarshal(e.Data, &state))
		state["place"] = basefeed.PlaceOf(store.Event{Seq: 1000, ID: "evt_lost"}).String()
		e.Data = record.Encode(state)
		return tx.PutEntries(t.Context(), e)
	}))
	is.Equal(count(), 0)
	s.sell("month", "", "bob")
	is.Equal(count(), 1)
}
