package dashboard_test

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A week of sales, a week after which it is Monday.
func soldSite(t *testing.T) *site {
	t.Helper()
	is := is.New(t)
	s := newSite(t)
	s.advance(24 * time.Hour) // Monday, 2 March 2026
	s.plan(api.PutPlanParams{ID: "month", Name: "Atlas, a month", Duration: api.Duration{Months: 1}, Terms: api.Terms{MaxActivations: ptr[int64](5)}})
	s.plan(api.PutPlanParams{ID: "team", Name: "Atlas Team", Duration: api.Duration{Days: 20}})
	s.plan(api.PutPlanParams{ID: "trial", Duration: api.Duration{Days: 14}})
	tell := func(p api.RecordPurchaseParams) api.Purchase {
		s.advance(time.Minute)
		p.At = s.clock()
		f, err := s.Selling().RecordPurchase(t.Context(), p)
		is.NoErr(err)
		return f
	}
	var licenses []api.License
	for i := range 3 {
		mail := fmt.Sprintf("bob%d@shop.example", i)
		f := tell(api.RecordPurchaseParams{Reference: fmt.Sprintf("sub:%d", i), Name: fmt.Sprint("Bob ", i), CustomerID: fmt.Sprint("cus_", i), PlanID: "month", State: api.PurchaseActive, Metadata: map[string]*string{"email": &mail}})
		licenses = append(licenses, *f.License)
	}
	tell(api.RecordPurchaseParams{Reference: "sub:team", CustomerID: "cus_team", PlanID: "team", State: api.PurchaseActive})
	for i := range 3 {
		trial, err := s.Selling().StartTrial(t.Context(), api.StartTrialParams{PlanID: "trial", CustomerID: fmt.Sprint("cus_try_", i)})
		is.NoErr(err)
		if i == 0 {
			tell(api.RecordPurchaseParams{Reference: "sub:converted", CustomerID: "cus_try_0", LicenseID: trial.License.ID, PlanID: "month", State: api.PurchaseActive})
		}
	}
	s.advance(24 * time.Hour)
	until := s.clock().AddDate(0, 3, 0)
	tell(api.RecordPurchaseParams{Reference: "sub:0", State: api.PurchaseActive, Until: api.To(until)})
	tell(api.RecordPurchaseParams{Reference: "sub:1", State: api.PurchasePaused})
	_, err := s.Service().Revoke(t.Context(), api.ChangeStateParams{ID: licenses[2].ID})
	is.NoErr(err)
	for i := range 4 {
		_, err = s.Service().Activate(t.Context(), api.ActivateKeyParams{Key: licenses[0].Key, Fingerprint: fmt.Sprint("pc-", i)})
		is.NoErr(err)
	}
	s.license(api.CreateLicenseParams{Name: "By hand", ExpiresAt: &until})
	s.advance(7 * 24 * time.Hour) // Tuesday, 10 March
	return s
}

// TestSalesOfTheFirstWeek: until something was sold before this week, the pages are about this
// week. A period without a sale says which time it is about.
func TestSalesOfTheFirstWeek(t *testing.T) {
	s := newSite(t)
	v := s.admin()
	s.license(api.CreateLicenseParams{Name: "Atlas"})
	require.Contains(t, v.get("").body, "Sales, 23 February to 1 March 2026", `<a href="?period=week" aria-current="true">`, `<th scope="row" class="any">No plan</th><td>1</td>`)
	require.Contains(t, v.get("?period=last-week").body, "Sales, 16 to 22 February 2026", "No license was current at the end of this time, and nothing was sold in it.")

	require.Contains(t, v.get("sales.csv").body, "2026-03-01,,0,1,")
	s.advance(7 * 24 * time.Hour)
	require.Contains(t, s.signedIn("ada@example.com").get("").body, "Sales, 23 February to 1 March 2026", `<a href="?period=last-week" aria-current="true">`)
}

// number matches a number of the sales with its link.
var number = regexp.MustCompile(`<a href="(\./audit\?[^"]*)">([\d,]+)</a>`)

