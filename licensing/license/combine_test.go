package license_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/purchasetest"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// newShop returns a seller with plans that combine.
func newShop(t *testing.T, st store.Store) *seller {
	t.Helper()
	s := newSeller(t, st)
	for _, p := range []api.PutPlanParams{
		{ID: "year", Duration: api.Duration{Days: 365}, Terms: api.Terms{MaxActivations: ptr[int64](5), Entitlements: map[string]any{"export": true}}},
		{ID: "year2", Line: "year", Duration: api.Duration{Days: 365}, Terms: api.Terms{MaxActivations: ptr[int64](6)}},
		{ID: "month", Duration: api.Duration{Days: 30}, Terms: api.Terms{GraceSeconds: 86400, MaxActivations: ptr[int64](2)}},
		{ID: "free", Terms: api.Terms{MaxActivations: ptr[int64](1)}},
		{ID: "seats", Kind: api.PlanAddOn, Duration: api.Duration{Days: 30}, Terms: api.Terms{MaxActivations: ptr[int64](2), Entitlements: map[string]any{"projects": 3}}},
		{ID: "sso", Kind: api.PlanAddOn, Terms: api.Terms{MaxActivations: ptr[int64](0), Entitlements: map[string]any{"sso": true}}},
	} {
		p.ProductID = "prod_editor"
		_, err := selling.New(s.Service).PutPlan(t.Context(), p)
		is.New(t).NoErr(err)
	}
	s.now = onDay(0)
	return s
}

