package license_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/selling"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// paid is an event that is enough for a license.
func paid() event {
	return event{At: onDay(0), CustomerID: "cus_ada", PlanID: "basic", State: "active"}
}

func newTwice(t *testing.T, opts ...func(*license.Options)) *seller {
	return newSeller(t, storetest.Twice(memory.New()), opts...)
}

func (s *seller) mustGet(t *testing.T, id string) api.License {
	t.Helper()
	l, err := s.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// TestRecordPurchaseRefuses: rules 1, 2 and 9.
func TestRecordPurchaseRefuses(t *testing.T) {
	s := newTwice(t)
	ada := s.tell(t, "shop:1", paid())
	bob, err := s.Create(t.Context(), api.CreateLicenseParams{Name: "Bob", ProductID: "prod_editor", CustomerID: "cus_bob"})
	is.New(t).NoErr(err)
	for field, change := range map[string]func(e *event){
		"reference":           func(e *event) { e.Reference = "-" },
		"reference ":          func(e *event) { e.Reference = "" },
		"reference  ":         func(e *event) { e.Reference = "trial:lic_1" },
		"reference   ":        func(e *event) { e.Reference = "a/b" },
		"reference    ":       func(e *event) { e.Reference = strings.Repeat("a", 256) },
		"at":                  func(e *event) { e.At = s.now.Add(24*time.Hour + time.Millisecond) },
		"at ":                 func(e *event) { e.At = time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC) },
		"state":               func(e *event) { e.State = "past_due" },
		"quantity":            func(e *event) { e.Quantity = ptr[int64](0) },
		"until":               func(e *event) { e.Until = api.To(time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)) },
		"plan_id":             func(e *event) { e.PlanID = "a b" },
		"customer_id":         func(e *event) { e.CustomerID = "lic_1" },
		"license_id":          func(e *event) { e.LicenseID = "lic_1" },
		"name":                func(e *event) { e.Name = " " },
		"reason":              func(e *event) { e.Reason = "\n" },
		"metadata/a":          func(e *event) { e.Metadata = map[string]*string{"a": ptr("\n")} },
		"metadata":            func(e *event) { e.Metadata = map[string]*string{"": nil} },
		"409":                 func(e *event) { e.CustomerID = "cus_bob" },
		"409 other license":   func(e *event) { e.LicenseID = bob.ID },
		"409 other customer'": func(e *event) { e.Reference, e.LicenseID = "shop:2", bob.ID },
	} {
		t.Run(field, func(t *testing.T) {
			is := is.New(t)
			before := s.events(t)
			e := paid()
			e.Reference = "shop:1"
			change(&e)
			_, err := selling.New(s.Service).RecordPurchase(t.Context(), e)
			if strings.HasPrefix(field, "409") {
				require.ErrorIs(t, err, api.ErrReferenceTaken)
			} else {
				invalid, _ := errors.AsType[*api.InvalidError](err)
				is.True(invalid != nil)
				is.Equal(invalid.Fields[0].Field, strings.TrimSpace(field))
			}
			is.Equal(s.events(t), before)
		})
	}
	is := is.New(t)
	is.Equal(s.tell(t, "shop:1", paid()).Result, api.PurchaseResultUnchanged)
	is.Equal(s.tell(t, "shop:1", event{LicenseID: ada.License.ID}).Result, api.PurchaseResultUnchanged) // its own
	_, err = selling.New(s.Service).GetPurchase(t.Context(), "shop:3")
	require.ErrorIs(t, err, api.ErrNotFound)
}

