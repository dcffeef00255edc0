package dashboard_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

func TestAuditLog(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	require.Contains(t, s.admin().get("audit").body, "operator.created") // recorded when the operator was created
	v := s.signedIn("ada@example.com")
	c, _, err := s.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "Web shop"})
	is.NoErr(err)
	name := "Web shop 2"
	_, err = s.Auth().UpdateClient(t.Context(), auth.UpdateClientParams{ID: c.ID, Name: &name})
	is.NoErr(err)
	l, err := s.Service().As(license.Caller{Actor: "client:" + c.ID, RequestID: "req_1"}).Create(t.Context(), api.CreateLicenseParams{Name: "Atlas", ProductID: "atlas", CustomerID: "bakery"})
	is.NoErr(err)
	s.activate(l, "machine-1", "Reception")
	v.post("licenses/"+l.ID+"/suspend", "reason", "The invoice is open")
	devices, err := s.Service().Customer("bakery").Activations(t.Context(), api.ListActivationsParams{LicenseID: l.ID})
	is.NoErr(err)
	_, err = s.Service().Customer("bakery").Release(t.Context(), l.ID, devices.Data[0].ID)
	is.NoErr(err)
	gone := s.license(api.CreateLicenseParams{Name: "Gone"})
	is.NoErr(s.Service().Delete(t.Context(), api.DeleteLicenseParams{ID: gone.ID}))

	all := v.get("audit")
	is.Equal(all.StatusCode, http.StatusOK)
	for _, text := range []string{
		"License suspended", "“The invoice is open”", "ada@example.com",
		"License created", ">Web shop 2</a>", "<code>req_1</code>", `href="./licenses/` + l.ID + `"`,
		"Activation created", "Reception", "license key holder", "the customer bakery",
		"API client updated", "Name: Web shop → Web shop 2", "Operator signed in", "License deleted",
	} {
		require.Contains(t, all.body, text)
	}
	is.Equal(strings.Count(all.body, `href="./licenses/`+gone.ID+`"`), 1) // linked from its creation only
	require.Less(t, strings.Index(all.body, "License deleted"), strings.Index(all.body, "Operator created"))
	require.NotContains(t, all.body, l.Key)
	require.Contains(t, all.body, "All API client events", "All webhook events")

	types := func(query string) []string { return auditTypes(v.get("audit" + query)) }
	is.Equal(types("?type=license.suspended"), []string{"license.suspended"})
	is.Equal(types("?type=client.*"), []string{"client.updated", "client.created"})
	is.Equal(types("?subject="+c.ID), []string{"client.updated", "client.created"})
	is.Equal(types("?customer=bakery"), []string{"activation.released", "license.suspended", "activation.created", "license.created"})
	is.Equal(types("?actor=customer:"), []string{"activation.released"})
	none := v.get("audit?subject=unknown")
	require.Contains(t, none.body, "No matching events")
	require.Contains(t, v.link(none, "Show all events").body, "License created")
	for _, query := range []string{"?type=license.mislaid", "?after=garbage", "?subject=%00"} {
		is.Equal(v.get("audit"+query).StatusCode, http.StatusBadRequest)
	}
}

func TestAuditLogOfSignIns(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	code, err := s.Operators().CreateSetupCode(t.Context())
	is.NoErr(err)
	v := s.visitor()
	is.Equal(v.post("setup", "code", code, "email", "ada@example.com", "password", password).StatusCode, http.StatusSeeOther)
	require.NotContains(t, v.get("settings/operators").body, "Never") // the setup signed the operator in
	is.Equal(s.visitor().post("sign-in", "email", "ada@example.com", "password", "not it").StatusCode, http.StatusUnprocessableEntity)
	is.Equal(s.visitor().post("sign-in", "email", "eve@example.com", "password", "not it").StatusCode, http.StatusUnprocessableEntity)
	is.Equal(v.post("sign-out").StatusCode, http.StatusSeeOther)

	a := s.signedIn("ada@example.com").get("audit")
	is.Equal(strings.Count(a.body, `rowheader">Operator signed in<`), 2)
	is.Equal(strings.Count(a.body, `rowheader">Operator signed out<`), 1)
	is.Equal(strings.Count(a.body, "<div>an anonymous visitor"), 2)
	is.Equal(strings.Count(a.body, "<div>an unknown account"), 1)
	require.NotContains(t, a.body, "<div>the host application", "sessions changed")
}

