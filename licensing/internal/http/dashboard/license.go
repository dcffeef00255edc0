package dashboard

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/people"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/settings"
)

// licensePage is the body of the first page of a license.
type licensePage struct {
	licenseHead
	Meters       []meterBar
	Files        time.Time // when its license files end; zero: there are none
	Email        string    // of the customer
	Plan         string    // the name of its plan; empty: it has none, or the plan was deleted
	Entitlements []kit.Pair
	Metadata     []kit.Pair
	Purchases    []purchaseRow
	Life         *life
	Expiry       string // what the end of the license is called
	Upcoming     []upcomingRow
	Verdict      verdictPanel
	Refusals     refusalPanel
	History      []kit.HistoryEntry
	Try          *settings.QuickStart // nil: it or another one was validated
	Older        bool                 // the license has older events
}

func showLicense(v *kit.Visit, head licenseHead) error {
	l := head.License
	files, err1 := inner.Of(v.Licenses).Licenses().FilesUntil(v.R.Context(), l.ID)
	plan, err2 := v.PlanName(l.PlanID)
	purchases, err3 := purchasesOf(v, l.ID)
	now, err4 := v.Licenses.Explain(v.R.Context(), api.ExplainLicenseParams{ID: l.ID})
	events, older, err5 := newestEvents(v, l.ID)
	if err := cmp.Or(err1, err2, err3, err4, err5); err != nil {
		return err
	}
	verdict, err1 := verdictPanelOf(v, l, now)
	refusals, err2 := refusalPanelOf(v, head, now)
	if err := cmp.Or(err1, err2); err != nil {
		return err
	}
	refusals.leaveOut(now.Reasons)
	expiry := "Expires"
	switch {
	case slices.ContainsFunc(purchases, func(r purchaseRow) bool { return isBought(v, r) }):
		expiry = "Paid until"
	case len(purchases) > 0:
		expiry = "Trial until"
	}
	status := http.StatusOK
	if verdict.Form.HasErrors() {
		status = http.StatusUnprocessableEntity
	}
	body := licensePage{
		licenseHead: head, Meters: kit.Each(now.Meters, func(u api.MeterUse) meterBar { return meterBarOf(v, u) }), Files: files, Email: v.Email(l), Plan: plan,
		Entitlements: entitlementPairs(l.Entitlements), Metadata: kit.PairsOf(l.Metadata, kit.Same), Purchases: purchases, Upcoming: upcomingRows(l, v.Zone()),
		Life: lifeOf(v, l), Expiry: expiry, Verdict: verdict, Refusals: refusals, History: events, Older: older,
	}
	if v.May(kit.KeyReaders) && now.Valid && len(head.refusals) == 0 {
		if checked, err := people.Checked(v); err != nil {
			return err
		} else if !checked {
			body.Try = settings.TryLicense(v, l)
		}
	}
	return v.Render(status, "license", kit.Page{Title: l.Name, Section: "licenses", Body: body})
}

// newestEvents returns the newest events of a license, and whether there are older ones.
func newestEvents(v *kit.Visit, id string) (list []kit.HistoryEntry, older bool, err error) {
	events, err := v.Licenses.Events(v.R.Context(), api.ListEventsParams{Subject: id, NewestFirst: true, Limit: 5})
	if err != nil {
		return nil, false, err
	}
	names := kit.ActorNames{V: v}
	return kit.Each(events.Data, func(e api.Event) kit.HistoryEntry {
		return names.HistoryEntry(e.Type, e.Actor, e.Timestamp, kit.ReadEventData(e))
	}), events.HasMore, nil
}

// entitlementPairs lists entitlements by name.
func entitlementPairs(m map[string]any) []kit.Pair {
	return kit.PairsOf(m, func(value any) string {
		if _, isBool := value.(bool); isBool {
			return "included"
		}
		return kit.FormatValue(value)
	})
}