// TestALicenseOfAnotherCustomer: an event that names a license of another customer, and not the
// customer, is heard without it, before and after the customer is known. The purchase gets a
// license of its customer in any order.
func TestALicenseOfAnotherCustomer(t *testing.T) {
	s := newTwice(t)
	create := func(customer string) string {
		l, err := s.Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "prod_editor", CustomerID: customer})
		is.New(t).NoErr(err)
		return l.ID
	}
	ada, ada2, bob := create("cus_ada"), create("cus_ada"), create("cus_bob")
	for name, test := range map[string]struct {
		events []event
		want   string // the license; empty: a new one
	}{
		"the customer and the rest": {events: []event{{At: onDay(1), LicenseID: ada}, {At: onDay(0), CustomerID: "cus_bob", PlanID: "basic", State: "active"}}},
		"only the customer":         {events: []event{{At: onDay(1), LicenseID: ada, PlanID: "basic", State: "active"}, {At: onDay(2), CustomerID: "cus_bob"}}},
		"two licenses": {events: []event{{At: onDay(1), LicenseID: ada}, {At: onDay(2), LicenseID: ada2, Quantity: ptr[int64](2)},
			{At: onDay(0), CustomerID: "cus_bob", PlanID: "basic", State: "active"}}},
		"and one of the customer": {want: bob, events: []event{{At: onDay(3), LicenseID: ada}, {At: onDay(0), CustomerID: "cus_bob"},
			{At: onDay(1), CustomerID: "cus_bob", LicenseID: bob, PlanID: "basic", State: "active"}}},
		"an add-on": {want: bob, events: []event{{At: onDay(3), LicenseID: ada, PlanID: "extra", State: "active"},
			{At: onDay(1), CustomerID: "cus_bob", LicenseID: bob}}},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			before, tried, want := s.mustGet(t, ada), 0, ""
			orders(len(test.events), func(order []int) {
				reference := fmt.Sprint("shop:", strings.ReplaceAll(name, " ", "-"), ":", tried)
				tried++
				for _, i := range order {
					s.tell(t, reference, test.events[i])
				}
				f, err := selling.New(s.Service).GetPurchase(t.Context(), reference)
				is.NoErr(err)
				is.True(f.License != nil)
				is.Equal(f.License.CustomerID, "cus_bob")
				if test.want != "" {
					is.Equal(f.License.ID, test.want)
					return
				}
				is.True(f.License.ID != bob)
				got := s.outcome(t, reference)
				if want == "" {
					want = got
				}
				is.Equal(got, want)
			})
			is.Equal(s.mustGet(t, ada), before)
		})
	}
	_, err := selling.New(s.Service).RecordPurchase(t.Context(), event{Reference: "shop:both", CustomerID: "cus_bob", LicenseID: ada, PlanID: "basic", State: "active"})
	require.ErrorIs(t, err, api.ErrReferenceTaken)
	_, err = selling.New(s.Service).GetPurchase(t.Context(), "shop:both")
	require.ErrorIs(t, err, api.ErrNotFound)
}

// TestUpdatesThatEndBeforeThePurchase: an Until before the first At that says active. What lasts
// forever is valid without updates, and what Until ends never is, in both orders.
func TestUpdatesThatEndBeforeThePurchase(t *testing.T) {
	s := newTwice(t)
	for plan, valid := range map[string]bool{"maintained": true, "basic": false} {
		events := []event{
			{At: onDay(10), CustomerID: "cus_ada", PlanID: plan, State: "active"},
			{At: onDay(11), Until: api.To(onDay(5))},
		}
		for n, order := range [][2]int{{0, 1}, {1, 0}} {
			is := is.New(t)
			reference := fmt.Sprint("shop:", plan, n)
			for _, i := range order {
				s.tell(t, reference, events[i])
			}
			f, err := selling.New(s.Service).GetPurchase(t.Context(), reference)
			is.NoErr(err)
			is.Equal([]any{f.Counts, f.License.Status == api.LicenseActive, f.License.ExpiresAt == nil}, []any{valid, valid, valid})
			if valid {
				is.Equal(*f.License.UpdatesUntil, onDay(5))
			} else {
				is.Equal(*f.License.ExpiresAt, onDay(5))
			}
		}
	}
}

