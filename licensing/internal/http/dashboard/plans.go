package dashboard

import (
	"net/http"
	"net/url"

	"github.com/seed-d8a106b4/licensekit/licensing/selling"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// planPath returns the page of a plan, as a reference from dashboard/.
func planPath(id string) string { return "plan/" + url.PathEscape(id) }

// planRow is a plan with the number of its licenses.
type planRow struct {
	api.Plan
	Licenses planUse
}

// Seats returns the maximum of activations.
func (t planRow) Seats() string {
	if t.MaxActivations == nil {
		return "Unlimited"
	}
	return thousands(*t.MaxActivations)
}

// Lasts says what the duration of the plan is for.
func (t planRow) Lasts() string {
	lasts := sentenceCase(describeTerm(t.Duration))
	switch updates := t.UntilEnds == api.UntilEndsUpdates; {
	case updates && t.Duration.IsZero():
		lasts = "No end of updates"
	case updates:
		lasts += " of updates"
	}
	if t.Starts == api.StartsActivation {
		lasts += " from the first activation"
	}
	return lasts
}

// A planUse is the number of licenses that have a plan, or a link that counts them.
// Counting reads all licenses, so a page does it only if its query asks for it. A
// script replaces the link by the number.
type planUse struct {
	ID     string // of the plan
	Number string // empty: not counted
	Count  string // the query of the same page with the number
}

// planUses returns a function that returns the use of a plan.
func (v *visit) planUses() (func(id string) planUse, error) {
	q := v.r.URL.Query()
	if q.Get("count") == "" {
		to := queryOf(map[string]string{"count": "1", "after": q.Get("after")})
		return func(id string) planUse { return planUse{ID: id, Count: "?" + to.Encode()} }, nil
	}
	counts, err := inner.Of(v.licenses).Find().CountPlans(v.r.Context())
	return func(id string) planUse {
		return planUse{ID: id, Number: matchCount{counts.ByPlan[id], counts.AtLeast}.number()}
	}, err
}

// planRows formats plans with the number of their licenses.
func (v *visit) planRows(plans ...api.Plan) (rows []planRow, err error) {
	use, err := v.planUses()
	return each(plans, func(t api.Plan) planRow { return planRow{t, use(t.ID)} }), err
}

func showPlans(v *visit) error {
	list, err := selling.New(v.licenses).ListPlans(v.r.Context(), api.ListPlansParams{Cursor: v.r.URL.Query().Get("after")})
	if err != nil {
		return err
	}
	rows, err := v.planRows(list.Data...)
	if err != nil {
		return err
	}
	return v.render(http.StatusOK, "plans", page{Title: "Plans", Section: "plans", Body: struct {
		Rows []planRow
		pager
	}{rows, v.pager(nil, "after", list.NextCursor)}})
}

func showPlan(v *visit, t api.Plan) error {
	rows, err := v.planRows(t)
	if err != nil {
		return err
	}
	return v.render(http.StatusOK, "plan", page{Title: t.Name, Section: "plans", Body: struct {
		planRow
		Entitlements, Meters []pair
	}{rows[0], entitlementPairs(t.Entitlements), meterPairs(t.Meters)}})
}
