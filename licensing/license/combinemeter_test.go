package license_test

import (
	"fmt"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/metering"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// newMeterShop returns a seller whose plans have meters.
func newMeterShop(t *testing.T, st store.Store) *seller {
	t.Helper()
	s := newShop(t, st)
	for _, p := range []api.PutPlanParams{
		{ID: "basic", Duration: api.Duration{Days: 365}, Terms: api.Terms{Meters: map[string]api.Meter{"exports": {Limit: ptr[int64](100), Per: api.PerMonth}, "calls": {}}}},
		{ID: "plus", Duration: api.Duration{Days: 30}, Terms: api.Terms{Meters: map[string]api.Meter{"exports": {Limit: ptr[int64](300), Soft: true, Per: api.PerMonth}, "calls": {Limit: ptr[int64](9)}}}},
		{ID: "daily", Duration: api.Duration{Days: 30}, Terms: api.Terms{Meters: map[string]api.Meter{"exports": {Limit: ptr[int64](5), Per: api.PerDay}}}},
		{ID: "more", Kind: api.PlanAddOn, Duration: api.Duration{Days: 30}, Terms: api.Terms{Meters: map[string]api.Meter{"exports": {Limit: ptr[int64](50), Per: api.PerMonth}, "calls": {Limit: ptr[int64](7)}}}},
		{ID: "pack", Kind: api.PlanAddOn, Terms: api.Terms{Meters: map[string]api.Meter{"credits": {Limit: ptr[int64](1000)}}}},
		{ID: "yearly", Kind: api.PlanAddOn, Terms: api.Terms{Meters: map[string]api.Meter{"credits": {Limit: ptr[int64](2), Per: api.PerYear}}}},
	} {
		p.ProductID = "prod_editor"
		_, err := selling.New(s.Service).PutPlan(t.Context(), p)
		is.New(t).NoErr(err)
	}
	return s
}

func quantity(e bought, n int64) bought {
	e.Quantity = &n
	return e
}

// TestMetersOfSeveralPurchases: each history gives the same meters in every order.
func TestMetersOfSeveralPurchases(t *testing.T) {
	for _, h := range []struct {
		name  string
		sales []bought
		day   float64
		want  string
	}{
		{"one base, three units", []bought{quantity(sold("a", "basic", 0), 3)}, 1, `{"calls":{},"exports":{"limit":300,"per":"month"}}`},
		{"a base and two units of an add-on", []bought{sold("a", "basic", 0), quantity(sold("b", "more", 1), 2)}, 2, `{"calls":{},"exports":{"limit":200,"per":"month"}}`},
		{"the add-on has ended", []bought{sold("a", "basic", 0), quantity(sold("b", "more", 1), 2)}, 32, `{"calls":{},"exports":{"limit":100,"per":"month"}}`},
		{"the most of two bases; soft is that of the later one, and calls have no limit in the other", []bought{quantity(sold("a", "basic", 0), 4), sold("b", "plus", 1)}, 2, `{"calls":{},"exports":{"limit":400,"soft":true,"per":"month"}}`},
		{"a base that counts per day", []bought{sold("a", "basic", 0), sold("b", "daily", 1)}, 2, `{"calls":{},"exports":{"limit":5,"per":"day"}}`},
		{"an add-on that counts per month to a base per day", []bought{sold("a", "daily", 0), sold("b", "more", 1)}, 2, `{"calls":{"limit":7},"exports":{"limit":5,"per":"day"}}`},
		{"packs", []bought{sold("a", "basic", 0), sold("b", "pack", 1), quantity(sold("c", "pack", 2), 2)}, 99, `{"calls":{},"credits":{"limit":3000},"exports":{"limit":100,"per":"month"}}`},
		{"packs, of which one is refunded", []bought{sold("a", "basic", 0), sold("b", "pack", 1), said("b", 3, api.PurchaseRefunded)}, 4, `{"calls":{},"exports":{"limit":100,"per":"month"}}`},
		{"add-ons that count differently", []bought{sold("a", "free", 0), sold("b", "pack", 1), sold("c", "yearly", 2)}, 3, `{"credits":{"limit":2,"per":"year"}}`},
		{"more than any license has", []bought{sold("a", "free", 0), quantity(sold("b", "pack", 1), 1_000_000_000), sold("c", "pack", 2)}, 3, `{"credits":{"limit":1000000000000}}`},
	} {
		t.Run(h.name, func(t *testing.T) {
			orders(len(h.sales), func(order []int) {
				s := newMeterShop(t, memory.New())
				s.now = onDay(h.day)
				id := s.sell(t, h.sales, order)
				is.New(t).Equal(metersText(t, s.mustGet(t, id).Meters), h.want)
			})
		})
	}
}

// TestTimeChangesMeters: what will change is shown and then told by the clock, and a
// removed meter is null.
func TestTimeChangesMeters(t *testing.T) {
	is := is.New(t)
	s := newMeterShop(t, memory.New())
	id := s.sell(t, []bought{sold("a", "daily", 0), until(sold("b", "free", 0), 60), sold("c", "more", 0)}, []int{0, 1, 2})
	l := s.mustGet(t, id)
	is.Equal(string(record.Encode(l.Upcoming)), `[{"at":"2026-03-31T12:00:00Z","ends_at":"2026-03-31T12:00:00Z","max_activations":1,"meters":{"calls":null,"exports":null}}]`)
	verdict, err := s.Validate(t.Context(), api.ValidateKeyParams{Key: l.Key})
	is.NoErr(err)
	is.Equal(*verdict.NextChangeAt, onDay(60)) // a validation does not ask about meters

	s.now = onDay(31)
	is.Equal(s.mustGet(t, id).Meters, map[string]api.Meter(nil))
	batch, err := metering.New(s.Service).RecordUsage(t.Context(), api.RecordUsageParams{Licenses: []api.LicenseUsage{{LicenseID: id, Usage: []api.UsageReport{{Meter: "calls", ID: "a", Total: 1}}}}})
	is.NoErr(err)
	is.True(batch.Data[0].Refused != nil)
	is.Equal(batch.Data[0].Refused.Code, api.VerdictMeterMissing) // what has ended allows nothing
	_, err = s.Update(t.Context(), api.UpdateLicenseParams{ID: id, Name: ptr("Ada")})
	is.NoErr(err)
	page, err := s.Events(t.Context(), api.ListEventsParams{NewestFirst: true, Limit: 2})
	is.NoErr(err)
	data, err := page.Data[1].Decode()
	is.NoErr(err)
	is.Equal([]any{page.Data[1].Actor, data.Changes["meters"].To}, []any{"clock", nil})
	is.Equal(s.mustGet(t, id).Generation, l.Generation) // no file promises a meter
	s.check(t, id)
}

// TestMetersSetByHand: a meter stays until its value in the bases changes, add-ons still
// add and end, and a removed one stays removed.
func TestMetersSetByHand(t *testing.T) {
	is := is.New(t)
	s := newMeterShop(t, memory.New())
	id := s.sell(t, []bought{sold("a", "basic", 0), sold("b", "more", 0), sold("c", "pack", 0)}, []int{0, 1, 2})
	_, err := s.Update(t.Context(), api.UpdateLicenseParams{ID: id, Meters: api.To(map[string]*api.MeterChange{
		"exports": {Limit: api.To[int64](500), Soft: ptr(true)}, "credits": {Limit: api.To[int64](1200)}, "calls": nil,
	})})
	is.NoErr(err)
	tell := func(reference string, e event) string {
		t.Helper()
		if e.CustomerID = "cus_ada"; reference != "a" {
			e.LicenseID = id
		}
		s.tell(t, reference, e)
		s.check(t, id)
		return metersText(t, s.mustGet(t, id).Meters)
	}
	is.Equal(tell("d", sold("d", "pack", 0).event), `{"credits":{"limit":2200},"exports":{"limit":500,"soft":true,"per":"month"}}`)
	s.now = onDay(31) // an add-on of 50 exports has ended
	is.Equal(tell("a", event{At: onDay(31), State: api.PurchaseActive}), `{"credits":{"limit":2200},"exports":{"limit":450,"soft":true,"per":"month"}}`)
	is.Equal(tell("a", event{At: onDay(31.5), Quantity: ptr[int64](2)}), `{"credits":{"limit":2200},"exports":{"limit":200,"per":"month"}}`)
	is.Equal(tell("c", event{At: onDay(31), State: api.PurchaseRefunded}), `{"credits":{"limit":1200},"exports":{"limit":200,"per":"month"}}`)
	_, err = s.Update(t.Context(), api.UpdateLicenseParams{ID: id, Meters: api.To(map[string]*api.MeterChange{"credits": {Limit: api.To[int64](1_000_000_000_000)}})})
	is.NoErr(err)
	is.Equal(tell("e", sold("e", "pack", 31).event), `{"credits":{"limit":1000000000000},"exports":{"limit":200,"per":"month"}}`)
}

// TestApplyPlanKeepsMetersOfAddOns: the plan's limits are multiplied by the quantity, and
// add-ons add to them as before.
func TestApplyPlanKeepsMetersOfAddOns(t *testing.T) {
	is := is.New(t)
	s := newMeterShop(t, memory.New())
	id := s.sell(t, []bought{quantity(sold("a", "basic", 0), 2), sold("b", "more", 0), sold("c", "pack", 0)}, []int{0, 1, 2})
	l, err := selling.New(s.Service).ApplyPlan(t.Context(), api.ApplyPlanParams{ID: id, PlanID: "plus"})
	is.NoErr(err)
	is.Equal(metersText(t, l.Meters), `{"calls":{"limit":25},"credits":{"limit":1000},"exports":{"limit":650,"soft":true,"per":"month"}}`)
	l, err = selling.New(s.Service).ApplyPlan(t.Context(), api.ApplyPlanParams{ID: id, PlanID: "free"})
	is.NoErr(err)
	is.Equal(metersText(t, l.Meters), `{"credits":{"limit":1000}}`)
	s.check(t, id)
}

// TestMetersOfALicenseThatNoPurchaseMade come back when the purchase that took the
// license over is refunded, without what was set by hand after its first purchase.
func TestMetersOfALicenseThatNoPurchaseMade(t *testing.T) {
	is := is.New(t)
	s := newMeterShop(t, memory.New())
	p := api.CreateLicenseParams{Name: "Ada", ProductID: "prod_editor", CustomerID: "cus_ada", Terms: api.Terms{Meters: map[string]api.Meter{"own": {Limit: ptr[int64](3)}}}}
	l, err := s.Create(t.Context(), p)
	is.NoErr(err)
	tell := func(e bought, want string) {
		t.Helper()
		e.CustomerID, e.LicenseID = "cus_ada", l.ID
		s.tell(t, e.reference, e.event)
		s.check(t, l.ID)
		is.Equal(metersText(t, s.mustGet(t, l.ID).Meters), want)
	}
	tell(sold("x", "pack", 0), `{"credits":{"limit":1000},"own":{"limit":3}}`)
	_, err = s.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, Meters: api.To(map[string]*api.MeterChange{"own": {Limit: api.To[int64](4)}})})
	is.NoErr(err)
	tell(sold("b", "basic", 0), `{"calls":{},"credits":{"limit":1000},"exports":{"limit":100,"per":"month"}}`)
	s.now = onDay(1)
	tell(said("b", 0.1, api.PurchaseRefunded), `{"credits":{"limit":1000},"own":{"limit":3}}`)
}