// TestPurchaseWaits: rules 5 and 6.
func TestPurchaseWaits(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	f := s.tell(t, "shop:1", event{At: onDay(1), State: "active"})
	is.Equal([]any{f.Result, f.Waiting, f.License}, []any{api.PurchaseResultWaiting, api.WaitingCustomer, (*api.License)(nil)})
	is.Equal(s.tell(t, "shop:1", event{At: onDay(2), CustomerID: "cus_ada"}).Waiting, api.WaitingPlan)
	is.Equal(s.tell(t, "shop:1", event{At: onDay(2), PlanID: "price_9"}).Waiting, api.WaitingUnknownPlan)
	page, err := selling.New(s.Service).ListPurchases(t.Context(), api.ListPurchasesParams{Waiting: api.WaitingUnknownPlan})
	is.NoErr(err)
	waiting := page.Data
	is.Equal(len(waiting), 1)
	is.Equal(waiting[0].Reference, "shop:1")

	_, err = selling.New(s.Service).PutPlan(t.Context(), api.PutPlanParams{ID: "price_9", ProductID: "prod_editor", Duration: api.Duration{Days: 10}, Terms: api.Terms{MaxActivations: ptr[int64](700_000)}})
	is.NoErr(err)
	f = s.tell(t, "shop:1", event{At: onDay(3), Quantity: ptr[int64](2)})
	is.Equal(f.Result, api.PurchaseResultCreated)
	is.True(f.Clamped)
	is.Equal(*f.License.MaxActivations, int64(1_000_000))
	is.Equal(*f.License.ExpiresAt, onDay(11)) // late delivery costs nothing
	is.Equal([]string{f.License.Name, f.License.PlanID, f.License.Reference}, []string{"cus_ada", "price_9", "shop:1"})

	f = s.tell(t, "shop:1", event{At: onDay(4), PlanID: "other", Until: api.To(onDay(60))})                            // of another product
	is.Equal([]any{f.Result, f.Waiting, f.ProductID}, []any{api.PurchaseResultChanged, api.Waiting(""), "prod_other"}) // it made the license
	is.Equal([]any{f.License.ProductID, f.License.PlanID, *f.License.ExpiresAt}, []any{"prod_other", "other", onDay(60)})
	is.NoErr(selling.New(s.Service).DeletePlan(t.Context(), api.DeletePlanParams{ID: "price_9"}))
	f = s.tell(t, "shop:1", event{At: onDay(5), PlanID: "price_9", Quantity: ptr[int64](1)})
	is.Equal([]any{f.Waiting, *f.License.MaxActivations}, []any{api.WaitingUnknownPlan, int64(1)})

	s.tell(t, "shop:2", event{CustomerID: "cus_ada", PlanID: "basic"})
	s.now = s.now.Add(90*24*time.Hour - 1)
	is.Equal(s.tell(t, "shop:2", event{State: "paused"}).Waiting, api.WaitingActive)
	s.now = s.now.Add(90 * 24 * time.Hour)
	_, err = selling.New(s.Service).GetPurchase(t.Context(), "shop:2")
	require.ErrorIs(t, err, api.ErrNotFound)
	is.Equal(s.tell(t, "shop:1", event{}).Result, api.PurchaseResultUnchanged) // never expires
}