// check fails unless what is stored of a license is what its purchases make of it now.
func (s *seller) check(t *testing.T, id string) {
	t.Helper()
	row, err := s.store.License(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	rec, err := licenses.Read(row, s.now)
	if err != nil {
		t.Fatal(err)
	}
	stored, err := licenses.StateOf(rec)
	if err != nil {
		t.Fatal(err)
	}
	purchases, err := inner.Of(s.Service).Purchases().TermsOf(t.Context(), s.store, id)
	if err != nil {
		t.Fatal(err)
	}
	grant := terms.GrantOf(purchases, rec.ProductID)
	given, ok := grant.At(s.now)
	if !ok {
		return
	}
	want := stored
	want.Terms, want.Changes = stored.Hand.Over(given), grant.Changes(stored.Hand, s.now)
	if want.Name == "" {
		want.Name = stored.Name
	}
	want.ProductID = stored.ProductID
	var expected record.License = rec
	licenses.PutState(want, &expected)
	got, exp := rec.Row(), expected.Row()
	if !bytes.Equal(got.Document, exp.Document) || !got.ExpiresAt.Equal(exp.ExpiresAt) {
		t.Fatalf("stored:\n%s %s\nof the purchases:\n%s %s", got.ExpiresAt, got.Document, exp.ExpiresAt, exp.Document)
	}
}

// A bought is an event of a purchase.
type bought struct {
	reference string
	event
}

func sold(reference, plan string, day float64) bought {
	return bought{reference, event{At: onDay(day), PlanID: plan, State: api.PurchaseActive}}
}

func said(reference string, day float64, state api.PurchaseState) bought {
	return bought{reference, event{At: onDay(day), State: state}}
}

func until(e bought, day float64) bought {
	e.Until = api.To(onDay(day))
	return e
}

func (s *seller) shown(t *testing.T, id string) purchasetest.Shown {
	t.Helper()
	return purchasetest.Show(t, s.Service, id)
}

// TestOrdinaryHistories: each ends the same in every order of its events, and is stored as
// what its purchases make of it.
func TestOrdinaryHistories(t *testing.T) {
	st := memory.New()
	purchasetest.Run(t, st, func(t *testing.T, id string, now time.Time) {
		(&seller{Service: license.New(st, license.Options{Now: func() time.Time { return now }}), store: st, now: now}).check(t, id)
	})
}

// sell reports sales in an order. The license is that of the purchase "a"; the others say
// which one it is as soon as it is there.
func (s *seller) sell(t *testing.T, sales []bought, order []int) (id string) {
	t.Helper()
	made := s.tell(t, "a", event{At: onDay(-1), CustomerID: "cus_ada"})
	is.New(t).Equal(made.License, nil)
	later := func(i int) {
		e := sales[i].event
		e.CustomerID = "cus_ada"
		if sales[i].reference != "a" {
			e.LicenseID = id
		}
		f := s.tell(t, sales[i].reference, e)
		if sales[i].reference == "a" && f.License != nil {
			id = f.LicenseID
		}
		if id != "" {
			s.check(t, id)
		}
	}
	var waiting []int
	for _, i := range order {
		if id == "" && sales[i].reference != "a" {
			waiting = append(waiting, i)
			continue
		}
		later(i)
	}
	for _, i := range waiting {
		later(i)
	}
	return id
}

// TestTimeChangesTerms: whatever has run, every read is that of the instant, each change
// is one revision, and the clock's events and those of writes say what has changed.
func TestTimeChangesTerms(t *testing.T) {
	is := is.New(t)
	st := memory.New()
	s := newShop(t, st)
	id := s.sell(t, []bought{sold("a", "year", 0), sold("b", "seats", 0)}, []int{0, 1})
	before := s.mustGet(t, id)
	is.Equal(*before.MaxActivations, int64(7))
	is.Equal(string(record.Encode(before.Upcoming)), `[{"at":"2026-03-31T12:00:00Z","max_activations":5,"entitlements":{"projects":null}}]`)
	f, err := selling.New(s.Service).GetPurchase(t.Context(), "b")
	is.NoErr(err)
	is.Equal([]any{f.Counts, f.Governs, f.StartsAt, *f.EndsAt}, []any{true, false, (*time.Time)(nil), onDay(30)})

	s.now = onDay(31)
	l := s.mustGet(t, id)
	is.Equal([]any{*l.MaxActivations, l.Revision, l.UpdatedAt}, []any{int64(5), before.Revision + 1, onDay(30)})
	is.Equal(len(l.Upcoming), 0)
	f, err = selling.New(s.Service).GetPurchase(t.Context(), "b")
	is.NoErr(err)
	is.True(!f.Counts)
	is.True(l.ETag() != before.ETag())
	list, err := s.List(t.Context(), api.ListLicensesParams{})
	is.NoErr(err)
	is.Equal(list.Data[0], l)
	text, _, err := inner.Of(s.Service).Licenses().GetEncoded(t.Context(), id)
	is.NoErr(err)
	var sent api.License
	is.NoErr(json.Unmarshal(text, &sent))
	is.Equal(sent, l)

	// Two processes append one event, and store what every read says.
	other := license.New(st, license.Options{Now: func() time.Time { return s.now }})
	events := s.events(t)
	for _, process := range []*license.Service{s.Service, other, s.Service} {
		_, err := inner.Of(process).Licenses().ApplyDue(t.Context())
		is.NoErr(err)
	}
	is.Equal(s.events(t), events+1)
	page, err := s.Events(t.Context(), api.ListEventsParams{NewestFirst: true, Limit: 1})
	is.NoErr(err)
	e := page.Data[0]
	is.Equal([]any{e.Type, e.Actor}, []any{api.EventLicenseUpdated, "clock"})
	data, err := e.Decode()
	is.NoErr(err)
	is.Equal(data.Ended, []string{"b"})
	is.Equal(data.Changes["max_activations"], api.FieldChange{From: 7.0, To: 5.0})
	is.Equal(s.mustGet(t, id), l)
	row, err := st.License(t.Context(), id)
	is.NoErr(err)
	rec, err := record.ReadLicense(row)
	is.NoErr(err)
	is.Equal([]any{rec.MaxActivations, rec.ChangesAt}, []any{int64(5), time.Time{}})
}

// TestWriteAfterAChange: a write that comes before the clock appends the clock's event.
func TestWriteAfterAChange(t *testing.T) {
	is := is.New(t)
	s := newShop(t, storetest.Twice(memory.New()))
	id := s.sell(t, []bought{sold("a", "year", 0), sold("b", "seats", 0)}, []int{0, 1})
	events := s.events(t)
	s.now = onDay(40)
	l, err := s.Update(t.Context(), api.UpdateLicenseParams{ID: id, Name: ptr("Ada")})
	is.NoErr(err)
	is.Equal(s.events(t), events+2)
	more, err := inner.Of(s.Service).Licenses().ApplyDue(t.Context())
	is.NoErr(err)
	is.True(!more)
	is.Equal(s.events(t), events+2)
	is.Equal(s.mustGet(t, id), l)
	page, err := s.Events(t.Context(), api.ListEventsParams{NewestFirst: true, Limit: 2})
	is.NoErr(err)
	clock, err := page.Data[1].Decode()
	is.NoErr(err)
	is.Equal([]any{page.Data[0].Actor, page.Data[1].Actor, clock.License.Revision, l.Revision}, []any{"go", "clock", l.Revision - 1, l.Revision})
}

// TestStackedRenewal: a renewal that was bought early counts from the end of the year
// before, and both say so.
func TestStackedRenewal(t *testing.T) {
	is := is.New(t)
	s := newShop(t, memory.New())
	s.now = onDay(300)
	id := s.sell(t, []bought{sold("a", "year", 0), sold("b", "year2", 300)}, []int{0, 1})
	l := s.mustGet(t, id)
	is.Equal([]any{*l.MaxActivations, l.Reference, *l.ExpiresAt}, []any{int64(5), "a", onDay(730)})
	is.Equal([]any{l.Upcoming[0].At, l.Upcoming[0].MaxActivations.Value, l.Upcoming[0].Reference}, []any{onDay(365), int64(6), "b"})
	page, err := selling.New(s.Service).ListPurchases(t.Context(), api.ListPurchasesParams{LicenseID: id})
	is.NoErr(err)
	list := page.Data
	is.Equal([]any{list[0].Reference, list[0].Governs, list[0].Counts}, []any{"a", true, true})
	is.Equal([]any{list[1].Governs, list[1].Counts, *list[1].StartsAt, *list[1].EndsAt}, []any{false, false, onDay(365), onDay(730)})
	v, err := s.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key})
	is.NoErr(err)
	is.Equal([]string{v.License.Reference, v.License.Upcoming[0].Reference}, []string{"", ""}) // not for a license key holder
	s.now = onDay(365)
	is.Equal(s.mustGet(t, id).Reference, "b")
}