func TestAuditLogPages(t *testing.T) {
	is := is.New(t)
	st := listedStore{memory.New(), new(atomic.Int64)}
	s := newSiteOn(t, st, licensing.Options{})
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Number 0"})
	const changes = 12_000 // twelve times the limit of one read
	is.NoErr(s.st.Update(t.Context(), func(tx store.Tx) error {
		for i := range changes {
			e := store.Event{ID: fmt.Sprintf("evt_%05d", i), Type: "license.updated", Time: s.clock(), Subject: l.ID, Actor: "go"}
			if i%40 == 0 {
				e.Type = "license.renewed"
			}
			if err := tx.AppendEvents(t.Context(), e); err != nil {
				return err
			}
		}
		return nil
	}))
	older := func(a reply) string {
		m := regexp.MustCompile(`rel="next" href="([^"]*)"`).FindStringSubmatch(a.body)
		if m == nil {
			return ""
		}
		return "audit" + html.UnescapeString(m[1])
	}
	seen := 0
	for page := "audit?type=license.renewed"; page != ""; {
		a := v.get(page)
		n := strings.Count(a.body, "license.renewed</code>")
		is.True(n == 50 || older(a) == "") // every page but the last is full
		seen += n
		page = older(a)
	}
	is.Equal(seen, changes/40)

	// A page reads 10,000 events at most, and a few to name days and the next page, whatever
	// the filter is; the next page continues.
	var a reply
	for filter, searched := range map[string]string{"type=license.created": "10,000", "q=number+0": "9,045", "type=sales.hand": "9,045"} {
		st.rows.Store(0)
		a = v.get("audit?" + filter)
		require.AtMost(t, st.rows.Load(), store.MaxExamined+100)
		require.AtLeast(t, st.rows.Load(), 9_000)
		require.Contains(t, a.body, "No matches found yet", "This page searched up to "+searched+" events")
		for older(a) != "" {
			a = v.get(older(a))
		}
		require.Contains(t, a.body, "license.created</code>") // older than all other events
	}

	defer dashboard.SetAuditBudget(4000)()
	page, pages := "audit?type=license.created", 0
	for ; !v.get(page).says("license.created</code>"); pages++ {
		a = v.get(page)
		require.Contains(t, a.body, "No matches found yet", "Search older events")
		require.Contains(t, a.body, "This page searched up to 4,000 events, back to 1 Mar 2026, 12:00.")
		page = older(a)
		is.True(page != "")
	}
	is.Equal(pages, 3) // 4,000 events each
}

// TestAuditLogFilters checks the filters by actor, day and text, alone and
// together, on the page and in the export.
func TestAuditLogFilters(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	s.admin()
	ada, err := s.Operators().List(t.Context(), operator.ListParams{})
	is.NoErr(err)
	vic := s.operator("vic@example.com", operator.RoleAdmin)
	c, _, err := s.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "Web shop"})
	is.NoErr(err)
	l := s.license(api.CreateLicenseParams{Name: "Atlas für Zoë", CustomerID: "bakery"})
	s.advance(48 * time.Hour) // 3 Mar
	v := s.signedIn("ada@example.com")
	v.post("licenses/"+l.ID+"/suspend", "reason", "=The <invoice> is open")
	_, err = s.Service().As(license.Caller{Actor: "operator:" + vic.ID}).Reinstate(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	s.advance(24 * time.Hour) // 4 Mar
	_, err = s.Service().As(license.Caller{Actor: "client:" + c.ID, RequestID: "req-77"}).Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, Name: new("Compass")})
	is.NoErr(err)
	s.advance(30 * 24 * time.Hour)

	v = s.signedIn("ada@example.com")
	require.Contains(t, v.get("audit?actor=operator:").body, `<option value="operator:" selected>All operators</option>`) // with the built-in sign-in
	for query, want := range map[string]string{
		"actor=operator:&type=license.*":                 "license.reinstated license.suspended",
		"actor=operator:" + vic.ID:                       "license.reinstated",
		"actor=client:":                                  "license.updated",
		"actor=client:" + c.ID:                           "license.updated",
		"actor=go&type=license.*":                        "license.created",
		"actor=system":                                   "",
		"from=2026-03-03&to=2026-03-03&type=license.*":   "license.reinstated license.suspended",
		"from=2026-03-03&to=2026-04-01&type=license.*":   "license.updated license.reinstated license.suspended",
		"to=2026-03-02&type=license.*":                   "license.created",
		"from=2026-03-04&to=2026-03-31":                  "license.updated",
		"q=INVOICE":                                      "license.suspended",
		"q=" + url.QueryEscape("<invoice>"):              "license.suspended", // escaped in the data
		"q=" + url.QueryEscape("ZOË") + "&to=2026-03-02": "license.created",
		"q=req-77":                                           "license.updated",
		"q=compass":                                          "license.updated",
		"q=vic@example.com&type=license.*":                   "license.reinstated",
		"q=" + l.ID + "&type=license.suspended":              "license.suspended",
		"q=product_id":                                       "", // names of members are not text
		"q=atlas&actor=operator:" + ada.Data[0].ID:           "license.suspended",
		"q=shop&type=client.*&subject=" + c.ID:               "client.created",
		"q=atlas&customer=bakery&from=2026-03-03&actor=go":   "",
		"customer=bakery&to=2026-03-01&actor=go&type=&q=zo":  "license.created",
		"from=2026-03-03&to=2026-03-03&q=open&actor=client:": "",
	} {
		a := v.get("audit?" + query)
		is.Equal(a.StatusCode, http.StatusOK)
		if got := strings.Join(auditTypes(a), " "); got != want {
			t.Errorf("%s: %q, not %q", query, got, want)
		}
		export := v.get("audit.csv?" + query)
		rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(export.body, "\ufeff"))).ReadAll()
		is.NoErr(err)
		var types []string
		for _, row := range rows[1:] {
			types = append(types, row[2])
		}
		is.Equal(strings.Join(types, " "), want)
	}
	require.Contains(t, v.get("audit.csv?actor=client:").body, ",Name: Atlas für Zoë → Compass,") // the changes have a column
	for query, says := range map[string]string{
		"from=soon":                     "From must be a date, such as 2027-01-31.",
		"from=2026-03-04&to=2026-03-03": "To must not be before the first day.",
	} {
		a := v.get("audit?" + query)
		is.Equal(a.StatusCode, http.StatusBadRequest)
		require.Contains(t, a.body, says, `<input id="to" name="to" type="date"`) // the form can correct it
		is.Equal(v.get("audit.csv?"+query).StatusCode, http.StatusBadRequest)
	}

	a := v.get("audit?q=invoice&actor=operator:" + ada.Data[0].ID + "&from=2026-03-03&to=2026-03-03")
	require.Contains(t, a.body, `value="operator:`+ada.Data[0].ID+`" selected>ada@example.com`)
	require.Contains(t, a.body, `name="from" type="date" value="2026-03-03"`)
	link := regexp.MustCompile(`href="\./(audit\.csv[^"]*)"`).FindStringSubmatch(a.body)
	export := v.get(html.UnescapeString(link[1])) // with the same filter
	is.Equal(export.Header.Get("Content-Disposition"), `attachment; filename="audit-log-2026-04-03.csv"`)
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(export.body, "\ufeff"))).ReadAll()
	is.NoErr(err)
	is.Equal(len(rows), 2)
	is.Equal(rows[1][:5], []string{"2026-03-03T12:00:00Z", "License suspended", "license.suspended", "Atlas für Zoë", l.ID})
	is.Equal(rows[1][9], "'=The <invoice> is open") // not a formula for a spreadsheet
	require.Contains(t, v.get("audit?actor=client:"+c.ID).body, `value="client:`+c.ID+`" selected>Web shop`)
}