// TestMoreUnitsThanAMeterHas: a purchase says that its quantity buys more units than its
// license gets.
func TestMoreUnitsThanAMeterHas(t *testing.T) {
	is := is.New(t)
	s := newMeterShop(t, memory.New())
	_, err := selling.New(s.Service).PutPlan(t.Context(), api.PutPlanParams{ID: "bulk", ProductID: "prod_editor", Terms: api.Terms{Meters: map[string]api.Meter{
		"calls": {Limit: ptr[int64](500_000_000_000)}, "credits": {}, "zero": {Limit: ptr[int64](0)},
	}}})
	is.NoErr(err)
	for units, want := range map[int64]bool{1: false, 2: false, 3: true, 1_000_000_000: true} {
		f := s.tell(t, fmt.Sprint("shop:", units), event{CustomerID: fmt.Sprint("cus_", units), PlanID: "bulk", State: "active", Quantity: &units})
		is.Equal(f.Clamped, want)
		is.Equal(*f.License.Meters["calls"].Limit, min(units*500_000_000_000, 1_000_000_000_000))
		is.Equal(*f.License.Meters["zero"].Limit, int64(0))
	}
}

// TestMetersSetByHandFillALicense: a license has at most 20 meters, and those that were set by
// hand stay.
func TestMetersSetByHandFillALicense(t *testing.T) {
	is := is.New(t)
	s := newMeterShop(t, memory.New())
	id := s.sell(t, []bought{sold("a", "basic", 0)}, []int{0}) // exports and calls
	changes := map[string]*api.MeterChange{}
	for i := range 18 {
		changes[fmt.Sprint("z", i)] = &api.MeterChange{}
	}
	_, err := s.Update(t.Context(), api.UpdateLicenseParams{ID: id, Meters: api.To(changes)})
	is.NoErr(err)
	e := sold("b", "pack", 0).event // credits
	e.CustomerID, e.LicenseID = "cus_ada", id
	s.tell(t, "b", e)
	meters := s.mustGet(t, id).Meters
	is.Equal(len(meters), 20)
	for name := range changes {
		_, kept := meters[name]
		is.True(kept)
	}
}