// TestHandEditsSurvive: rule 7.
func TestHandEditsSurvive(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	ctx := t.Context()
	id := s.tell(t, "shop:1", paid()).LicenseID
	_, err := s.Update(ctx, api.UpdateLicenseParams{ID: id, MaxActivations: api.To[int64](9), ExpiresAt: api.To(onDay(500)), Name: ptr("Hand")})
	is.NoErr(err)
	l := *s.tell(t, "shop:1", event{At: onDay(2), PlanID: "basic", Quantity: ptr[int64](1), State: "active"}).License
	is.Equal([]any{*l.MaxActivations, *l.ExpiresAt, l.Name}, []any{int64(9), onDay(500), "Hand"})
	l = *s.tell(t, "shop:1", event{At: onDay(3), Quantity: ptr[int64](3)}).License
	is.Equal([]any{*l.MaxActivations, *l.ExpiresAt}, []any{int64(6), onDay(500)})
	l = *s.tell(t, "shop:1", event{At: onDay(4), Until: api.To(onDay(90))}).License
	is.Equal(*l.ExpiresAt, onDay(500)) // an end gives way to a later one
	l = *s.tell(t, "shop:1", event{At: onDay(4.5), Until: api.To(onDay(600))}).License
	is.Equal(*l.ExpiresAt, onDay(600))

	_, err = s.Suspend(ctx, api.ChangeStateParams{ID: id, Reason: "fraud"}) // by hand
	is.NoErr(err)
	s.tell(t, "shop:1", event{At: onDay(5), State: "paused"})
	l = *s.tell(t, "shop:1", event{At: onDay(6), State: "active"}).License
	is.Equal([]any{l.Status, l.StatusReason}, []any{api.LicenseSuspended, "fraud"})
	_, err = s.Reinstate(ctx, api.ChangeStateParams{ID: id})
	is.NoErr(err)
	l = *s.tell(t, "shop:1", event{At: onDay(7), State: "paused", Reason: "declined"}).License
	is.Equal([]any{l.Status, l.StatusReason}, []any{api.LicenseSuspended, "declined"})
	l = *s.tell(t, "shop:1", event{At: onDay(8), State: "active"}).License
	is.Equal([]any{l.Status, l.StatusReason}, []any{api.LicenseActive, ""})
	s.tell(t, "shop:1", event{At: onDay(9), State: "paused"})
	_, err = s.Reinstate(ctx, api.ChangeStateParams{ID: id})
	is.NoErr(err)
	is.Equal(s.tell(t, "shop:1", event{At: onDay(10), State: "paused"}).Result, api.PurchaseResultUnchanged) // by hand again
}

// TestPlansAreCopied: a change of a plan changes no license, and ApplyPlan does.
func TestPlansAreCopied(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	ctx := t.Context()
	e := paid()
	e.Quantity = ptr[int64](3)
	was := *s.tell(t, "shop:1", e).License
	plan, err := selling.New(s.Service).PutPlan(ctx, api.PutPlanParams{ID: "basic", ProductID: "prod_editor", Duration: api.Duration{Days: 1}, Terms: api.Terms{MaxActivations: ptr[int64](7)}})
	is.NoErr(err)
	is.Equal(plan.Revision, int64(2))
	s.tell(t, "shop:1", event{At: onDay(1), PlanID: "basic", State: "active"})
	is.Equal(s.mustGet(t, was.ID), was)
	l, err := selling.New(s.Service).ApplyPlan(ctx, api.ApplyPlanParams{ID: was.ID, PlanID: "basic", IfMatch: []api.Version{was.Version()}})
	is.NoErr(err)
	is.Equal([]any{*l.MaxActivations, l.GraceSeconds, len(l.Entitlements), l.PlanID}, []any{int64(21), int64(0), 0, "basic"})
	is.Equal([]any{*l.ExpiresAt, l.Key, l.Name}, []any{onDay(1), was.Key, was.Name})
	for id, field := range map[string]string{"other": "plan_id", "nothing": "plan_id", "": "plan_id"} {
		_, err = selling.New(s.Service).ApplyPlan(ctx, api.ApplyPlanParams{ID: was.ID, PlanID: id})
		invalid, _ := errors.AsType[*api.InvalidError](err)
		is.True(invalid != nil)
		is.Equal(invalid.Fields[0].Field, field)
	}
	_, err = selling.New(s.Service).ApplyPlan(ctx, api.ApplyPlanParams{ID: was.ID, PlanID: "pro", IfMatch: []api.Version{was.Version()}})
	require.ErrorIs(t, err, api.ErrStale)
}

