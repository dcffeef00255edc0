package license_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

func (s *seller) holdCustomer(t *testing.T, id string, suspend bool) int {
	t.Helper()
	move, reason := s.ReinstateCustomer, "paid"
	if suspend {
		move, reason = s.SuspendCustomer, "unpaid"
	}
	done, err := move(t.Context(), api.ChangeCustomerStateParams{CustomerID: id, Reason: reason})
	if err != nil {
		t.Fatal(err)
	}
	return done.Licenses
}

func (s *seller) give(t *testing.T, customer string) api.License {
	t.Helper()
	l, err := s.Create(t.Context(), api.CreateLicenseParams{Name: customer, ProductID: "prod_editor", CustomerID: customer})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// standing returns the status of a license with its reason.
func (s *seller) standing(t *testing.T, id string) string {
	t.Helper()
	l := s.mustGet(t, id)
	return strings.TrimSpace(string(l.Status) + " " + l.StatusReason)
}

// TestSuspendCustomer: the suspension of a customer is a fact of its own, beside that by
// an operator and the pause of a purchase. The reinstatement ends only that one.
func TestSuspendCustomer(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	ctx := t.Context()
	plain, held, other := s.give(t, "cus_ada"), s.give(t, "cus_ada"), s.give(t, "cus_bob")
	bought := s.tell(t, "shop:1", event{At: onDay(0), CustomerID: "cus_ada", PlanID: "pro", State: "active"}).License
	paused := s.tell(t, "shop:2", event{At: onDay(0), CustomerID: "cus_ada", PlanID: "pro", State: "active"}).License
	s.tell(t, "shop:2", event{At: onDay(1), State: "paused", Reason: "no card"})
	revoked := s.give(t, "cus_ada")
	_, err := s.Revoke(ctx, api.ChangeStateParams{ID: revoked.ID})
	is.NoErr(err)
	_, err = s.Suspend(ctx, api.ChangeStateParams{ID: held.ID, Reason: "fraud"})
	is.NoErr(err)

	is.Equal(s.holdCustomer(t, "cus_ada", true), 4)
	is.Equal(s.holdCustomer(t, "cus_ada", true), 0) // again
	for id, want := range map[string]string{plain.ID: "suspended unpaid", held.ID: "suspended fraud", bought.ID: "suspended unpaid", paused.ID: "suspended unpaid", other.ID: "active", revoked.ID: "revoked"} {
		is.Equal(s.standing(t, id), want)
	}

	// No other way leads out of it.
	_, err = s.Reinstate(ctx, api.ChangeStateParams{ID: plain.ID})
	refused, _ := errors.AsType[*api.StateError](err)
	is.True(refused.Customer)
	s.tell(t, "shop:1", event{At: onDay(2), State: "paused"})
	s.tell(t, "shop:1", event{At: onDay(3), State: "active"})
	is.Equal(s.standing(t, bought.ID), "suspended unpaid")
	_, err = s.Suspend(ctx, api.ChangeStateParams{ID: plain.ID, Reason: "fraud too"}) // an operator may, in addition
	is.NoErr(err)
	_, err = s.Update(ctx, api.UpdateLicenseParams{ID: bought.ID, Name: ptr("Ada L.")})
	is.NoErr(err)

	is.Equal(s.holdCustomer(t, "cus_ada", false), 4)
	is.Equal(s.holdCustomer(t, "cus_ada", false), 0)
	for id, want := range map[string]string{plain.ID: "suspended fraud too", held.ID: "suspended fraud", bought.ID: "active", paused.ID: "suspended no card", revoked.ID: "revoked"} {
		is.Equal(s.standing(t, id), want)
	}
	_, err = s.Reinstate(ctx, api.ChangeStateParams{ID: held.ID})
	is.NoErr(err)
	is.Equal(s.standing(t, held.ID), "active")

	_, err = s.As(license.Caller{Products: []string{"prod_editor"}}).SuspendCustomer(ctx, api.ChangeCustomerStateParams{CustomerID: "cus_ada"})
	require.ErrorIs(t, err, api.ErrProductForbidden)
	_, err = s.SuspendCustomer(ctx, api.ChangeCustomerStateParams{})
	is.Equal(refusedField(err), "customer_id")
}

// TestSuspendedCustomerGetsLicenses: a license is suspended if its customer is, whichever
// way it comes to the customer, and no more when it leaves.
func TestSuspendedCustomerGetsLicenses(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	ctx := t.Context()
	moved, corrected := s.give(t, "cus_bob"), s.give(t, "cus_ada_typo")
	s.holdCustomer(t, "cus_ada", true)
	got := []string{s.give(t, "cus_ada").ID, s.tell(t, "shop:1", paid()).License.ID, moved.ID, corrected.ID}
	_, err := s.Transfer(ctx, api.TransferLicenseParams{ID: moved.ID, CustomerID: "cus_ada"})
	is.NoErr(err)
	_, err = s.Update(ctx, api.UpdateLicenseParams{ID: corrected.ID, CustomerID: ptr("cus_ada")})
	is.NoErr(err)
	rows := `{"key":"OLD-0001-0001-0001","name":"n","product_id":"prod_editor","customer_id":"cus_bob"}
{"key":"OLD-0001-0001-0002","name":"n","product_id":"prod_editor","customer_id":"cus_ada"}
`
	is.NoErr(s.Import(ctx, bytes.NewReader([]byte(rows)), func(r api.RowResult) error {
		is.Equal(r.Result, api.ImportCreated)
		if r.Line == 1 {
			is.Equal(s.standing(t, r.ID), "active")
		} else {
			got = append(got, r.ID)
		}
		return nil
	}))
	for _, id := range got {
		is.Equal(s.standing(t, id), "suspended unpaid")
	}
	_, err = s.Transfer(ctx, api.TransferLicenseParams{ID: moved.ID, CustomerID: "cus_bob"})
	is.NoErr(err)
	_, err = s.Update(ctx, api.UpdateLicenseParams{ID: corrected.ID, CustomerID: ptr("cus_eve")})
	is.NoErr(err)
	is.Equal([]string{s.standing(t, moved.ID), s.standing(t, corrected.ID)}, []string{"active", "active"})
	is.Equal(s.holdCustomer(t, "cus_ada", false), 3)

	// The reasons of a suspension do not follow the license to another customer.
	s.holdCustomer(t, "cus_ada", true)
	_, err = s.Suspend(ctx, api.ChangeStateParams{ID: got[0], Reason: "fraud of Ada"})
	is.NoErr(err)
	l, err := s.Transfer(ctx, api.TransferLicenseParams{ID: got[0], CustomerID: "cus_bob"})
	is.NoErr(err)
	is.Equal([]string{string(l.Status), l.StatusReason}, []string{"suspended", ""})
	_, err = s.Update(ctx, api.UpdateLicenseParams{ID: l.ID, Name: ptr("Bob")})
	is.NoErr(err)
	is.Equal(s.standing(t, l.ID), "suspended")
}

// TestSuspendCustomerStopped: a suspension and a reinstatement may stop after any of their
// Updates. From the first one on, new licenses are as the customer is; a repeated call does
// the rest.
func TestSuspendCustomerStopped(t *testing.T) {
	const licenses = 2*50 + 1 // three Updates and the one before
	for _, suspend := range []bool{true, false} {
		for n := range 5 {
			is := is.New(t)
			st := &haltingStore{Store: memory.New(), left: unhalted}
			s := newSeller(t, st)
			for range licenses {
				s.give(t, "cus_ada")
			}
			was, want := api.LicenseActive, api.LicenseSuspended
			if !suspend {
				s.holdCustomer(t, "cus_ada", true)
				was, want = want, was
			}
			st.left = n
			move := s.ReinstateCustomer
			if suspend {
				move = s.SuspendCustomer
			}
			_, err := move(t.Context(), api.ChangeCustomerStateParams{CustomerID: "cus_ada"})
			st.left = unhalted
			is.Equal(err == nil, n == 4)
			counts, err := s.Count(t.Context(), api.ListLicensesParams{CustomerID: "cus_ada"})
			is.NoErr(err)
			changed := min(max(n-1, 0)*50, licenses)
			is.Equal([]int64{int64(counts.ByStatus[want]), int64(counts.ByStatus[was])}, []int64{int64(changed), int64(licenses - changed)})
			if n > 0 {
				is.Equal(s.give(t, "cus_ada").Status, want)
			}
			_, err = move(t.Context(), api.ChangeCustomerStateParams{CustomerID: "cus_ada"})
			is.NoErr(err)
			counts, err = s.Count(t.Context(), api.ListLicensesParams{CustomerID: "cus_ada"})
			is.NoErr(err)
			is.Equal(int64(counts.ByStatus[was]), int64(0))
		}
	}
}

// TestSuspendCustomerConcurrently: whichever of a suspension and a reinstatement that run at
// the same time is stored last, each license is as the customer is.
func TestSuspendCustomerConcurrently(t *testing.T) {
	is := is.New(t)
	s := newSeller(t, memory.New())
	var ids []string
	for range 60 {
		ids = append(ids, s.give(t, "cus_ada").ID)
	}
	for range 10 {
		var all sync.WaitGroup
		for _, move := range []func(context.Context, api.ChangeCustomerStateParams) (api.CustomerSuspension, error){s.SuspendCustomer, s.ReinstateCustomer} {
			all.Go(func() {
				if _, err := move(t.Context(), api.ChangeCustomerStateParams{CustomerID: "cus_ada"}); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		last := s.mustGet(t, s.give(t, "cus_ada").ID).Status
		for _, id := range ids {
			is.Equal(s.mustGet(t, id).Status, last)
		}
	}
}

// TestSuspendCustomerEvents: one event says that the customer is suspended, and one for
// each license what that makes of it.
func TestSuspendCustomerEvents(t *testing.T) {
	is := is.New(t)
	s := newSeller(t, memory.New())
	s.give(t, "cus_ada")
	held := s.give(t, "cus_ada")
	_, err := s.Suspend(t.Context(), api.ChangeStateParams{ID: held.ID})
	is.NoErr(err)
	page, err := s.Events(t.Context(), api.ListEventsParams{Limit: 200})
	is.NoErr(err)
	s.holdCustomer(t, "cus_ada", true)
	s.holdCustomer(t, "cus_ada", false)
	page, err = s.Events(t.Context(), api.ListEventsParams{After: page.NextCursor})
	is.NoErr(err)
	var got []string
	for _, e := range page.Data {
		data, err := e.Decode()
		is.NoErr(err)
		got = append(got, fmt.Sprint(e.Type, " ", data.Reason))
		is.Equal(e.CustomerID, "cus_ada")
	}
	slices.Sort(got[4:]) // in the order of the IDs
	is.Equal(got, []string{
		"customer.suspended unpaid", "license.suspended unpaid", "license.suspended unpaid",
		"customer.reinstated paid", "license.reinstated paid", "license.updated paid",
	})
}

// TestSuspendedCustomerRows: a row says who suspends its license, also of one that no
// purchase made, so that the suspension of the customer is not one by an operator after an
// import.
//
// Fault: a license that was imported stays suspended when its customer is reinstated.
func TestSuspendedCustomerRows(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	plain, held := s.give(t, "cus_ada"), s.give(t, "cus_ada")
	bought := s.tell(t, "shop:1", event{At: onDay(39), CustomerID: "cus_ada", PlanID: "pro", State: "active"}).License
	_, err := s.Suspend(t.Context(), api.ChangeStateParams{ID: held.ID, Reason: "fraud"})
	is.NoErr(err)
	s.holdCustomer(t, "cus_ada", true)
	rows := s.rows(t)
	for _, suspended := range []bool{false, true} {
		to := newTwice(t)
		if suspended {
			to.holdCustomer(t, "cus_ada", true)
		}
		for _, r := range importAll(t, to.Service, rows) {
			is.Equal(r.Result, api.ImportCreated)
		}
		if suspended {
			for id, want := range map[string]string{plain.ID: "suspended unpaid", held.ID: "suspended fraud", bought.ID: "suspended unpaid"} {
				is.Equal(to.standing(t, id), want)
			}
			is.Equal(to.holdCustomer(t, "cus_ada", false), 3)
		}
		for id, want := range map[string]string{plain.ID: "active", held.ID: "suspended fraud", bought.ID: "active"} {
			is.Equal(to.standing(t, id), want)
		}
	}

	// Nothing else is set by hand without a purchase.
	refused := importAll(t, s.Service, `{"key":"OLD-0001-0001-0009","name":"n","product_id":"prod_editor","customer_id":"cus_bob","by_hand":{"name":"x"}}`)
	is.Equal(refused[0].Result, api.ImportRefused)
	is.Equal(refused[0].Errors[0].Field, "purchases")
}
