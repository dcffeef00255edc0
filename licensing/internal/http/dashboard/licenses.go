package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// licenseList is the body of the license list.
type licenseList struct {
	Filter   Filter
	Filtered bool // the filter is more than a sort
	Tabs     []listTab
	Sorts    []forms.Option
	Expiries []forms.Option
	Plans    []forms.Option // empty: a text field

	Conditions []forms.Option
	Rows       []licenseRow
	Count      string // the number of matches
	AtLeast    bool   // Count or a number on a tab is a minimum
	Every      string // the query of a change of all matches, if there are more than on this page
	Partial    bool   // licenses without an expiry are left out
	Counted    string // until when the licenses near a limit are counted
	kit.Pager
	Previous string // the query of the previous page
	CSV      string // empty: there is no download with the filter
	New      string // the query of the form for a new license
	Reached  string // how far the search has come, if it did not reach its end
	Continue string // the query that continues it

	Elsewhere elsewhere
}

type licenseRow struct {
	License api.License
	Seats   seatMeter
	Match   string // where a search has found the license, if not in its name
}

func showLicenses(v *kit.Visit) (err error) {
	q := v.R.URL.Query()
	f := readFilter(q)
	list := licenseList{Filter: f, Filtered: f != Filter{Sort: f.Sort}, CSV: kit.WithQuery("licenses.csv", f.query().Encode())}
	list.New = kit.WithQuery("", kit.QueryOf(map[string]string{"product": f.Product, "customer": f.Customer, "plan": f.Plan}).Encode())
	if f.scans() {
		list.CSV = ""
	}
	list.Sorts = kit.Each(f.sorts(), func(s string) forms.Option {
		return forms.Option{Value: s, Label: sortLabels[s], Chosen: f.order() == s}
	})
	for _, w := range expiryWindows {
		list.Expiries = append(list.Expiries, forms.Option{Value: w.value, Label: kit.SentenceCase(w.label), Chosen: f.Expires == w.value})
	}
	for _, c := range conditions {
		list.Conditions = append(list.Conditions, forms.Option{Value: c.value, Label: c.label, Chosen: f.Only == c.value})
	}
	if list.Plans, _, err = plansOffered(v, "", f.Plan); err != nil {
		return err
	}
	if strings.Contains(f.Expires, rangeMark) {
		list.Expiries = append(list.Expiries, forms.Option{Value: f.Expires, Label: kit.SentenceCase(windowLabel(f.Expires)), Chosen: true})
	}
	p := f.params(v.Opts.Now())
	p.Limit, p.Cursor = 50, q.Get("cursor")
	if from, until, ok := readWindow(q); ok && f.Expires != "" {
		p.ExpiresAfter, p.ExpiresBefore = from, until
	}
	result, examined, err := listedLicenses(v, f, p)
	if err != nil {
		return err
	}
	if list.Rows, err = foundRows(v, result.Data, f.Search); err != nil {
		return err
	}
	if f.Search != "" {
		if err := list.Elsewhere.addKeys(v, f, result); err != nil {
			return err
		}
		if only := (Filter{Search: f.Search, Sort: f.Sort}); f == only && len(list.Rows) == 0 && p.Cursor == "" {
			if err := list.Elsewhere.addFingerprints(v, f.Search, ""); err != nil {
				return err
			}
		}
	}
	if result.HasMore || p.Cursor != "" {
		every := f.query()
		every.Set("all", "1")
		list.Every = "?" + every.Encode()
	}
	list.Partial = f.omitsPerpetual()
	list.Tabs = f.tabs(nil)
	if f.scans() {
		list.uncounted(p, result, examined)
	} else if err := countMatches(v, &list, p, result); err != nil {
		return err
	}
	if f.Only == nearLimit {
		if list.Counted, err = nearCounted(v); err != nil {
			return err
		}
	}
	more := f.query()
	if f.Expires != "" {
		more.Set("window", windowOf(p))
	}
	list.Pager = v.Pager(more, "cursor", result.NextCursor)
	if result.PrevCursor != "" {
		more.Set("cursor", result.PrevCursor)
		more.Set("back", "1")
		list.Previous = "?" + more.Encode()
	}
	back := q.Get("back") != "" && list.Previous != "" // otherwise there was none before it, and this is the first page
	if list.Reached == "" {
		list.Reached = reached(result, p.NewestFirst != back)
	}
	if list.Continue = list.Next; back {
		list.Continue = list.Previous
	}
	return v.Render(http.StatusOK, "licenses", kit.Page{Title: "Licenses", Section: "licenses", Body: list})
}