// TestEndedIsFinal: rule 4, and what an operator can do about it.
func TestEndedIsFinal(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	ctx := t.Context()
	id := s.tell(t, "shop:1", paid()).LicenseID
	_, err := selling.New(s.Service).ReopenPurchase(ctx, api.ReopenPurchaseParams{Reference: "shop:1"})
	require.ErrorIs(t, err, api.ErrInvalid)
	l := *s.tell(t, "shop:1", event{At: onDay(10), State: "ended"}).License
	is.Equal([]any{*l.ExpiresAt, l.GraceSeconds, l.Status}, []any{onDay(10), int64(0), api.LicenseExpired})
	s.tell(t, "shop:1", event{At: onDay(12), State: "ended"})
	l = *s.tell(t, "shop:1", event{At: onDay(20), State: "active", Until: api.To(onDay(99))}).License
	is.Equal(*l.ExpiresAt, onDay(10))

	_, err = selling.New(s.Service).ReopenPurchase(ctx, api.ReopenPurchaseParams{Reference: "shop:1", At: onDay(11)})
	require.ErrorIs(t, err, api.ErrInvalid)
	f, err := selling.New(s.Service).ReopenPurchase(ctx, api.ReopenPurchaseParams{Reference: "shop:1", At: onDay(12)})
	is.NoErr(err)
	is.Equal([]any{f.Result, *f.License.ExpiresAt, f.License.GraceSeconds, f.EndedAt}, []any{api.PurchaseResultChanged, onDay(99), int64(86400), (*time.Time)(nil)})
	for _, day := range []float64{10, 12} {
		is.Equal(s.tell(t, "shop:1", event{At: onDay(day), State: "ended"}).Result, api.PurchaseResultUnchanged)
	}
	is.Equal(*s.tell(t, "shop:1", event{At: onDay(13), State: "ended"}).License.ExpiresAt, onDay(13))
	_, err = selling.New(s.Service).ReopenPurchase(ctx, api.ReopenPurchaseParams{Reference: "shop:1", At: s.now.Add(25 * time.Hour)})
	is.Equal(refusedField(err), "at")
	for caller, reference := range map[string]string{"prod_editor": "shop:none", "prod_other": "shop:1"} {
		_, err = selling.New(s.As(license.Caller{Products: []string{caller}})).ReopenPurchase(ctx, api.ReopenPurchaseParams{Reference: reference})
		require.ErrorIs(t, err, api.ErrNotFound)
	}

	again := paid() // a later subscription revives the key
	again.At, again.LicenseID, again.PlanID = onDay(35), id, "pro"
	f = s.tell(t, "shop:2", again)
	is.Equal([]any{f.LicenseID, f.Governs, *f.License.ExpiresAt, f.License.Reference, f.License.Status}, []any{id, true, onDay(35).AddDate(1, 0, 0), "shop:2", api.LicenseActive})
	f = s.tell(t, "shop:1", event{At: onDay(36), Quantity: ptr[int64](9)})
	is.Equal([]any{f.Result, f.Governs}, []any{api.PurchaseResultUnchanged, false})
	page, err := selling.New(s.Service).ListPurchases(ctx, api.ListPurchasesParams{LicenseID: id})
	is.NoErr(err)
	list := page.Data
	is.Equal([]string{list[0].Reference, list[1].Reference}, []string{"shop:2", "shop:1"})
	for _, search := range []string{"shop:1", "shop:2", "pro"} {
		page, err := s.List(ctx, api.ListLicensesParams{Search: search})
		is.NoErr(err)
		is.Equal(len(page.Data), 1)
	}
}

// TestPurchaseFillsMetadata: with its own entries and those of a purchase, a license
// has at most 50.
func TestPurchaseFillsMetadata(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	p := plain()
	p.Metadata = map[string]string{"mine": "1", "m7": "1"}
	l, err := s.Create(t.Context(), p)
	is.NoErr(err)
	e := paid()
	e.LicenseID, e.Metadata = l.ID, map[string]*string{}
	for n := range 50 {
		e.Metadata[fmt.Sprint("m", n)] = ptr("2")
	}
	got := s.tell(t, "shop:1", e).License.Metadata
	is.Equal(len(got), 50)
	is.Equal(got["m7"], "1") // the license was made after the purchase became active
	_, err = selling.New(s.Service).RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: "shop:1", Metadata: map[string]*string{"m50": ptr("2")}})
	is.Equal(refusedField(err), "metadata")
	_, err = selling.New(s.Service).GetPurchase(t.Context(), "license:"+l.ID) // what stands for the license is no purchase
	require.ErrorIs(t, err, api.ErrNotFound)
}