// TestEverySalesNumberLinksToItsEvents: the audit log lists as many events as the number
// says, also as CSV.
func TestEverySalesNumberLinksToItsEvents(t *testing.T) {
	is := is.New(t)
	s := soldSite(t)
	v := s.admin()
	a := v.get("?period=last-week")
	require.Contains(t, a.body, "Sales, 2 to 8 March 2026", "0 in the week before, and 1 made by you", "none ended", "30 days: 1 of 3", "&#43;4 in the period")
	require.Contains(t, v.get("?period=last-month").body, "no change in the period")
	found := number.FindAllStringSubmatch(a.body, -1)
	seen := map[string]string{}
	for _, m := range found {
		to := strings.ReplaceAll(strings.TrimPrefix(m[1], "./"), "&amp;", "&")
		list := v.get(to)
		is.Equal(fmt.Sprint(strings.Count(list.body, `<th scope="row" role="rowheader">`)), m[2])
		csv := v.get(strings.Replace(to, "audit?", "audit.csv?", 1))
		is.Equal(fmt.Sprint(strings.Count(csv.body, "\r\n")-1), m[2])
		seen[strings.TrimPrefix(to, "audit?from=2026-03-02&")] = m[2]
	}
	is.Equal(seen, map[string]string{
		"to=2026-03-08&type=sales.new": "5", "plan=month&to=2026-03-08&type=sales.new": "4", "plan=team&to=2026-03-08&type=sales.new": "1",
		"to=2026-03-08&type=sales.trial": "3", "plan=trial&to=2026-03-08&type=sales.trial": "3",
		"to=2026-03-08&type=sales.converted": "1", "plan=trial&to=2026-03-08&type=sales.converted": "1",
		"to=2026-03-08&type=sales.renewed": "1", "plan=month&to=2026-03-08&type=sales.renewed": "1",
		"to=2026-03-08&type=sales.ended": "1", "plan=month&to=2026-03-08&type=sales.ended": "1",
		"plan=-&to=2026-03-08&type=sales.hand": "1",
	})
	require.Contains(t, a.body, `<th scope="row" class="any"><a href="./plan/month">Atlas, a month</a></th><td>3</td>`)
	require.Contains(t, v.get("audit?plan=team").body, `value="team"`, "Plan created", "License created")
	require.NotContains(t, v.get("audit?plan=team").body, "cus_0")
	for _, period := range []string{"week", "month", "last-month", "year"} {
		is.Equal(v.get("?period="+period).StatusCode, http.StatusOK)
	}
	is.Equal(v.get("?period=decade").StatusCode, http.StatusBadRequest)

	csv := v.get("sales.csv?period=last-week").body
	require.Contains(t, csv, "day,plan_id,new,by_hand,trials,converted,renewed,ended,due_renewed,due_ended\r\n", "2026-03-02,month,4,0,0,0,0,0,0,0\r\n", "2026-03-03,month,0,0,0,0,1,1,0,0\r\n")
	is.Equal(strings.Count(v.get("sales.csv?period=week").body, "\r\n"), 1)
}

// TestOneEventCountsAsManyEnds: two purchases that end at one instant are one row of the
// audit log, which says so.
func TestOneEventCountsAsManyEnds(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	s.plan(api.PutPlanParams{ID: "forever", Terms: api.Terms{MaxActivations: ptr[int64](1)}})
	s.plan(api.PutPlanParams{ID: "seats", Kind: api.PlanAddOn, Duration: api.Duration{Days: 10}, Terms: api.Terms{MaxActivations: ptr[int64](2)}})
	f, err := s.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: "shop:1", CustomerID: "cus_1", PlanID: "forever", State: api.PurchaseActive, At: s.clock()})
	is.NoErr(err)
	for i := range 3 {
		p := api.RecordPurchaseParams{Reference: fmt.Sprint("shop:seats_", i), CustomerID: "cus_1", LicenseID: f.LicenseID, PlanID: "seats", State: api.PurchaseActive, At: s.clock()}
		if i == 2 {
			p.Until = api.To(s.clock().AddDate(0, 0, 10).Add(time.Hour))
		}
		_, err := s.Selling().RecordPurchase(t.Context(), p)
		is.NoErr(err)
	}
	s.advance(10 * 24 * time.Hour)
	v, link := s.admin(), "audit?from=2026-03-01&plan=seats&to=2026-03-31&type=sales.ended"
	rows := func() int { return strings.Count(v.get(link).body, `role="rowheader">License updated`) }
	s.run(t, func() bool { return rows() == 1 })
	s.advance(time.Hour)
	s.run(t, func() bool { return rows() == 2 })
	require.Contains(t, v.get("?period=month").body, `<a href="./`+strings.ReplaceAll(link, "&", "&amp;")+`">3</a>`)
	require.Contains(t, v.get(link).body, "<p class=\"small\">2 purchases ended.</p>")
	require.Contains(t, v.get(strings.Replace(link, "audit?", "audit.csv?", 1)).body, "2 purchases ended.")
	require.NotContains(t, v.get(link).body, "1 purchase ended.", "3 purchases ended.")
}