// TestUndoOfTakingOver: a base takes over a license that no purchase made, and its refund
// gives the license back, with what was set by hand meanwhile.
func TestUndoOfTakingOver(t *testing.T) {
	is := is.New(t)
	s := newShop(t, memory.New())
	p := plain()
	p.ProductID, p.CustomerID, p.MaxActivations, p.ExpiresAt = "prod_editor", "cus_ada", ptr[int64](1), ptr(onDay(100))
	l, err := s.Create(t.Context(), p)
	is.NoErr(err)
	s.tell(t, "b", event{At: onDay(0), CustomerID: "cus_ada", PlanID: "year", State: "active", LicenseID: l.ID})
	s.check(t, l.ID)
	got := s.mustGet(t, l.ID)
	is.Equal([]any{*got.MaxActivations, *got.ExpiresAt, got.Reference}, []any{int64(5), onDay(465), "b"})
	page, err := selling.New(s.Service).ListPurchases(t.Context(), api.ListPurchasesParams{LicenseID: l.ID})
	is.NoErr(err)
	list := page.Data
	is.Equal(len(list), 1)
	s.now = onDay(1)
	s.tell(t, "b", event{At: onDay(1), State: "refunded"})
	s.check(t, l.ID)
	got = s.mustGet(t, l.ID)
	is.Equal([]any{*got.MaxActivations, *got.ExpiresAt, got.Reference, got.Name}, []any{int64(1), onDay(100), "", l.Name})
	_, err = selling.New(s.Service).RecordPurchase(t.Context(), event{Reference: "license:" + l.ID, State: "active"})
	is.Equal(refusedField(err), "reference")
	is.NoErr(s.Delete(t.Context(), api.DeleteLicenseParams{ID: l.ID}))
	is.True(!bytes.Contains([]byte(everything(t, s.store)), []byte(`"reference":"license:`)))
}