// TestNothingRevivesAGoneLicense: rule 8.
func TestNothingRevivesAGoneLicense(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	ctx := t.Context()
	revoked, deleted, erased := s.tell(t, "shop:1", paid()), s.tell(t, "shop:2", paid()), event{At: onDay(0), CustomerID: "cus_bob", PlanID: "basic", State: "active", Name: "Robert"}
	s.tell(t, "shop:3", erased)
	s.tell(t, "shop:4", event{CustomerID: "cus_bob", Name: "Robert"})
	_, err := s.Revoke(ctx, api.ChangeStateParams{ID: revoked.LicenseID})
	is.NoErr(err)
	is.NoErr(s.Delete(ctx, api.DeleteLicenseParams{ID: deleted.LicenseID}))
	done, err := s.EraseCustomer(ctx, "cus_bob")
	is.NoErr(err)
	is.Equal([]int{done.Licenses, done.Purchases}, []int{1, 2})
	before := s.events(t)
	later := paid()
	later.At, later.Until = onDay(20), api.To(onDay(300))
	is.Equal(s.tell(t, "shop:1", later).Result, api.PurchaseResultRevoked)
	is.Equal(s.tell(t, "shop:2", later).Result, api.PurchaseResultDeleted)
	is.Equal(s.tell(t, "shop:3", erased).Result, api.PurchaseResultDeleted)
	is.Equal(s.tell(t, "shop:4", erased).Result, api.PurchaseResultDeleted)
	later.LicenseID = deleted.LicenseID
	is.Equal(s.tell(t, "shop:5", later).Result, api.PurchaseResultDeleted)
	is.Equal(s.events(t), before)
	var archive strings.Builder
	is.NoErr(s.store.View(ctx, func(r store.Reader) error { return store.Export(ctx, r, &archive) }))
	for _, personal := range []string{"cus_bob", "Robert", "shop:3", "shop:4"} {
		require.NotContains(t, archive.String(), personal)
	}
	f, err := selling.New(s.Service).GetPurchase(ctx, "shop:3")
	is.NoErr(err)
	is.Equal([]any{f.Result, f.CustomerID, len(f.Fields)}, []any{api.PurchaseResultDeleted, "", 0})
}

// TestRecordPurchaseOfALimitedCaller: rule 10.
func TestRecordPurchaseOfALimitedCaller(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	ctx := t.Context()
	editor, other := s.As(license.Caller{Products: []string{"prod_editor"}}), s.As(license.Caller{Products: []string{"prod_other"}})
	e := paid()
	e.Reference = "shop:1"
	f, err := selling.New(editor).RecordPurchase(ctx, e)
	is.NoErr(err)
	e.PlanID = ""
	_, err = selling.New(editor).RecordPurchase(ctx, e)
	require.ErrorIs(t, err, api.ErrInvalid)
	for _, plan := range []string{"basic", "nothing"} {
		e.PlanID = plan
		_, err = selling.New(other).RecordPurchase(ctx, e)
		require.ErrorIs(t, err, api.ErrProductForbidden)
	}
	e.PlanID = "other"
	_, err = selling.New(other).RecordPurchase(ctx, e)
	require.ErrorIs(t, err, api.ErrReferenceTaken)
	e.Reference, e.LicenseID = "shop:2", f.LicenseID
	f, err = selling.New(other).RecordPurchase(ctx, e)
	is.NoErr(err)
	is.Equal(f.Result, api.PurchaseResultDeleted) // as if it did not exist
	_, err = selling.New(other).GetPurchase(ctx, "shop:1")
	require.ErrorIs(t, err, api.ErrNotFound)
}