// TestASellersMonday: what was sold last week, who is due, who is near the limit, which
// webhook fails and why, and who paid without a key are on the first page.
func TestASellersMonday(t *testing.T) {
	is := is.New(t)
	s := soldSite(t)
	v := s.admin()
	require.Contains(t, v.get("").body, "Sales, 2 to 8 March 2026", "Nothing needs attention.", `href="./sales.csv?period=last-week" download>Download CSV</a>`)
	for i := range 5 {
		s.advance(time.Millisecond)
		_, err := s.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: fmt.Sprintf("shop:%d", i), Name: fmt.Sprint("Paula ", i), CustomerID: fmt.Sprint("cus_p", i), PlanID: "price_team_month", State: api.PurchaseActive, At: s.clock()})
		is.NoErr(err)
	}
	a := v.get("").body
	require.Contains(t, a,
		`<span class="vh">Problem: </span><a href="./purchase/shop:0">Paula 0</a> <span class="muted">paid and has no key: no plan price_team_month</span>`, `href="./plans/new?id=price_team_month">Create it</a>`,
		`<a href="./purchases#paid">2 other purchases</a> <span class="muted">paid, no key`,
		`">cus_team</a>`, `<span class="sub any">bob1@shop.example · Atlas, a month</span>`, `· <strong>paused</strong>`, `<span class="small">3</span>`)
	require.NotContains(t, a, ">note<", "try_1")                                  // trials are not due
	is.True(strings.Index(a, "cus_team") < strings.Index(a, "bob1@shop.example")) // sooner
	s.operator("vic@example.com", operator.RoleViewer)
	require.NotContains(t, s.signedIn("vic@example.com").get("").body, "Create it")
}

// TestNearTheLimit: a license is listed while it uses 80 % of its seats or of a meter. The
// list that the page links to has the same licenses.
func TestNearTheLimit(t *testing.T) {
	is := is.New(t)
	s := soldSite(t)
	v := s.admin()
	exports := map[string]api.Meter{"exports": {Limit: ptr[int64](1000)}}
	metered := s.license(api.CreateLicenseParams{Name: "Metered", Terms: api.Terms{Meters: exports}})
	revoked := s.license(api.CreateLicenseParams{Name: "Revoked", Terms: api.Terms{MaxActivations: ptr[int64](1), Meters: exports}})
	for _, l := range []api.License{metered, revoked} {
		_, err := s.Metering().CountUsage(t.Context(), api.CountUsageParams{Key: l.Key, Usage: []api.UsageReport{{Meter: "exports", ID: "a", Total: 900}}})
		is.NoErr(err)
	}
	_, err := s.Service().Activate(t.Context(), api.ActivateKeyParams{Key: revoked.Key, Fingerprint: "pc"})
	is.NoErr(err)
	_, err = s.Service().Revoke(t.Context(), api.ChangeStateParams{ID: revoked.ID})
	is.NoErr(err)
	require.Contains(t, v.get("").body, "No license uses 80 % of five or more seats or of a usage limit, and none was refused a seat in the last 30 days.") // nothing was counted
	s.run(t, func() bool {
		return v.get("").says("<span>4/5</span>") && v.get("").says("<span>900/1,000</span>")
	})
	a := v.get("").body
	require.Contains(t, a, `<span class="small">2 licenses</span>`, "bob0@shop.example", " · exports</span>", `<a href="./licenses?only=near_limit">`)
	require.NotContains(t, a, ">Revoked<")
	list := v.get("licenses?only=near_limit").body
	require.Contains(t, list, ">Bob 0<", ">Metered<")
	is.Equal(strings.Count(list, `<th scope="row"`), 2)
}