// TestTwoOwnersOfASuspension: a payment ends only the pause of its purchase, and Reinstate
// ends both.
func TestTwoOwnersOfASuspension(t *testing.T) {
	is := is.New(t)
	s := newShop(t, memory.New())
	id := s.sell(t, []bought{sold("a", "year", 0), said("a", 0.1, "paused")}, []int{0, 1})
	l := s.mustGet(t, id)
	is.Equal(l.Status, api.LicenseSuspended)
	held, err := s.Suspend(t.Context(), api.ChangeStateParams{ID: id, Reason: "fraud"})
	is.NoErr(err)
	is.Equal([]any{held.StatusReason, held.Revision}, []any{"fraud", l.Revision + 1})
	_, err = s.Suspend(t.Context(), api.ChangeStateParams{ID: id, Reason: "fraud"})
	is.True(err != nil) // it is held
	is.Equal(s.tell(t, "a", event{At: onDay(0.2), State: "active"}).License.Status, api.LicenseSuspended)
	s.tell(t, "a", event{At: onDay(0.3), State: "paused", Reason: "declined"})
	free, err := s.Reinstate(t.Context(), api.ChangeStateParams{ID: id})
	is.NoErr(err)
	is.Equal(free.Status, api.LicenseActive)
	is.Equal(s.tell(t, "a", event{At: onDay(0.4), Quantity: ptr[int64](2)}).License.Status, api.LicenseActive)
	s.tell(t, "a", event{At: onDay(0.5), State: "active"})
	is.Equal(s.tell(t, "a", event{At: onDay(0.6), State: "paused"}).License.Status, api.LicenseSuspended)
}

// TestProductOfALicense: it is that of the plan of the purchase that made it. A purchase of
// another product waits, also with a license, and counts when it fits.
func TestProductOfALicense(t *testing.T) {
	is := is.New(t)
	s := newShop(t, memory.New())
	id := s.sell(t, []bought{sold("a", "year", 0), sold("b", "seats", 0)}, []int{0, 1})
	generation := s.mustGet(t, id).Generation
	l := s.tell(t, "a", event{At: onDay(0.1), PlanID: "other"}).License
	is.Equal([]any{l.ProductID, *l.MaxActivations, l.Generation}, []any{"prod_other", int64(1), generation + 1})
	page, err := selling.New(s.Service).ListPurchases(t.Context(), api.ListPurchasesParams{Waiting: api.WaitingOtherProduct})
	is.NoErr(err)
	waiting := page.Data
	is.Equal([]any{len(waiting), waiting[0].Reference, waiting[0].Counts}, []any{1, "b", false})
	n, list, err := inner.Of(s.Service).Purchases().WaitingPurchases(t.Context(), 9)
	is.NoErr(err)
	is.Equal([]any{n, list[0].Reference, list[0].Waits, list[0].LicenseID}, []any{1, "b", api.WaitingOtherProduct, id})
	l = s.tell(t, "a", event{At: onDay(0.2), PlanID: "year"}).License
	is.Equal([]any{l.ProductID, *l.MaxActivations}, []any{"prod_editor", int64(7)})
	n, _, err = inner.Of(s.Service).Purchases().WaitingPurchases(t.Context(), 9)
	is.NoErr(err)
	is.Equal(n, 0)
	is.Equal(s.tell(t, "c", event{At: onDay(0), CustomerID: "cus_ada", PlanID: "sso", State: "active"}).Waiting, api.WaitingLicenseID)
}

