package web

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestLicensesAreEncodedAsByEncodingJSON also fails for a field of a license that
// appendObject leaves out, or has in another place.
func TestLicensesAreEncodedAsByEncodingJSON(t *testing.T) {
	is := is.New(t)
	at := time.Date(2030, 1, 31, 23, 59, 59, 120_000_000, time.UTC)
	values := map[reflect.Type][]any{
		reflect.TypeFor[string]():            {"plain", "", "Ünïcode \"\\\b\f\n\r\t\x01'\u2028</>&\x7f\xff"},
		reflect.TypeFor[api.LicenseStatus](): {api.LicenseActive, api.LicenseStatus(""), api.LicenseRevoked},
		reflect.TypeFor[api.Starts]():        {api.StartsActivation, api.Starts(""), api.Starts("<a>")},
		reflect.TypeFor[int64]():             {int64(7), int64(0), int64(-1 << 63)},
		reflect.TypeFor[*int64]():            {new(int64(0)), (*int64)(nil), new(int64(1<<63 - 1))},
		reflect.TypeFor[time.Time]():         {at, time.Time{}, at.Truncate(time.Second)},
		reflect.TypeFor[*time.Time]():        {&at, (*time.Time)(nil), new(time.UnixMilli(-1).UTC())},
		reflect.TypeFor[map[string]any]():    {map[string]any{}, map[string]any(nil), map[string]any{"b": 1e21, "<a>": true, "c": "&"}},
		reflect.TypeFor[map[string]api.Meter](): {
			map[string]api.Meter{}, map[string]api.Meter(nil),
			map[string]api.Meter{"b": {}, "a": {Limit: new(int64(0)), Soft: true, Per: api.PerDay}},
		},
		reflect.TypeFor[map[string]string](): {map[string]string{}, map[string]string(nil), map[string]string{"b": "<", "a": ""}},
		reflect.TypeFor[[]api.UpcomingChange](): {[]api.UpcomingChange(nil), []api.UpcomingChange{}, []api.UpcomingChange{
			{At: at, MaxActivations: api.To[int64](5), ExpiresAt: api.ToNull[time.Time](), Entitlements: map[string]any{"<a>": nil}}, {At: at, EndsAt: &at, PlanID: "<pro>"}, {At: at, Meters: map[string]*api.Meter{"b": nil, "a": {Limit: new(int64(0))}}},
		}},
	}
	var all []api.License
	for i := range 3 {
		var l api.License
		for _, f := range reflect.VisibleFields(reflect.TypeFor[api.License]()) {
			if f.Anonymous {
				continue
			}
			v := reflect.ValueOf(&l).Elem().FieldByIndex(f.Index)
			choice, ok := values[v.Type()]
			if !ok {
				t.Fatalf("no values of type %v", v.Type())
			}
			v.Set(reflect.ValueOf(choice[i]))
		}
		all = append(all, l)
		is.Equal(marshal(t, &l), encoded(t, l))
	}
	for _, page := range []api.Page[api.License]{{Data: all, HasMore: true, NextCursor: "next"}, {Data: all[:1]}, {Data: all[:0]}} {
		is.Equal(marshal(t, listOf(&page)), encoded(t, listOf(&page)))
	}
	all[0].CreatedAt = time.Date(10_000, 1, 1, 0, 0, 0, 0, time.UTC)
	_, err := Marshal(listOf(&api.Page[api.License]{Data: all}))
	is.True(err != nil) // there is no such time in JSON
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	is := is.New(t)
	text, err := Marshal(v)
	is.NoErr(err)
	return string(text)
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	is := is.New(t)
	var text strings.Builder
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	is.NoErr(e.Encode(v))
	return text.String()
}
