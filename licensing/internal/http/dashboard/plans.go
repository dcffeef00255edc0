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
		Entitlements []pair
		Used         string // the number of licenses
		All, New     string // the licenses, and the form for one, as references from dashboard/
	}{row(t), entitlementPairs(t.Entitlements), matchCount{counts.ByPlan[t.ID], counts.AtLeast}.text("license"),
		"licenses?" + url.Values{"q": {t.ID}}.Encode(), "licenses/new?" + url.Values{"plan": {t.ID}}.Encode()}})
}