// TestFilesEndAtALoss: a file does not promise what ends before it, and buying what ends
// one day does not outdate files.
func TestFilesEndAtALoss(t *testing.T) {
	is := is.New(t)
	s := newShop(t, memory.New())
	id := s.sell(t, []bought{sold("a", "year", 0)}, []int{0})
	generation := s.mustGet(t, id).Generation
	s.tell(t, "b", event{At: onDay(0), CustomerID: "cus_ada", PlanID: "seats", State: "active", LicenseID: id})
	l := s.mustGet(t, id)
	is.Equal(l.Generation, generation)
	s.now = onDay(25)
	f, err := inner.Of(s.Service).Seats().IssueFile(t.Context(), api.IssueFileParams{LicenseID: id, Fingerprint: "pc"})
	is.NoErr(err)
	is.Equal(f.ExpiresAt, onDay(30)) // the entitlement projects ends
	v, err := s.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Entitlements: []string{"projects"}})
	is.NoErr(err)
	is.Equal(*v.NextChangeAt, onDay(30))
	s.now = onDay(30).Add(-time.Minute)
	v, err = s.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Entitlements: []string{"projects"}})
	is.NoErr(err)
	is.Equal(v.RecheckAfter, int64(60))
	s.now = onDay(30)
	v, err = s.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key, Entitlements: []string{"projects"}})
	is.NoErr(err)
	is.Equal(v.Code, api.VerdictEntitlementMissing)
}

// TestFilesAfterAnAddOnEnded: of seven activations of a license that has five seats now,
// all stay, none is added, and the oldest five still get files.
func TestFilesAfterAnAddOnEnded(t *testing.T) {
	is := is.New(t)
	s := newShop(t, memory.New())
	id := s.sell(t, []bought{sold("a", "year", 0), sold("b", "seats", 0)}, []int{0, 1})
	key := s.mustGet(t, id).Key
	for i := range 7 {
		s.now = s.now.Add(time.Second)
		v, err := s.Activate(t.Context(), api.ActivateKeyParams{Key: key, Fingerprint: fmt.Sprint("pc-", i)})
		is.NoErr(err)
		is.True(v.Valid)
	}
	s.now = onDay(40)
	got := ""
	for i := range 7 {
		v, err := s.Validate(t.Context(), api.ValidateKeyParams{Key: key, Fingerprint: fmt.Sprint("pc-", 6-i), File: days14})
		is.NoErr(err)
		is.True(v.Valid)
		if v.FileReason == nil {
			got += fmt.Sprint(6 - i)
		} else {
			is.Equal(v.FileReason.Code, api.VerdictActivationLimit)
		}
	}
	is.Equal(got, "43210")
	_, err := s.Activate(t.Context(), api.ActivateKeyParams{Key: key, Fingerprint: "pc-8"})
	is.True(err != nil)
	_, err = s.Deactivate(t.Context(), api.DeactivateKeyParams{Key: key, Fingerprint: "pc-0"})
	is.NoErr(err)
	v, err := s.Validate(t.Context(), api.ValidateKeyParams{Key: key, Fingerprint: "pc-5", File: days14})
	is.NoErr(err)
	is.Equal(v.FileReason, nil) // it is now one of the oldest five
}