// auditTypes returns the types of the events on a page of the audit log.
func auditTypes(a reply) (list []string) {
	for _, m := range regexp.MustCompile(`<code class="type">([\w.]+)</code>`).FindAllStringSubmatch(a.body, -1) {
		list = append(list, m[1])
	}
	return list
}

// TestAuditLogFindsDays checks that a range of days in a long log is found with a
// few reads, and that pages of a search are full.
func TestAuditLogFindsDays(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	st := &eventReads{Store: memory.New()}
	s := newSiteOn(t, st, licensing.Options{})
	v := s.admin()
	first := s.now.AddDate(0, 0, -1000)
	const perDay = 20
	is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
		for i := range 1000 * perDay {
			at := first.AddDate(0, 0, i/perDay)
			switch i % perDay {
			case 0:
				at = at.Add(10*time.Minute - 12*time.Hour) // shortly after midnight
			case 1:
				at = at.Add(-10*time.Minute - 12*time.Hour) // shortly before, by another clock
			}
			e := store.Event{ID: fmt.Sprintf("evt_%05d", i), Type: "license.updated", Time: at, Subject: "lic_x", Actor: "go",
				Data: fmt.Appendf(nil, `{"license":{"name":"Name %d"}}`, i)}
			if err := tx.AppendEvents(t.Context(), e); err != nil {
				return err
			}
		}
		return nil
	}))
	day := first.AddDate(0, 0, 300)
	date := day.Format(time.DateOnly)
	st.n.Store(0)
	a := v.get("audit?from=" + date + "&to=" + date)
	is.Equal(len(auditTypes(a)), perDay)
	require.NotContains(t, a.body, `rel="next"`) // no older event can match
	if n := st.n.Load(); n > 40 {
		t.Errorf("the page took %d reads of the feed", n)
	}
	require.Contains(t, v.get("audit?to="+first.AddDate(0, 0, -2).Format(time.DateOnly)).body, "No matching events")

	pages, seen := 0, 0
	for page := "audit?q=7&to=" + date; page != ""; pages++ {
		a := v.get(page)
		n := len(auditTypes(a))
		m := regexp.MustCompile(`rel="next" href="([^"]*)"`).FindStringSubmatch(a.body)
		seen += n
		if page = ""; m != nil {
			is.Equal(n, 50) // every page but the last is full
			page = "audit" + html.UnescapeString(m[1])
		}
	}
	want := 0
	for i := range 301 * perDay {
		if strings.Contains(fmt.Sprintf("Name %d evt_%05d", i, i), "7") {
			want++
		}
	}
	is.Equal(seen, want)
}

// eventReads is a store that counts reads of the feed.
type eventReads struct {
	store.Store
	n atomic.Int64
}

func (s *eventReads) View(ctx context.Context, fn func(store.Reader) error) error {
	return s.Store.View(ctx, func(r store.Reader) error { return fn(eventReader{r, s}) })
}

type eventReader struct {
	store.Reader
	s *eventReads
}

func (r eventReader) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	r.s.n.Add(1)
	return r.Reader.Events(ctx, q)
}