// TestRecordPurchaseAppendsEvents: rule 10.
func TestRecordPurchaseAppendsEvents(t *testing.T) {
	is := is.New(t)
	asked := 0
	s := newTwice(t, func(o *license.Options) {
		o.BeforeCreate = func(_ context.Context, p *api.CreateLicenseParams) error {
			asked++
			p.Metadata["asked"] = "yes"
			return nil
		}
	})
	var id string
	for i, e := range []event{
		paid(),
		{At: onDay(1), State: "active", Until: api.To(onDay(90))},
		{At: onDay(2), State: "paused"},
		{At: onDay(2), State: "paused"},
		{At: onDay(3), State: "active"},
		{At: onDay(4), Name: "Ada"},
		{At: onDay(5), Name: "Ada"},
	} {
		f := s.tell(t, "shop:1", e)
		id = f.LicenseID
		is.Equal(f.Result == api.PurchaseResultUnchanged, i == 3 || i == 6)
	}
	is.Equal(asked, 1)
	is.Equal(s.mustGet(t, id).Metadata["asked"], "yes")
	page, err := s.Events(t.Context(), api.ListEventsParams{Subject: id})
	is.NoErr(err)
	var types []string
	for _, e := range page.Data {
		types = append(types, e.Type)
		data, err := e.Decode()
		is.NoErr(err)
		is.Equal(data.Reference, "shop:1")
	}
	is.Equal(types, []string{"license.created", "license.renewed", "license.suspended", "license.reinstated", "license.updated"})
}

// TestRecordPurchaseInParallel delivers each history several times concurrently.
func TestRecordPurchaseInParallel(t *testing.T) {
	for name, history := range histories {
		t.Run(name, func(t *testing.T) {
			for _, before := range []func(context.Context, *api.CreateLicenseParams) error{nil, func(context.Context, *api.CreateLicenseParams) error { return nil }} {
				s := newTwice(t, func(o *license.Options) { o.BeforeCreate = before })
				for _, e := range history {
					s.tell(t, "shop:1", e)
				}
				var wg sync.WaitGroup
				for _, e := range append(history, history...) {
					e.Reference = "shop:2"
					wg.Go(func() {
						if _, err := selling.New(s.Service).RecordPurchase(t.Context(), e); err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				is.New(t).Equal(s.outcome(t, "shop:2"), s.outcome(t, "shop:1"))
			}
		})
	}
}

// TestRecordPurchaseIsWhole: a crash at any call of the store leaves nothing half.
func TestRecordPurchaseIsWhole(t *testing.T) {
	for name, history := range histories {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			st := &crashingStore{Store: memory.New(), left: 1 << 30}
			s := newSeller(t, st)
			crashes := 0
			for i, e := range history {
				e.Reference = "shop:1"
				for n := 0; ; n++ {
					before := archiveOf(t, st.Store)
					st.left = n
					_, err := selling.New(s.Service).RecordPurchase(t.Context(), e)
					st.left = 1 << 30
					if err == nil {
						break
					}
					require.ErrorIs(t, err, errHalted)
					is.Equal(archiveOf(t, st.Store), before)
					crashes++
				}
				s.tell(t, "shop:2", history[i])
			}
			is.Equal(s.outcome(t, "shop:1"), s.outcome(t, "shop:2"))
			require.AtLeast(t, crashes, 5)
		})
	}
}

var errHalted = errors.New("halted")

// A crashingStore fails after a number of calls inside its Updates.
type crashingStore struct {
	store.Store
	left int
}

type crashingTx struct {
	store.Tx
	st *crashingStore
}

func (s *crashingStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.Store.Update(ctx, func(tx store.Tx) error { return fn(crashingTx{tx, s}) })
}

func (tx crashingTx) crash() error {
	if tx.st.left--; tx.st.left < 0 {
		return errHalted
	}
	return nil
}

func (tx crashingTx) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	if err := tx.crash(); err != nil {
		return store.Entry{}, err
	}
	return tx.Tx.Entry(ctx, kind, key)
}

func (tx crashingTx) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	entries, err := tx.Tx.Entries(ctx, q)
	return entries, errors.Join(err, tx.crash())
}

func (tx crashingTx) DeleteEntries(ctx context.Context, kind string, keys ...string) error {
	return errors.Join(tx.Tx.DeleteEntries(ctx, kind, keys...), tx.crash())
}