// TestCombineStopped: a call that fails at any call of the store changes nothing, and the
// same sales then lead to the same license.
func TestCombineStopped(t *testing.T) {
	is := is.New(t)
	sales := []bought{sold("a", "year", 0), sold("b", "seats", 0), sold("c", "year2", 0.1), said("a", 0.2, "refunded"), sold("d", "other", 0.3)}
	st := &crashingStore{memory.New(), 1 << 30}
	s, crashes := newShop(t, st), 0
	id := ""
	for _, e := range sales {
		e.CustomerID, e.Reference, e.LicenseID = "cus_ada", e.reference, id
		before := archiveOf(t, st.Store)
		for left := 0; ; left++ {
			st.left = left
			_, err := selling.New(s.Service).RecordPurchase(t.Context(), e.event)
			st.left = 1 << 30
			if err == nil {
				break
			}
			crashes++
			is.Equal(archiveOf(t, st.Store), before)
		}
		f, err := selling.New(s.Service).GetPurchase(t.Context(), e.reference)
		is.NoErr(err)
		id = f.LicenseID
		s.check(t, id)
	}
	is.True(crashes > 20)
	s.now = onDay(31)
	before := archiveOf(t, st.Store)
	for left := 0; ; left++ {
		st.left = left
		_, err := inner.Of(s.Service).Licenses().ApplyDue(t.Context())
		st.left = 1 << 30
		if err == nil {
			break
		}
		is.Equal(archiveOf(t, st.Store), before)
	}
	s.check(t, id)
}

// TestApplyPlanBesideAddOns: a plan that is applied by hand replaces what the bases allow,
// and add-ons still add and end.
func TestApplyPlanBesideAddOns(t *testing.T) {
	is := is.New(t)
	s := newShop(t, memory.New())
	id := s.sell(t, []bought{sold("a", "year", 0), sold("b", "seats", 0)}, []int{0, 1})
	l, err := selling.New(s.Service).ApplyPlan(t.Context(), api.ApplyPlanParams{ID: id, PlanID: "month"})
	is.NoErr(err)
	s.check(t, id)
	is.Equal([]any{*l.MaxActivations, l.PlanID, l.GraceSeconds}, []any{int64(4), "month", int64(86400)})
	s.now = onDay(31)
	s.check(t, id)
	is.Equal(*s.mustGet(t, id).MaxActivations, int64(2))
}

// TestHandThatAddOnsAddTo: a number of seats set by hand is the whole at that moment, and
// an end set by hand gives way only to a later one.
func TestHandThatAddOnsAddTo(t *testing.T) {
	is := is.New(t)
	s := newShop(t, memory.New())
	id := s.sell(t, []bought{sold("a", "year", 0), sold("b", "seats", 0)}, []int{0, 1})
	_, err := s.Update(t.Context(), api.UpdateLicenseParams{ID: id, MaxActivations: api.To[int64](50), ExpiresAt: api.To(onDay(500))})
	is.NoErr(err)
	s.tell(t, "c", event{At: onDay(0), CustomerID: "cus_ada", PlanID: "seats", State: "active", LicenseID: id})
	is.Equal(s.shown(t, id).Seats, int64(52))
	s.now = onDay(31)
	s.check(t, id)
	is.Equal([]any{s.shown(t, id).Seats, s.shown(t, id).End}, []any{int64(48), 500.0})
	s.tell(t, "d", event{At: onDay(31), CustomerID: "cus_ada", PlanID: "year", State: "active", LicenseID: id})
	is.Equal([]any{s.shown(t, id).Seats, s.shown(t, id).End}, []any{int64(48), 730.0})
}

// randomSales returns sales of several purchases of one license.
func randomSales(r *rand.Rand) (sales []bought) {
	for n := range 1 + r.IntN(3) {
		reference := string(rune('a' + n))
		day := float64(r.IntN(60))
		plans := []string{"year", "basic", "plus", "free", "seats", "sso", "maintained", "year2", "other", "month", "daily", "more", "pack"}
		if n == 0 {
			plans = plans[:3]
		}
		sales = append(sales, sold(reference, plans[r.IntN(len(plans))], day))
		for range r.IntN(3) {
			e := said(reference, day+float64(r.IntN(50)), []api.PurchaseState{"active", "paused", "ended", "refunded", ""}[r.IntN(5)])
			switch r.IntN(4) {
			case 0:
				e.Quantity = ptr(1 + r.Int64N(4))
			case 1:
				e.Until = api.To(onDay(day + float64(r.IntN(90))))
			case 2:
				e.PlanID = plans[r.IntN(len(plans))]
			}
			sales = append(sales, e)
		}
	}
	return sales
}

