package license_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// metered are the meters of the tests.
func metered() map[string]api.Meter {
	return map[string]api.Meter{
		"exports": {Limit: ptr[int64](100), Per: api.PerMonth},
		"tokens":  {Limit: ptr[int64](50), Soft: true, Per: api.PerLicenseMonth},
		"pack":    {Limit: ptr[int64](10)},
		"calls":   {Per: api.PerDay},
	}
}

func withMeters(meters map[string]api.Meter) func(*api.CreateLicenseParams) {
	return func(p *api.CreateLicenseParams) { p.Meters = meters }
}

// metersText returns meters as JSON.
func metersText(t *testing.T, meters map[string]api.Meter) string {
	t.Helper()
	text, err := json.Marshal(meters)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestMetersOfLicense: meters are stored, merged by name and field, and removed, and a
// license has at most 20 of them after a merge, too.
func TestMetersOfLicense(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	given := metered()
	l := f.create(t, withMeters(given))
	is.Equal(l.Meters, metered())
	*given["exports"].Limit = 7 // the license has its own
	got, err := f.Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(got, l)
	update := func(c api.Change[map[string]*api.MeterChange]) (api.License, error) {
		return f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, Meters: c})
	}
	to := func(name string, c *api.MeterChange) api.Change[map[string]*api.MeterChange] {
		return api.To(map[string]*api.MeterChange{name: c})
	}
	for _, step := range []struct {
		change api.Change[map[string]*api.MeterChange]
		want   string
	}{
		{to("exports", &api.MeterChange{Limit: api.To[int64](500)}), `{"calls":{"per":"day"},"exports":{"limit":500,"per":"month"},"pack":{"limit":10},"tokens":{"limit":50,"soft":true,"per":"license_month"}}`},
		{to("exports", &api.MeterChange{Per: api.ToNull[api.MeterPeriod](), Soft: ptr(true)}), `{"calls":{"per":"day"},"exports":{"limit":500,"soft":true},"pack":{"limit":10},"tokens":{"limit":50,"soft":true,"per":"license_month"}}`},
		{to("tokens", nil), `{"calls":{"per":"day"},"exports":{"limit":500,"soft":true},"pack":{"limit":10}}`},
		{to("new", &api.MeterChange{}), `{"calls":{"per":"day"},"exports":{"limit":500,"soft":true},"new":{},"pack":{"limit":10}}`},
		{to("pack", &api.MeterChange{Limit: api.ToNull[int64]()}), `{"calls":{"per":"day"},"exports":{"limit":500,"soft":true},"new":{},"pack":{}}`},
	} {
		got, err := update(step.change)
		is.NoErr(err)
		is.Equal(metersText(t, got.Meters), step.want)
		_, data := f.lastEvent(t)
		is.True(len(data.Changes) == 1 && data.Changes["meters"].To != nil)
	}
	revision := f.events(t, l.ID)
	_, err = update(to("exports", &api.MeterChange{Limit: api.To[int64](500)}))
	is.NoErr(err)
	is.Equal(f.events(t, l.ID), revision) // nothing changed
	more := map[string]*api.MeterChange{}
	for i := range 17 {
		more[fmt.Sprint("m", i)] = &api.MeterChange{}
	}
	_, err = update(api.To(more))
	is.Equal(wrongFields(err), "meters too_many")
	delete(more, "m0")
	_, err = update(api.To(more))
	is.NoErr(err)
	got, err = update(api.ToNull[map[string]*api.MeterChange]())
	is.NoErr(err)
	is.Equal(got.Meters, map[string]api.Meter(nil))
}

// wrongFields returns the fields of an *api.InvalidError with their codes.
func wrongFields(err error) string {
	invalid, _ := errors.AsType[*api.InvalidError](err)
	if invalid == nil {
		return fmt.Sprint(err)
	}
	var all []string
	for _, f := range invalid.Fields {
		all = append(all, f.Field+" "+f.Code)
	}
	return strings.Join(all, ", ")
}

func TestMetersAreChecked(t *testing.T) {
	f := newFixture(t)
	many := map[string]api.Meter{}
	for i := range 21 {
		many[fmt.Sprint(i)] = api.Meter{}
	}
	for want, meters := range map[string]map[string]api.Meter{
		"meters invalid_format":          {"a/b": {}},
		"meters invalid_format ":         {strings.Repeat("m", 65): {}},
		"meters/a.b/limit out_of_range":  {"a.b": {Limit: ptr[int64](-1)}},
		"meters/a.b/limit out_of_range ": {"a.b": {Limit: ptr[int64](1_000_000_000_001)}},
		"meters/exports/per unknown":     {"exports": {Per: "week"}},
		"meters too_many":                many,
		"<nil>":                          {strings.Repeat("m", 64): {Limit: ptr[int64](0)}, "activations": {Limit: ptr[int64](1_000_000_000_000)}},
	} {
		is := is.New(t)
		p := plain()
		p.Meters = meters
		_, err := f.Create(t.Context(), p)
		is.Equal(wrongFields(err), strings.TrimSpace(want))
		_, err = selling.New(f.Service).PutPlan(t.Context(), api.PutPlanParams{ID: "p", ProductID: "prod_editor", Terms: api.Terms{Meters: meters}})
		is.Equal(wrongFields(err), strings.TrimSpace(want))
	}
}

