package license_test

import (
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// newWorkshop returns a license of Ada with two bases and two add-ons, of which one ends on day 30. Its
// name, metadata and seats were set by hand, one purchase is paused, and an operator holds it.
func newWorkshop(t *testing.T) (s *seller, id string) {
	t.Helper()
	is := is.New(t)
	s = newShop(t, memory.New())
	sales := []bought{sold("a", "year", 0), sold("b", "seats", 0), sold("c", "sso", 0), sold("d", "month", 0.5)}
	for i := range sales {
		sales[i].Name, sales[i].Metadata = "Ada Lovelace", map[string]*string{"mail": ptr("ada@example.com")}
	}
	id = s.sell(t, sales, []int{0, 1, 2, 3})
	s.tell(t, "a", event{At: onDay(0.6), State: "paused", Reason: "the card of ada"})
	s.tell(t, "d", event{At: onDay(0.6), State: "paused", Reason: "the card of ada"})
	_, err := s.Update(t.Context(), api.UpdateLicenseParams{ID: id, Name: ptr("Countess Ada"), Metadata: api.To(map[string]*string{"note": ptr("met ada"), "mail": nil}), MaxActivations: api.To[int64](20)})
	is.NoErr(err)
	_, err = s.Suspend(t.Context(), api.ChangeStateParams{ID: id, Reason: "ada is a fraud"})
	is.NoErr(err)
	return s, id
}

// TestTransferOfALicenseWithAddOns: the license, with what is coming, goes to the new
// customer as it is, still suspended by both, and what was said of the former customer does
// not come back with later events.
func TestTransferOfALicenseWithAddOns(t *testing.T) {
	is := is.New(t)
	s, id := newWorkshop(t)
	before := s.mustGet(t, id)
	l, err := s.Transfer(t.Context(), api.TransferLicenseParams{ID: id, CustomerID: "cus_bob", Name: "Bob", Metadata: map[string]string{"room": "7"}})
	is.NoErr(err)
	s.check(t, id)
	is.Equal([]any{l.Name, l.Metadata, l.Status, l.StatusReason}, []any{"Bob", map[string]string{"room": "7"}, api.LicenseSuspended, ""})
	is.Equal([]any{l.Terms, l.ExpiresAt, l.Upcoming, l.Reference}, []any{before.Terms, before.ExpiresAt, before.Upcoming, before.Reference})
	page, err := selling.New(s.Service).ListPurchases(t.Context(), api.ListPurchasesParams{LicenseID: id})
	is.NoErr(err)
	list := page.Data
	is.Equal(len(list), 4)
	for _, f := range list {
		is.Equal(f.CustomerID, "cus_bob")
		is.Equal(f.Fields["name"].At.IsZero(), true)
	}
	_, err = s.EraseCustomer(t.Context(), "cus_ada") // her events
	is.NoErr(err)
	is.Equal(s.mustGet(t, id), l)
	if lines := mentions(t, s.store, "countess", "lovelace", "ada@", "met ada", "the card of", "a fraud"); len(lines) > 0 {
		t.Error(lines)
	}

	for _, e := range []event{{At: onDay(0.7), CustomerID: "cus_ada", Name: "Ada", State: "active"}, {At: onDay(0.7), State: "active"}} {
		for _, reference := range []string{"a", "d"} { // the pauses end, and the operator's hold stays
			s.tell(t, reference, e)
			s.check(t, id)
			is.Equal(s.mustGet(t, id).StatusReason, "")
		}
	}
	is.Equal(s.mustGet(t, id).Status, api.LicenseSuspended)
	_, err = s.Reinstate(t.Context(), api.ChangeStateParams{ID: id})
	is.NoErr(err)
	s.tell(t, "b", event{At: onDay(0.8), CustomerID: "cus_bob", Quantity: ptr[int64](2)})
	s.check(t, id)
	l = s.mustGet(t, id)
	is.Equal([]any{l.Status, *l.MaxActivations, l.Name, l.Metadata}, []any{api.LicenseActive, int64(22), "Bob", map[string]string{"room": "7"}})
	s.now = onDay(30)
	s.check(t, id)
	is.Equal(*s.mustGet(t, id).MaxActivations, int64(18)) // of the 20 by hand, 2 were an add-on's
	s.tell(t, "d", event{At: onDay(29), CustomerID: "cus_bob", Name: "Robert"})
	s.check(t, id)
	is.Equal([]any{s.mustGet(t, id).Name, s.mustGet(t, id).Metadata}, []any{"Robert", map[string]string{"room": "7"}})
}

// TestRevokedLicenseWithAddOns: what is coming still comes, and no purchase changes the
// license any more.
func TestRevokedLicenseWithAddOns(t *testing.T) {
	is := is.New(t)
	s, id := newWorkshop(t)
	_, err := s.Revoke(t.Context(), api.ChangeStateParams{ID: id, Reason: "fraud"})
	is.NoErr(err)
	before := s.mustGet(t, id)
	s.now = onDay(1)
	for _, reference := range []string{"a", "b", "d"} {
		f := s.tell(t, reference, event{At: onDay(1), State: "active", Quantity: ptr[int64](9)})
		is.Equal([]any{f.Result, f.License.Status}, []any{api.PurchaseResultRevoked, api.LicenseRevoked})
	}
	is.Equal(s.tell(t, "e", event{At: onDay(1), CustomerID: "cus_ada", PlanID: "seats", State: "active", LicenseID: id}).Result, api.PurchaseResultRevoked)
	is.Equal(s.mustGet(t, id), before)
	s.now = onDay(31)
	l := s.mustGet(t, id)
	is.Equal([]any{l.Status, l.StatusReason, *l.MaxActivations, l.Entitlements["projects"]}, []any{api.LicenseRevoked, "fraud", int64(18), nil})
	s.applyDue(t)
	is.Equal(s.mustGet(t, id), l)
}

// TestErasedLicenseWithAddOns: nothing of the purchases is left but that their references
// were used, and no event of them makes or changes a license.
func TestErasedLicenseWithAddOns(t *testing.T) {
	is := is.New(t)
	s, id := newWorkshop(t)
	s.tell(t, "f", event{At: onDay(0), CustomerID: "cus_ada", PlanID: "seats", State: "active"}) // it waits
	_, err := s.EraseCustomer(t.Context(), "cus_ada")
	is.NoErr(err)
	if lines := mentions(t, s.store, "countess", "lovelace", "cus_ada", "ada@", "met ada", "the card of", "a fraud", `"kind":"license_change"`, `"kind":"purchase_license"`, `"kind":"purchase_plan"`); len(lines) > 0 {
		t.Error(lines)
	}
	n := s.licenses(t)
	for _, reference := range []string{"a", "b", "c", "d", "f"} {
		f := s.tell(t, reference, event{At: onDay(0.9), CustomerID: "cus_ada", PlanID: "year", State: "active"})
		is.Equal([]any{f.Result, f.License}, []any{api.PurchaseResultDeleted, (*api.License)(nil)})
	}
	is.Equal(s.licenses(t), n)
	s.now = onDay(31)
	s.applyDue(t)
	_, err = s.Get(t.Context(), id)
	is.True(err != nil)
}
