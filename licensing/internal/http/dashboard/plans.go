package dashboard

import (
	"net/http"
	"net/url"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// planPath returns the page of a plan, as a reference from dashboard/.
func planPath(id string) string { return "plan/" + url.PathEscape(id) }

// planRow is a plan formatted for a page.
type planRow struct {
	license.Plan
	Path, ProductLink string // references from dashboard/
	Lasts, Seats      string
	Licenses          string // how many have it; set on the list
}

func row(t license.Plan) planRow {
	seats := "Unlimited"
	if t.MaxActivations != nil {
		seats = thousands(*t.MaxActivations)
	}
	lasts := sentenceCase(describeTerm(t.Duration))
	switch updates := t.UntilEnds == license.UntilEndsUpdates; {
	case updates && t.Duration.IsZero():
		lasts = "No end of updates"
	case updates:
		lasts += " of updates"
	}
	return planRow{t, planPath(t.ID), products.namePath(t.ProductID), lasts, seats, ""}
}

func showPlans(v *visit) error {
	after := v.r.URL.Query().Get("after")
	list, err := v.licenses.ListPlans(v.r.Context(), license.ListPlansParams{Cursor: after})
	if err != nil {
		return err
	}
	var body struct {
		Rows []planRow
		pager
	}
	body.pager = newPager(nil, "after", after, list.NextCursor)
	counts, err := inner.Of(v.licenses).CountPlans(v.r.Context())
	if err != nil {
		return err
	}
	for _, t := range list.Data {
		r := row(t)
		r.Licenses = matchCount{counts.ByPlan[t.ID], counts.AtLeast}.number()
		body.Rows = append(body.Rows, r)
	}
	return v.render(http.StatusOK, "plans", page{Title: "Plans", Section: "plans", Body: body})
}

func showPlan(v *visit) error {
	t, err := v.licenses.GetPlan(v.r.Context(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	counts, err := inner.Of(v.licenses).CountPlans(v.r.Context())
	if err != nil {
		return err
	}
	return v.render(http.StatusOK, "plan", page{Title: t.Name, Section: "plans", Body: struct {
		planRow
		Facts        []fact
		Entitlements []pair
		New          string // the form for a license, as a reference from dashboard/
	}{row(t), v.planFacts(t, matchCount{counts.ByPlan[t.ID], counts.AtLeast}), entitlementPairs(t.Entitlements), "licenses/new?" + url.Values{"plan": {t.ID}}.Encode()}})
}

// planFacts describes a plan and how many licenses have it.
func (v *visit) planFacts(t license.Plan, used matchCount) []fact {
	r := row(t)
	seconds := func(n *int64, none string) string {
		if n == nil {
			return none
		}
		return sentenceCase(describeSeconds(*n))
	}
	return []fact{
		{Label: "Plan ID", Code: t.ID, ID: "id"},
		{Label: "Licenses", Text: used.text("license"), Link: "licenses?" + url.Values{"q": {t.ID}}.Encode(), Note: "found by the plan ID"},
		{Label: "Product", Text: t.ProductID, Link: r.ProductLink},
		{Label: "Duration", Text: r.Lasts},
		{Label: "Grace period", Text: seconds(&t.GraceSeconds, "")},
		{Label: "Maximum activations", Text: r.Seats, Note: "for each unit of a purchase"},
		{Label: "Activation lease", Text: seconds(t.LeaseSeconds, "None")},
		{Label: "Offline time", Text: seconds(t.OfflineSeconds, "Default of the service")},
		{Label: "Created", Moment: v.moment(t.CreatedAt)},
		{Label: "Last changed", Moment: v.moment(t.UpdatedAt)},
	}
}