func (tx crashingTx) License(ctx context.Context, id string) (store.License, error) {
	l, err := tx.Tx.License(ctx, id)
	return l, errors.Join(err, tx.crash())
}

func (tx crashingTx) PutEntries(ctx context.Context, entries ...store.Entry) error {
	if err := tx.crash(); err != nil {
		return err
	}
	return errors.Join(tx.Tx.PutEntries(ctx, entries...), tx.crash())
}

func (tx crashingTx) CreateLicenses(ctx context.Context, licenses ...store.License) error {
	return errors.Join(tx.Tx.CreateLicenses(ctx, licenses...), tx.crash())
}

func (tx crashingTx) UpdateLicense(ctx context.Context, l store.License) error {
	return errors.Join(tx.Tx.UpdateLicense(ctx, l), tx.crash())
}

func (tx crashingTx) AppendEvents(ctx context.Context, events ...store.Event) error {
	return errors.Join(tx.Tx.AppendEvents(ctx, events...), tx.crash())
}

func archiveOf(t *testing.T, st store.Store) string {
	t.Helper()
	var out strings.Builder
	err := st.View(t.Context(), func(r store.Reader) error { return store.Export(t.Context(), r, &out) })
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestPurchasesMove: archives and rows of an import carry what keeps the first event
// after a move from creating another license, and a customer from another trial.
func TestPurchasesMove(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	s := newTwice(t)
	id := s.tell(t, "shop:1", paid()).LicenseID
	s.tell(t, "shop:2", event{CustomerID: "cus_ada", PlanID: "basic"})
	trial, err := selling.New(s.Service).StartTrial(ctx, api.StartTrialParams{PlanID: "trial", CustomerID: "cus_bob", Subjects: []string{"device:1"}})
	is.NoErr(err)
	var rows strings.Builder
	is.NoErr(s.Export(ctx, &rows, api.ListLicensesParams{}))

	moved := memory.New()
	is.NoErr(store.Import(ctx, moved, strings.NewReader(archiveOf(t, s.store))))
	imported := newTwice(t)
	imported.tell(t, "shop:1", event{At: onDay(50 - 10), Quantity: ptr[int64](3)}) // before the license
	is.NoErr(imported.Import(ctx, strings.NewReader(rows.String()), func(r api.RowResult) error {
		is.Equal(r.Result, api.ImportCreated)
		return nil
	}))
	is.Equal(*imported.mustGet(t, id).MaxActivations, int64(6)) // with what was reported before
	for _, s := range []*seller{{Service: license.New(moved, license.Options{Now: func() time.Time { return s.now }}), store: moved}, imported} {
		e := paid()
		e.At = onDay(5)
		f := s.tell(t, "shop:1", e)
		is.Equal(f.LicenseID, id)
		if s == imported {
			is.Equal(*f.License.MaxActivations, int64(6))
		}
		again, err := selling.New(s.Service).StartTrial(ctx, api.StartTrialParams{PlanID: "trial", CustomerID: "cus_bob"})
		is.NoErr(err)
		is.Equal([]any{again.Started, again.License.ID}, []any{false, trial.License.ID})
		if s != imported {
			is.Equal(s.tell(t, "shop:2", event{At: onDay(1), State: "active"}).Result, api.PurchaseResultCreated)
			_, err = selling.New(s.Service).StartTrial(ctx, api.StartTrialParams{PlanID: "trial", CustomerID: "cus_eve", Subjects: []string{"device:1"}})
			require.ErrorIs(t, err, api.ErrTrialTaken)
		}
	}
	row := fmt.Sprintf(`{"id":%q,"name":"n","product_id":"p","customer_id":"cus_ada","reference":"shop:1"}`, store.NewID("lic", s.now))
	is.NoErr(imported.Import(ctx, strings.NewReader(row), func(r api.RowResult) error {
		is.Equal([]string{r.Result, r.Errors[0].Field, r.Errors[0].Code}, []string{api.ImportRefused, "reference", api.FieldTaken})
		return nil
	}))
}