// TestMetersOfPlan: a plan's meters are copied at creation unless the request has some,
// their limits are multiplied by the units of a purchase, and ApplyPlan replaces all.
func TestMetersOfPlan(t *testing.T) {
	is := is.New(t)
	s := newTwice(t)
	ctx, sell := t.Context(), selling.New(s.Service)
	plan, err := sell.PutPlan(ctx, api.PutPlanParams{ID: "metered", ProductID: "prod_editor", Terms: api.Terms{Meters: metered()}})
	is.NoErr(err)
	is.Equal(plan.Meters, metered())
	p := plain()
	p.PlanID = "metered"
	l, err := s.Create(ctx, p)
	is.NoErr(err)
	is.Equal(l.Meters, metered())
	p.Meters = map[string]api.Meter{"own": {}}
	l, err = s.Create(ctx, p)
	is.NoErr(err)
	is.Equal(metersText(t, l.Meters), `{"own":{}}`)
	p.Meters, p.Explicit = nil, []string{"meters"}
	l, err = s.Create(ctx, p)
	is.NoErr(err)
	is.Equal(l.Meters, map[string]api.Meter(nil))
	l, err = sell.ApplyPlan(ctx, api.ApplyPlanParams{ID: l.ID, PlanID: "metered"})
	is.NoErr(err)
	is.Equal(l.Meters, metered())

	bought := s.tell(t, "shop:m", event{At: onDay(1), CustomerID: "cus_ada", PlanID: "metered", State: "active", Quantity: ptr[int64](3)}).License
	const three = `{"calls":{"per":"day"},"exports":{"limit":300,"per":"month"},"pack":{"limit":30},"tokens":{"limit":150,"soft":true,"per":"license_month"}}`
	is.Equal(metersText(t, bought.Meters), three)
	byHand := map[string]*api.MeterChange{"gift": {Limit: api.To[int64](5)}, "exports": {Limit: api.To[int64](999)}}
	_, err = s.Update(ctx, api.UpdateLicenseParams{ID: bought.ID, Meters: api.To(byHand)})
	is.NoErr(err)
	s.tell(t, "shop:m", event{At: onDay(2), Until: api.To(onDay(200))})
	is.Equal(*s.mustGet(t, bought.ID).Meters["exports"].Limit, int64(999)) // what was set by hand stays
	s.tell(t, "shop:m", event{At: onDay(3), Quantity: ptr[int64](4)})
	four := s.mustGet(t, bought.ID).Meters
	is.Equal([]int64{*four["exports"].Limit, *four["gift"].Limit, *four["pack"].Limit}, []int64{400, 5, 40})
	l, err = sell.ApplyPlan(ctx, api.ApplyPlanParams{ID: bought.ID, PlanID: "metered"})
	is.NoErr(err)
	is.Equal([]any{*l.Meters["exports"].Limit, len(l.Meters)}, []any{int64(400), 5}) // with what was set by hand
	s.tell(t, "shop:m", event{At: onDay(4), Quantity: ptr[int64](1_000_000_000)})
	_, err = sell.PutPlan(ctx, api.PutPlanParams{ID: "metered", ProductID: "prod_editor", Terms: api.Terms{Meters: map[string]api.Meter{"big": {Limit: ptr[int64](1_000_000_000_000)}}}})
	is.NoErr(err)
	l, err = sell.ApplyPlan(ctx, api.ApplyPlanParams{ID: bought.ID, PlanID: "metered"})
	is.NoErr(err)
	is.Equal(metersText(t, l.Meters), `{"big":{"limit":1000000000000},"gift":{"limit":5}}`)
}

// TestMetersMove: an export as NDJSON or CSV and an import keep meters, and a license
// without meters has an empty cell.
func TestMetersMove(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, withMeters(metered()))
	f.now = f.now.Add(time.Second)
	f.create(t)
	var rows bytes.Buffer
	is.NoErr(f.Export(t.Context(), &rows, api.ListLicensesParams{}))
	into := newFixture(t)
	is.NoErr(into.Import(t.Context(), &rows, func(r api.RowResult) error { is.Equal(r.Result, api.ImportCreated); return nil }))
	got, err := into.Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(got.Meters, l.Meters)

	rows.Reset()
	is.NoErr(inner.Of(f.Service).MoveIn().ExportCSV(t.Context(), &rows, api.ListLicensesParams{}))
	is.True(!strings.Contains(rows.String(), "null"))
	preview, err := inner.Of(f.Service).MoveIn().PreviewCSV(t.Context(), rows.Bytes())
	is.NoErr(err)
	is.Equal(preview.Rows[0].Meters, l.Meters)
	is.Equal(preview.Rows[1].Meters, map[string]api.Meter(nil))
	into = newFixture(t, func(o *license.Options) {})
	is.NoErr(into.Import(t.Context(), bytes.NewReader([]byte(`{"name":"n","product_id":"p","customer_id":"c","key":"0123456789abcdef","meters":{"a":{"limit":"1"}}}`)), func(r api.RowResult) error {
		is.Equal(r.Errors[0].Field, "meters/a/limit")
		return nil
	}))
}
