package dashboard

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// licensePage is the body of the first page of a license.
type licensePage struct {
	licenseHead
	Meters       []meterBar
	Files        time.Time // when its license files end; zero: there are none
	Email        string    // of the customer
	Plan         string    // the name of its plan; empty: it has none, or the plan was deleted
	Entitlements []pair
	Metadata     []pair
	Purchases    []purchaseRow
	Upcoming     []upcomingRow
	Verdict      verdictPanel
	Refusals     refusalPanel
	History      []historyEntry
	Older        bool // the license has older events
}

// A pair is one entitlement or one metadata entry.
type pair struct{ Name, Value string }

func showLicense(v *visit, head licenseHead) (err error) {
	l := head.License
	body := licensePage{licenseHead: head, Email: l.Metadata[v.h.opts.EmailKey], Entitlements: entitlementPairs(l.Entitlements)}
	if body.Files, err = inner.Of(v.licenses).Licenses().FilesUntil(v.r.Context(), l.ID); err != nil {
		return err
	}
	if body.Plan, err = v.planName(l.PlanID); err != nil {
		return err
	}
	if body.Purchases, err = v.purchasesOf(l.ID); err != nil {
		return err
	}
	body.Upcoming = upcomingRows(l)
	for _, name := range slices.Sorted(maps.Keys(l.Metadata)) {
		body.Metadata = append(body.Metadata, pair{name, l.Metadata[name]})
	}
	now, err := v.licenses.Explain(v.r.Context(), api.ExplainLicenseParams{ID: l.ID})
	if err != nil {
		return err
	}
	if body.Verdict, err = v.verdictPanel(l, now); err != nil {
		return err
	}
	if body.Refusals, err = v.refusalPanel(head, now); err != nil {
		return err
	}
	for _, u := range now.Meters {
		body.Meters = append(body.Meters, v.meterBar(u))
	}
	status := http.StatusOK
	if body.Verdict.Form.HasErrors() {
		status = http.StatusUnprocessableEntity
	}
	events, next, err := v.licenseEvents(l.ID, "", 5)
	if err != nil {
		return err
	}
	body.History, body.Older = events, next != ""
	return v.render(status, "license", page{Title: l.Name, Section: "licenses", Body: body})
}

// licenseEvents returns a page of the history of a license after a cursor, and
// the cursor of the next page, or "" if there is none.
func (v *visit) licenseEvents(id, after string, limit int) (list []historyEntry, next string, err error) {
	events, err := v.licenses.Events(v.r.Context(), api.ListEventsParams{Subject: id, NewestFirst: true, After: after, Limit: limit})
	if err != nil {
		return nil, "", err
	}
	names := actorNames{v: v}
	for _, e := range events.Data {
		list = append(list, names.historyEntry(e.Type, e.Actor, e.Timestamp, readEventData(e)))
	}
	return list, events.NextCursor, nil
}

// showActivity shows the history of a license.
func showActivity(v *visit, head licenseHead) error {
	after := v.r.URL.Query().Get("after")
	events, next, err := v.licenseEvents(head.License.ID, after, 20)
	if err != nil {
		return err
	}
	return v.render(http.StatusOK, "activity", page{Title: "Activity of " + head.License.Name, Section: "licenses", Body: struct {
		licenseHead
		History []historyEntry
		pager
	}{head, events, newPager(nil, "after", after, next)}})
}

// entitlementPairs lists entitlements by name.
func entitlementPairs(m map[string]any) (list []pair) {
	for _, name := range slices.Sorted(maps.Keys(m)) {
		value := "included"
		switch x := m[name].(type) {
		case bool:
		case string:
			value = x
		default:
			value = formatValue(x)
		}
		list = append(list, pair{name, value})
	}
	return list
}
