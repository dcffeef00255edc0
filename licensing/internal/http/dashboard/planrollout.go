package dashboard

import (
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

// rollOutPlanForm gives the purchases of a plan the terms that it has now. It shows their
// number first.
func rollOutPlanForm(v *visit, t api.Plan) (*formPage, error) {
	p := planFormPage(t, "Roll out plan",
		"Purchases of this plan get the terms that it has now, its duration included, and their licenses change accordingly. What was set by hand stays unless the plan has changed it.")
	reason := reasonField("Optional. Recorded in the history of each license.")
	reason.Value = v.r.URL.Query().Get("reason")
	p.Form, p.Action = newForm(reason), "Roll out"
	after := p.continues(v, "There may be more purchases of this plan with earlier terms.")
	p.prepare = func(v *visit) error {
		if after != "" {
			return nil
		}
		use, err := selling.New(v.licenses).GetPlanUse(v.r.Context(), t.ID)
		text := matchCount{use.Purchases, use.AtLeast}.text("purchase") + " of this plan."
		if use.Licenses > 0 {
			text += " Licenses that only have its ID, and stay as they are: " + matchCount{use.Licenses, use.AtLeast}.number() + "."
		}
		p.Text = append(p.Text, text)
		return err
	}
	p.do = func(v *visit) (to string, err error) {
		to, p.done, err = v.rollOut(api.RollOutPlanParams{ID: t.ID, Cursor: after, Reason: reason.Value})
		return to, err
	}
	return p, nil
}

// continues returns the place after which a change in steps continues, which the page then
// says; empty: the change begins.
func (p *formPage) continues(v *visit, text string) string {
	after := v.r.URL.Query().Get("after")
	if after != "" {
		p.Text, p.Action = []string{text}, "Continue"
	}
	return after
}

// rollOut rolls a plan out. It returns the page to show next, and a notice.
func (v *visit) rollOut(p api.RollOutPlanParams) (to, notice string, err error) {
	to, total, err := v.inSteps(p.ID, "/rollout", map[string]string{"after": p.Cursor, "reason": p.Reason}, func(after string) (string, int, error) {
		p.Cursor = after
		done, err := selling.New(v.licenses).RollOutPlan(v.r.Context(), p)
		return done.NextCursor, done.Changed, err
	})
	return to, count(total, "license") + " " + verb(total, "has", "have") + " other terms now.", err
}

// stepsFor is how long a request makes a change in steps. Then the operator decides
// whether to continue.
const stepsFor = 2 * time.Second

// inSteps changes what a plan was copied to until it is done or stepsFor has passed. A step
// begins after a place, and returns the next one, which is empty at the end, and a number,
// which inSteps adds up. It returns the page to show next: that of the plan or, to continue,
// the form with the query.
func (v *visit) inSteps(planID, form string, query map[string]string, step func(after string) (next string, n int, err error)) (to string, total int, err error) {
	for start := v.h.opts.Now(); ; {
		next, n, err := step(query["after"])
		total += n
		if query["after"] = next; err != nil || next == "" {
			return planPath(planID), total, err
		}
		if v.h.opts.Now().Sub(start) >= stepsFor {
			return planPath(planID) + form + "?" + queryOf(query).Encode(), total, nil
		}
	}
}