// TestDueOfAPlanLinksToItsLicenses: the list has as many licenses as the number says, also
// of those whose updates end, or which outlive a purchase.
func TestDueOfAPlanLinksToItsLicenses(t *testing.T) {
	is := is.New(t)
	s := soldSite(t)
	v := s.admin()
	s.plan(api.PutPlanParams{ID: "forever", Duration: api.Duration{Days: 10}, UntilEnds: api.UntilEndsUpdates})
	_, err := s.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: "shop:forever", CustomerID: "cus_forever", PlanID: "forever", State: api.PurchaseActive, At: s.clock()})
	is.NoErr(err)
	s.plan(api.PutPlanParams{ID: "free", Terms: api.Terms{MaxActivations: ptr[int64](1)}})
	s.plan(api.PutPlanParams{ID: "pro", Duration: api.Duration{Days: 20}, Terms: api.Terms{MaxActivations: ptr[int64](3), GraceSeconds: 14 * 86400}})
	free, err := s.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: "shop:free", CustomerID: "cus_free", PlanID: "free", State: api.PurchaseActive, At: s.clock()})
	is.NoErr(err)
	s.advance(time.Minute)
	pro := api.RecordPurchaseParams{Reference: "shop:pro", CustomerID: "cus_free", LicenseID: free.LicenseID, PlanID: "pro", State: api.PurchaseActive, At: s.clock()}
	_, err = s.Selling().RecordPurchase(t.Context(), pro)
	is.NoErr(err)
	for n := range 2 {
		if n > 0 { // the same as before it was counted
			s.run(t, func() bool { return !v.get("").says("being counted") })
		}
		a := v.get("").body
		for plan, n := range map[string]int{"month": 2, "team": 1, "forever": 1, "pro": 1} {
			require.Contains(t, a, fmt.Sprintf(`<a href="./licenses?only=due&amp;plan=%s">%d</a>`, plan, n))
			is.Equal(strings.Count(v.get("licenses?only=due&plan="+plan).body, `<th scope="row"`), n)
		}
	}
	is.Equal(strings.Count(v.get("licenses?only=due").body, `<th scope="row"`), 5)
	require.Contains(t, v.get("").body, `">cus_free</a>`, `purchase ends <time datetime="2026-03-30T12:`, `updates end <time datetime="2026-03-20T12:`, `<a href="./licenses?only=due">`)
	s.advance(time.Minute)
	pro.At, pro.Until = s.clock(), api.To(s.clock().AddDate(0, 0, 40))
	_, err = s.Selling().RecordPurchase(t.Context(), pro)
	is.NoErr(err)
	require.NotContains(t, v.get("").body, "purchase ends", "plan=pro")
}

// TestDueDoesNotRenewByItself: a purchase that is charged again at its end is not due, on no
// page and in no list, unless it is paused, was canceled, or is late.
func TestDueDoesNotRenewByItself(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	s.plan(api.PutPlanParams{ID: "month", Duration: api.Duration{Days: 10}, Terms: api.Terms{GraceSeconds: 5 * 86400}})
	say := func(customer string, renews *bool, state api.PurchaseState) {
		t.Helper()
		s.advance(time.Second)
		_, err := s.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: "sub:" + customer, CustomerID: customer, PlanID: "month", Renews: renews, State: state, At: s.clock()})
		is.NoErr(err)
	}
	for _, customer := range []string{"renews", "paused", "canceled"} {
		say(customer, new(true), api.PurchaseActive)
	}
	say("unknown", nil, api.PurchaseActive)
	sees := func(want ...string) {
		t.Helper()
		for _, page := range []string{"", "licenses?only=due", "licenses?only=due&plan=month"} {
			a := v.get(page).body
			for _, customer := range []string{"renews", "paused", "canceled", "unknown"} {
				is.Equal(strings.Contains(a, `">`+customer+`</a>`), slices.Contains(want, customer))
			}
			if !strings.HasPrefix(page, "licenses") {
				require.Contains(t, a, fmt.Sprintf(`<a href="./licenses?only=due&amp;plan=month">%d</a>`, len(want)), fmt.Sprintf(`<h2 id="due-title">Ends soon, in the next 30 days</h2> <span class="small">%d</span>`, len(want)))
			}
		}
	}
	sees("unknown")
	say("paused", nil, api.PurchasePaused)
	say("canceled", new(false), "")
	sees("unknown", "paused", "canceled")
	s.advance(10*24*time.Hour + time.Hour) // the charge of the last day has not come
	v = s.signedIn("ada@example.com")
	sees("unknown", "paused", "canceled", "renews")
}

// TestDueOfSeveralPurchasesOfALicense: the list has each end that the number counts, also
// before it was counted, and while an earlier purchase of the license is in its grace period.
func TestDueOfSeveralPurchasesOfALicense(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	s.plan(api.PutPlanParams{ID: "free"})
	s.plan(api.PutPlanParams{ID: "pro", Duration: api.Duration{Days: 10}, Terms: api.Terms{GraceSeconds: 14 * 86400}})
	s.plan(api.PutPlanParams{ID: "team", Duration: api.Duration{Days: 20}, Terms: api.Terms{MaxActivations: ptr[int64](5)}})
	license := ""
	for _, plan := range []string{"free", "pro", "team"} {
		s.advance(time.Minute)
		f, err := s.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: plan, CustomerID: "ann", PlanID: plan, LicenseID: license, State: api.PurchaseActive, At: s.clock()})
		is.NoErr(err)
		license = f.LicenseID
	}
	due := regexp.MustCompile(`purchase ends <time datetime="(2026-03-..)`)
	sees := func(number int, ends ...string) {
		t.Helper()
		page := v.get("").body
		var list []string
		for _, m := range due.FindAllStringSubmatch(page, -1) {
			list = append(list, m[1])
		}
		is.Equal(list, ends)
		require.Contains(t, page, fmt.Sprintf(`<h2 id="due-title">Ends soon, in the next 30 days</h2> <span class="small">%d</span>`, number))
	}
	counted := func() {
		t.Helper()
		s.run(t, func() bool { return !v.get("").says("being counted") })
	}
	sees(2, "2026-03-11", "2026-03-21")
	counted()
	sees(2, "2026-03-11", "2026-03-21")
	s.advance(12 * 24 * time.Hour)
	v = s.signedIn("ada@example.com")
	counted()
	sees(1, "2026-03-21")
}

