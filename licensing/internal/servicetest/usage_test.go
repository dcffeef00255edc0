package servicetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// metered creates a license with meters.
func (c *caller) metered(product string, meters map[string]api.Meter) api.License {
	l, err := c.Handler.Service().Create(c.t.Context(), api.CreateLicenseParams{Name: "n", ProductID: product, CustomerID: "c", Terms: api.Terms{Meters: meters}})
	is.New(c.t).NoErr(err)
	return l
}

// TestFaultsOfReports: the pointer of an error names the report and its member.
func TestFaultsOfReports(t *testing.T) {
	c := newCaller(t, licensing.Options{})
	l := c.metered("p", map[string]api.Meter{"exports": {}})
	const good = `{"meter":"exports","id":"a","total":1}`
	for bad, want := range map[string]string{
		`{"meter":"exports","id":"a","total":0}`:               "/3/total out_of_range",
		`{"meter":"exports","id":"a","total":1.5}`:             "/3/total invalid_type",
		`{"meter":"exports","id":"a"}`:                         "/3/total required",
		`{"meter":"exports","total":1}`:                        "/3/id required",
		`{"meter":"Exports!","id":"a","total":1}`:              "/3/meter invalid_format",
		`{"meter":"transfers","id":"a","total":1}`:             "/3/meter out_of_range",
		`{"meter":"exports","id":"a","total":1,"at":"monday"}`: "/3/at invalid_format",
		`{"meter":"exports","id":"a","total":1,"units":1}`:     "/3/units unknown",
		`7`: "/3 invalid_type",
	} {
		is := is.New(t)
		usage := `"usage":[` + strings.Repeat(good+",", 3) + bad + `]`
		for path, body := range map[string]string{
			"/license/usage": `{"key":"` + l.Key + `",` + usage + `}`,
			"/usage":         `{"licenses":[{"license_id":"` + l.ID + `",` + usage + `}]}`,
		} {
			a := c.do("POST", path, body)
			is.Equal(a.Code, http.StatusUnprocessableEntity)
			wrong := a.json["errors"].([]any)[0].(map[string]any)
			at := map[string]string{"/license/usage": "#/usage", "/usage": "#/licenses/0/usage"}[path]
			is.Equal(wrong["pointer"].(string)+" "+wrong["code"].(string), at+want)
		}
	}
}

// TestUsageOfOtherProducts: for a token that is limited to products, licenses of others do
// not exist, and a token that may only read counts nothing.
func TestUsageOfOtherProducts(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	meters := map[string]api.Meter{"exports": {}}
	mine, other := c.metered("atlas", meters), c.metered("other", meters)
	token := func(scopes ...string) string {
		client, secret := c.NewClient(auth.CreateClientParams{Name: "limited", Products: []string{"atlas"}, Scopes: scopes})
		token, _ := c.NewToken(client.ID, secret)
		return "Bearer " + token
	}
	limited, reader := token(auth.Scopes()...), token(auth.ScopeLicenseRead)
	report := func(l api.License) string {
		return `{"license_id":"` + l.ID + `","usage":[{"meter":"exports","id":"a","total":2}]}`
	}
	body := `{"licenses":[` + report(other) + `,` + report(mine) + `]}`
	is.Equal(c.do("POST", "/usage", body, "Authorization", reader).Code, http.StatusForbidden)
	is.Equal(c.do("PUT", "/license/"+mine.ID+"/meter/exports", `{"used":1}`, "Authorization", reader).Code, http.StatusForbidden)
	a := c.do("POST", "/usage", body, "Authorization", limited)
	is.Equal(a.Code, http.StatusOK)
	var batch api.UsageBatch
	is.NoErr(json.Unmarshal(a.Body.Bytes(), &batch))
	is.Equal([]any{batch.Data[0].Refused.Code, batch.Data[0].Counted, batch.Data[1].Counted}, []any{api.VerdictNotFound, []int64{0}, []int64{2}})
	for _, l := range []api.License{mine, other} {
		want := map[bool]int{true: http.StatusOK, false: http.StatusNotFound}[l.ID == mine.ID]
		is.Equal(c.do("GET", "/license/"+l.ID+"/usage", "", "Authorization", limited).Code, want)
		is.Equal(c.do("PUT", "/license/"+l.ID+"/meter/exports", `{"used":1}`, "Authorization", limited).Code, want)
	}
	page := c.do("GET", "/license/"+other.ID+"/usage", "")
	is.Equal(page.json["data"], []any{}) // nothing has counted
}

// TestTheLargestReport: 100 licenses, 2,000 reports and 1 MiB are accepted, and not more.
func TestTheLargestReport(t *testing.T) {
	is := is.New(t)
	c := newCaller(t, licensing.Options{})
	meters := map[string]api.Meter{}
	for i := range 20 {
		meters[fmt.Sprint("m", i)] = api.Meter{Limit: new(int64(1)), Per: api.PerDay} // each reaches its threshold
	}
	var p api.RecordUsageParams
	for range 100 {
		one := api.LicenseUsage{LicenseID: c.metered("p", meters).ID}
		for i := range 20 {
			one.Usage = append(one.Usage, api.UsageReport{Meter: fmt.Sprint("m", i), ID: strings.Repeat("é", 220), Total: 1})
		}
		p.Licenses = append(p.Licenses, one)
	}
	text, err := json.Marshal(p)
	is.NoErr(err)
	body := string(text) + strings.Repeat(" ", 1<<20-len(text))
	is.Equal(c.do("POST", "/usage", body+" ").Code, http.StatusRequestEntityTooLarge)
	a := c.do("POST", "/usage", body)
	is.Equal(a.Code, http.StatusOK)
	is.Equal(strings.Count(a.Body.String(), `"used":1,"remaining":0`), 2000)
	p.Licenses[0].Usage = append(p.Licenses[0].Usage, p.Licenses[0].Usage[0])
	text, err = json.Marshal(p)
	is.NoErr(err)
	is.Equal(c.do("POST", "/usage", string(text)).Code, http.StatusUnprocessableEntity)
}

// TestUsageIsToldByRun: Run asks once a minute for usage that is due, and works through all
// that is without a wait.
func TestUsageIsToldByRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		o := newOutage(t)
		h := o.handler()
		const licenses = 120 // more than two batches
		for range licenses {
			l, err := h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c", Terms: api.Terms{Meters: map[string]api.Meter{"exports": {}}}})
			is.NoErr(err)
			_, err = h.Metering().CountUsage(t.Context(), api.CountUsageParams{Key: l.Key, Usage: []api.UsageReport{{Meter: "exports", ID: "a", Total: 1}}})
			is.NoErr(err)
		}
		steps := func() (n int) {
			for _, seen := range o.of(licensing.ObservationJob) {
				if seen.Name == "usage_events" {
					n++
				}
			}
			return n
		}
		told := func() int {
			page, err := h.Service().Events(t.Context(), api.ListEventsParams{Types: []string{api.EventUsageCounted}, Limit: 200})
			is.NoErr(err)
			return len(page.Data)
		}
		stop := begin(t, h)
		defer stop()
		time.Sleep(59 * time.Minute)
		is.Equal(told(), 0)
		require.AtLeast(t, steps(), 50)
		require.Less(t, steps(), 70)
		for told() == 0 {
			time.Sleep(time.Second)
		}
		time.Sleep(time.Second)
		is.Equal(told(), licenses)
	})
}