// combineRandomly reports random sales in several orders, as time passes and an operator
// edits the license, and checks what is stored after each.
func (s *seller) combineRandomly(t *testing.T, seed uint64, n int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 50))
	for h := range n {
		sales := randomSales(r)
		end, outcome := onDay(float64(110+r.IntN(80))), ""
		for try := range 3 {
			name := func(reference string) string { return fmt.Sprint(reference, ":", seed, ":", h, ":", try) }
			s.now = end
			byHand := try == 2
			if byHand {
				s.now = onDay(110)
			}
			id := ""
			order := append([]int{0}, r.Perm(len(sales))...)
			for _, i := range order {
				e := sales[i].event
				if e.CustomerID = "cus_ada"; sales[i].reference != "a" {
					e.LicenseID = id
				}
				f := s.tell(t, name(sales[i].reference), e)
				if id == "" {
					id = f.LicenseID
				}
				s.check(t, id)
				if byHand {
					s.now = s.now.Add(time.Duration(r.IntN(30*24)) * time.Hour)
					s.check(t, id)
					s.editTerms(t, r, id)
					s.check(t, id)
				}
			}
			if byHand {
				continue
			}
			l := s.mustGet(t, id)
			l.ID, l.Key, l.Revision, l.Generation, l.StatusReason, l.Reference = "", "", 0, 0, "", ""
			l.CreatedAt, l.UpdatedAt = time.Time{}, time.Time{}
			for i := range l.Upcoming {
				l.Upcoming[i].Reference = ""
			}
			got := string(record.Encode(l))
			if outcome == "" {
				outcome = got
			}
			if got != outcome {
				t.Fatalf("history %d, order %v:\n%s\nand another:\n%s\n%+v", h, order, got, outcome, sales)
			}
		}
	}
}

// editTerms changes a field of a license by hand.
func (s *seller) editTerms(t *testing.T, r *rand.Rand, id string) {
	t.Helper()
	p := api.UpdateLicenseParams{ID: id}
	switch r.IntN(7) {
	case 6:
		p.Meters = api.To(map[string]*api.MeterChange{"exports": {Limit: api.To(r.Int64N(90))}, "credits": nil, "beta": {}})
	case 0:
		p.MaxActivations = api.To(r.Int64N(9))
	case 1:
		p.ExpiresAt = api.To(s.now.Add(time.Duration(1+r.IntN(90)) * 24 * time.Hour))
	case 2:
		p.Entitlements = api.To(map[string]any{"sso": nil, "beta": true})
	case 3:
		p.Name = ptr(fmt.Sprint("Hand ", r.IntN(9)))
	case 4:
		p.MaxActivations = api.ToNull[int64]()
	default:
		return
	}
	_, err := s.Update(t.Context(), p)
	is.New(t).NoErr(err)
}

func TestRandomPurchasesCombine(t *testing.T) {
	t.Run("memory", func(t *testing.T) { newMeterShop(t, memory.New()).combineRandomly(t, 1, max(100, *numHistories)) })
	t.Run("memory, each Update twice", func(t *testing.T) { newMeterShop(t, storetest.Twice(memory.New())).combineRandomly(t, 2, 40) })
	t.Run("sqlite", func(t *testing.T) {
		st, err := sqlite.Open(t.TempDir() + "/licenses.db")
		is.New(t).NoErr(err)
		defer st.Close()
		newMeterShop(t, st).combineRandomly(t, 3, 10)
	})
}

// TestRandomPurchasesConverge reports them to two services, concurrently.
func TestRandomPurchasesConverge(t *testing.T) {
	st := memory.New()
	purchasetest.Converge(t, 1, 200, memory.New(), st, st)
}