// listedLicenses returns a page of the licenses of a filter, which p describes as far as indexes
// know, and how many were read to find them; zero: only those.
func listedLicenses(v *kit.Visit, f Filter, p api.ListLicensesParams) (page api.ListPage, examined int, err error) {
	if f.scans() {
		p.PlanID, p.Only = f.Plan, f.Only
		return inner.Of(v.Licenses).Find().ListWhere(v.R.Context(), p)
	}
	page, err = v.Licenses.List(v.R.Context(), p)
	return page, 0, err
}

// nearCounted says until when the licenses near a limit are counted.
func nearCounted(v *kit.Visit) (string, error) {
	to, whole, err := inner.Of(v.Licenses).Sales().NearTo(v.R.Context())
	now := v.Opts.Now()
	text := "Counted until " + v.Moment(*cmp.Or(to, &now)).Full + "."
	if to != nil {
		text += " Later events are being counted."
	}
	if !whole {
		text += " Licenses from before the first event are being counted."
	}
	return text, err
}

func licenseID(l api.License) string { return l.ID }

// licenseRows returns the rows of a list. It reads the seat counts of all rows
// together.
func licenseRows(v *kit.Visit, list []api.License) (rows []licenseRow, err error) {
	seats, err := inner.Of(v.Licenses).Find().SeatCounts(v.R.Context(), kit.Each(list, licenseID))
	if err != nil {
		return nil, err
	}
	for _, l := range list {
		n := seats[l.ID]
		rows = append(rows, licenseRow{License: l, Seats: listedSeats(l, n.N, n.AtLeast)})
	}
	return rows, nil
}

// fieldLabels name the fields of a license in which a search can find it.
var fieldLabels = map[string]string{"customer_id": "customer", "product_id": "product"}

// foundRows returns the rows of a page that a search has found, those found by their
// name first. Without a search text, the page keeps its order.
func foundRows(v *kit.Visit, list []api.License, search string) ([]licenseRow, error) {
	inner.Of(v.Licenses).Find().NameFirst(list, search)
	rows, err := licenseRows(v, list)
	for i, l := range list {
		if err != nil {
			break
		}
		if name, value := inner.Of(v.Licenses).Find().Match(l, search); name != "" {
			rows[i].Match = cmp.Or(fieldLabels[name], name) + ": " + value
		}
	}
	return rows, err
}

// windowOf returns the expiry window of a list for the query of its later pages.
func windowOf(p api.ListLicensesParams) string {
	return strconv.FormatInt(p.ExpiresAfter.UnixMilli(), 36) + "-" + strconv.FormatInt(p.ExpiresBefore.UnixMilli(), 36)
}

// readWindow reads the expiry window from the query of a later page. All pages
// of a list use the window of its first page.
func readWindow(q url.Values) (from, until time.Time, ok bool) {
	a, b, ok := strings.Cut(q.Get("window"), "-")
	if !ok || q.Get("cursor") == "" {
		return from, until, false
	}
	x, err1 := strconv.ParseInt(a, 36, 64)
	y, err2 := strconv.ParseInt(b, 36, 64)
	return time.UnixMilli(x).UTC(), time.UnixMilli(y).UTC(), err1 == nil && err2 == nil
}