// TestDueOfAPurchaseThatItsLicenseOutlives: its ends are those that were due, whether it was
// renewed or has ended.
func TestDueOfAPurchaseThatItsLicenseOutlives(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	s.plan(api.PutPlanParams{ID: "free", Terms: api.Terms{MaxActivations: ptr[int64](1)}})
	s.plan(api.PutPlanParams{ID: "pro", Duration: api.Duration{Days: 10}, Terms: api.Terms{MaxActivations: ptr[int64](3), GraceSeconds: 14 * 86400}})
	f, err := s.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: "shop:free", CustomerID: "cus", PlanID: "free", State: api.PurchaseActive, At: s.clock()})
	is.NoErr(err)
	s.advance(time.Minute)
	pro := api.RecordPurchaseParams{Reference: "shop:pro", CustomerID: "cus", LicenseID: f.LicenseID, PlanID: "pro", State: api.PurchaseActive, At: s.clock(), Until: api.To(s.clock().AddDate(0, 0, 10))}
	_, err = s.Selling().RecordPurchase(t.Context(), pro) // until 11 March
	is.NoErr(err)
	s.advance(9 * 24 * time.Hour)
	pro.At, pro.Until = s.clock(), api.To(s.clock().AddDate(0, 0, 11)) // until 21 March
	_, err = s.Selling().RecordPurchase(t.Context(), pro)
	is.NoErr(err)
	s.advance(40 * 24 * time.Hour)
	v := s.admin()
	const due = "2026-03-11,pro,0,0,0,0,0,0,1,0\r\n2026-03-21,pro,0,0,0,0,0,0,0,1\r\n"
	s.run(t, func() bool { return strings.Contains(v.get("sales.csv?period=last-month").body, due) })
}

// TestContinuedPurchaseHasNotEnded: a purchase whose renewal is of another plan of its line
// gives way to that one, and no customer has left.
func TestContinuedPurchaseHasNotEnded(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	s.plan(api.PutPlanParams{ID: "pro", Duration: api.Duration{Days: 10}, Terms: api.Terms{MaxActivations: ptr[int64](3)}})
	s.plan(api.PutPlanParams{ID: "pro2", Line: "pro", Duration: api.Duration{Days: 10}, Terms: api.Terms{MaxActivations: ptr[int64](5)}})
	f, err := s.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: "shop:1", CustomerID: "cus", PlanID: "pro", State: api.PurchaseActive, At: s.clock()})
	is.NoErr(err)
	s.advance(8 * 24 * time.Hour)
	_, err = s.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: "shop:2", CustomerID: "cus", LicenseID: f.LicenseID, PlanID: "pro2", State: api.PurchaseActive, At: s.clock()})
	is.NoErr(err)
	s.advance(7 * 24 * time.Hour)
	v := s.admin()
	s.run(t, func() bool { return strings.Contains(v.get("sales.csv?period=month").body, "2026-03-16,") }) // 5 seats since 11 March
	require.Contains(t, v.get("sales.csv?period=month").body, "2026-03-09,pro,0,0,0,0,1,0,0,0\r\n", "2026-03-16,pro,0,0,0,0,0,0,0,0\r\n")
}

// TestFailingWebhookIsNamed: the overview says which webhook fails and why.
func TestFailingWebhookIsNamed(t *testing.T) {
	is := is.New(t)
	s, v, w, receiver := newReceiverSite(t)
	receiver.answer(http.StatusInternalServerError, "out of memory")
	s.license(api.CreateLicenseParams{Name: "Atlas"})
	s.run(t, s.attempted(w, 1))
	require.Contains(t, v.get("").body, `<a href="./settings/webhooks/`+w.ID+`">shop.example</a> <span class="muted"><span class="any">Answers 500 (out of memory)</span>`)
	is.True(!v.get("").says("Nothing needs attention"))
}
