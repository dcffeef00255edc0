package dashboard

import (
	"net/http"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// planRow is a plan with the number of its licenses.
type planRow struct {
	api.Plan
	Licenses forms.PlanUse
}

// Seats returns the maximum of activations.
func (t planRow) Seats() string {
	if t.MaxActivations == nil {
		return "Unlimited"
	}
	return kit.Thousands(*t.MaxActivations)
}

// Lasts says what the duration of the plan is for.
func (t planRow) Lasts() string {
	lasts := kit.SentenceCase(kit.DescribeTerm(t.Duration))
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

// planUses returns a function that returns the use of a plan.
func planUses(v *kit.Visit) (func(id string) forms.PlanUse, error) {
	q := v.R.URL.Query()
	if q.Get("count") == "" {
		to := kit.QueryOf(map[string]string{"count": "1", "after": q.Get("after")})
		return func(id string) forms.PlanUse { return forms.PlanUse{ID: id, Count: "?" + to.Encode()} }, nil
	}
	counts, err := inner.Of(v.Licenses).Find().CountPlans(v.R.Context())
	return func(id string) forms.PlanUse {
		return forms.PlanUse{ID: id, Number: kit.MatchCount{N: counts.ByPlan[id], More: counts.AtLeast}.Number()}
	}, err
}

// planRows formats plans with the number of their licenses.
func planRows(v *kit.Visit, plans ...api.Plan) (rows []planRow, err error) {
	use, err := planUses(v)
	return kit.Each(plans, func(t api.Plan) planRow { return planRow{t, use(t.ID)} }), err
}

func showPlans(v *kit.Visit) error {
	list, err := selling.New(v.Licenses).ListPlans(v.R.Context(), api.ListPlansParams{Cursor: v.R.URL.Query().Get("after")})
	if err != nil {
		return err
	}
	rows, err := planRows(v, list.Data...)
	if err != nil {
		return err
	}
	return v.Render(http.StatusOK, "plans", kit.Page{Title: "Plans", Section: "plans", Body: struct {
		Rows []planRow
		kit.Pager
	}{rows, v.Pager(nil, "after", list.NextCursor)}})
}

func showPlan(v *kit.Visit, t api.Plan) error {
	rows, err := planRows(v, t)
	if err != nil {
		return err
	}
	return v.Render(http.StatusOK, "plan", kit.Page{Title: t.Name, Section: "plans", Body: struct {
		planRow
		Facts, Entitlements, Meters []kit.Pair
	}{rows[0], kit.FactsOf(t, "kind", "line", "grace_seconds", "max_activations", "lease_seconds", "offline_seconds"), entitlementPairs(t.Entitlements), kit.MeterPairs(t.Meters)}})
}
