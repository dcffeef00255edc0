package dashboard

import (
	"log/slog"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// fulfillPlanForm gives the purchases that wait for a plan their licenses.
func fulfillPlanForm(v *kit.Visit, t api.Plan) (*forms.FormPage, error) {
	p := planFormPage(t, "Create waiting licenses", "Purchases that wait for this plan get their licenses, as if the plan had existed when they were reported.")
	p.Action = "Create licenses"
	after := continues(p, v, "There may be more purchases that wait for this plan.")
	p.Do = func(v *kit.Visit) (string, error) {
		to, done, err := fulfillWaiting(v, t.ID, after)
		p.Done = done
		return to, err
	}
	return p, nil
}

// fulfillWaiting fulfills the purchases that wait for a plan. It returns the page to show
// next, and a notice.
func fulfillWaiting(v *kit.Visit, planID, after string) (to, notice string, err error) {
	to, total, err := inSteps(v, planID, "/fulfill", map[string]string{"after": after}, func(after string) (string, int, error) {
		return inner.Of(v.Licenses).Purchases().FulfillWaiting(v.R.Context(), planID, after)
	})
	return to, fulfilledText(total), err
}

func fulfillPath(planID string) string { return kit.PlanPath(planID) + "/fulfill" }

func fulfilledText(n int) string {
	return kit.Count(n, "waiting purchase") + " " + kit.Verb(n, "has its license", "have their licenses") + " now."
}

// fulfillNewPlan fulfills the purchases that wait for a plan that was created.
func fulfillNewPlan(v *kit.Visit, planID string) error {
	const created = "The plan has been created."
	to, done, err := fulfillWaiting(v, planID, "")
	switch {
	case err != nil:
		v.Opts.Logger.LogAttrs(v.R.Context(), slog.LevelError, "licensing: waiting purchases not fulfilled",
			slog.String("plan_id", planID), slog.String("request_id", v.Id), slog.Any("error", err))
		to, done = fulfillPath(planID), created+" "+done+" An error occurred; see the service log. Try again here."
	case to == kit.PlanPath(planID) && done == fulfilledText(0):
		done = created
	default:
		done = created + " " + done
	}
	return v.RedirectDone(to, done)
}
