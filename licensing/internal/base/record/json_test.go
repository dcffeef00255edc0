package record_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
)

// TestEncodesAsEncodingJSON also fails for a field of a license or an event that Append leaves
// out, or has in another place.
func TestEncodesAsEncodingJSON(t *testing.T) {
	is := is.New(t)
	at := time.Date(2030, 1, 31, 23, 59, 59, 120_000_000, time.UTC)
	values := map[reflect.Type][]any{
		reflect.TypeFor[string]():            {"plain", "", "Ünïcode \"\\\b\f\n\r\t\x01'\u2028</>&\x7f\xff"},
		reflect.TypeFor[api.LicenseStatus](): {api.LicenseActive, api.LicenseStatus(""), api.LicenseRevoked},
		reflect.TypeFor[api.Starts]():        {api.StartsActivation, api.Starts(""), api.Starts("<a>")},
		reflect.TypeFor[bool]():              {true, false, true},
		reflect.TypeFor[int64]():             {int64(7), int64(0), int64(-1 << 63)},
		reflect.TypeFor[int]():               {7, 0, -1},
		reflect.TypeFor[*int64]():            {new(int64(0)), (*int64)(nil), new(int64(1<<63 - 1))},
		reflect.TypeFor[time.Time]():         {at, time.Time{}, at.Truncate(time.Second)},
		reflect.TypeFor[*time.Time]():        {&at, (*time.Time)(nil), new(time.UnixMilli(-1).UTC())},
		reflect.TypeFor[[]string]():          {[]string{"<", ""}, []string(nil), []string{}},
		reflect.TypeFor[map[string]any]():    {map[string]any{}, map[string]any(nil), map[string]any{"b": 1e21, "<a>": true, "c": "&"}},
		reflect.TypeFor[map[string]api.Meter](): {
			map[string]api.Meter{}, map[string]api.Meter(nil),
			map[string]api.Meter{"b": {}, "a": {Limit: new(int64(0)), Soft: true, Per: api.PerDay}},
		},
		reflect.TypeFor[map[string]string](): {map[string]string{}, map[string]string(nil), map[string]string{"b": "<", "a": ""}},
		reflect.TypeFor[[]api.UpcomingChange](): {[]api.UpcomingChange(nil), []api.UpcomingChange{}, []api.UpcomingChange{
			{At: at, MaxActivations: api.To[int64](5), ExpiresAt: api.ToNull[time.Time](), Entitlements: map[string]any{"<a>": nil}}, {At: at, EndsAt: &at, PlanID: "<pro>"}, {At: at, Meters: map[string]*api.Meter{"b": nil, "a": {Limit: new(int64(0))}}},
		}},
		reflect.TypeFor[map[string]api.FieldChange](): {map[string]api.FieldChange(nil), map[string]api.FieldChange{}, map[string]api.FieldChange{
			"name": {From: "<a>", To: "b"}, "<b>": {From: &at, To: (*time.Time)(nil)}, "a": {From: int64(1), To: 1.5}, "metadata": {From: map[string]string(nil), To: map[string]string{"b": "<"}},
			"status": {From: api.LicenseActive, To: nil}, "upcoming": {From: []api.UpcomingChange(nil), To: []api.UpcomingChange{{At: at}}}, "soft": {From: false, To: true},
		}},
	}
	pick := func(v reflect.Value, i int) {
		switch choice, ok := values[v.Type()]; {
		case ok:
			v.Set(reflect.ValueOf(choice[i]))
		case v.Kind() != reflect.Pointer || v.Type().Elem().Kind() != reflect.Struct:
			t.Fatalf("no values of type %v", v.Type())
		case i != 1:
			v.Set(reflect.New(v.Type().Elem()))
		}
	}
	fill := func(v reflect.Value, i int) {
		for _, f := range reflect.VisibleFields(v.Type()) {
			if to, err := v.FieldByIndexErr(f.Index); err == nil && f.Type.Kind() != reflect.Struct || f.Type == reflect.TypeFor[time.Time]() {
				pick(to, i)
			}
		}
	}
	var all []api.License
	for i := range 3 {
		var l api.License
		fill(reflect.ValueOf(&l).Elem(), i)
		all = append(all, l)
		is.Equal(string(record.Encode(l)), encoded(t, l))
		is.Equal(string(record.Encode(&l)), encoded(t, l))

		var e api.EventData
		fill(reflect.ValueOf(&e).Elem(), i)
		if e.License != nil {
			e.License = &l
		}
		is.Equal(string(record.Encode(e)), encoded(t, e))
	}
	for _, v := range []any{all, all[:1], all[:0], api.EventData{}, nil, (*api.License)(nil), "", "ü", 1.5, []string(nil), json.RawMessage(`{"a":1}`), map[string]api.FieldChange(nil), map[string]int{"b": 1, "a": 2}} {
		is.Equal(string(record.Encode(v)), encoded(t, v))
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[api.EventData]()) { // each by itself
		var e api.EventData
		if len(f.Index) > 1 {
			e.EventErasure = new(api.EventErasure)
		}
		pick(reflect.ValueOf(&e).Elem().FieldByIndex(f.Index), 2)
		is.Equal(string(record.Encode(e)), encoded(t, e))
	}
	all[0].CreatedAt = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
	_, err := record.Append(nil, reflect.ValueOf(all))
	is.True(err != nil) // there is no such time in JSON
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	is := is.New(t)
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	is.NoErr(e.Encode(v))
	return string(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
}
