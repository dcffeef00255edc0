package dashboard

import (
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// rollOutPlanForm gives the purchases of a plan the terms that it has now. It shows their
// number first.
func rollOutPlanForm(v *kit.Visit, t api.Plan) (*forms.FormPage, error) {
	p := planFormPage(t, "Apply to existing licenses",
		"Purchases of this plan get the terms that it has now, its duration included, and their licenses change accordingly. What you have set stays unless the plan has changed it.")
	reason := forms.ReasonField("Optional. Recorded in the history of each license.")
	reason.Value = v.R.URL.Query().Get("reason")
	p.Form, p.Action = forms.NewForm(reason), "Apply"
	after := continues(p, v, "There may be more purchases of this plan with earlier terms.")
	p.Prepare = func(v *kit.Visit) error {
		if after != "" {
			return nil
		}
		use, err := selling.New(v.Licenses).GetPlanUse(v.R.Context(), t.ID)
		text := kit.MatchCount{N: use.Purchases, More: use.AtLeast}.Text("purchase") + " of this plan."
		if use.Licenses > 0 {
			text += " Licenses that only have its ID, and stay as they are: " + kit.MatchCount{N: use.Licenses, More: use.AtLeast}.Number() + "."
		}
		p.Text = append(p.Text, text)
		return err
	}
	p.Do = func(v *kit.Visit) (to string, err error) {
		to, p.Done, err = rollOut(v, api.RollOutPlanParams{ID: t.ID, Cursor: after, Reason: reason.Value})
		return to, err
	}
	return p, nil
}

// continues returns the place after which a change in steps continues, which the page then
// says; empty: the change begins.
func continues(p *forms.FormPage, v *kit.Visit, text string) string {
	after := v.R.URL.Query().Get("after")
	if after != "" {
		p.Text, p.Action = []string{text}, "Continue"
	}
	return after
}

// rollOut rolls a plan out. It returns the page to show next, and a notice.
func rollOut(v *kit.Visit, p api.RollOutPlanParams) (to, notice string, err error) {
	to, total, err := inSteps(v, p.ID, "/rollout", map[string]string{"after": p.Cursor, "reason": p.Reason}, func(after string) (string, int, error) {
		p.Cursor = after
		done, err := selling.New(v.Licenses).RollOutPlan(v.R.Context(), p)
		return done.NextCursor, done.Changed, err
	})
	return to, kit.Count(total, "license") + " " + kit.Verb(total, "has", "have") + " other terms now.", err
}

// stepsFor is how long a request makes a change in steps. Then the operator decides
// whether to continue.
const stepsFor = 2 * time.Second

// inSteps changes what a plan was copied to until it is done or stepsFor has passed. A step
// begins after a place, and returns the next one, which is empty at the end, and a number,
// which inSteps adds up. It returns the page to show next: that of the plan or, to continue,
// the form with the query.
func inSteps(v *kit.Visit, planID, form string, query map[string]string, step func(after string) (next string, n int, err error)) (to string, total int, err error) {
	for start := v.Opts.Now(); ; {
		next, n, err := step(query["after"])
		total += n
		if query["after"] = next; err != nil || next == "" {
			return kit.PlanPath(planID), total, err
		}
		if v.Opts.Now().Sub(start) >= stepsFor {
			return kit.PlanPath(planID) + form + "?" + kit.QueryOf(query).Encode(), total, nil
		}
	}
}
