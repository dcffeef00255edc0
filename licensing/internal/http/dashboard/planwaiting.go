package dashboard

import (
	"log/slog"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// takeUpForm gives the purchases that wait for a plan their licenses.
func takeUpForm(v *kit.Visit, t api.Plan) (*forms.FormPage, error) {
	p := planFormPage(t, "Create waiting licenses", "Purchases that wait for this plan get their licenses, as if the plan had existed when they were reported.")
	p.Action = "Create licenses"
	after := continues(p, v, "There may be more purchases that wait for this plan.")
	p.Do = func(v *kit.Visit) (string, error) {
		to, done, err := takeUpWaiting(v, t.ID, after)
		p.Done = done
		return to, err
	}
	return p, nil
}

// takeUpWaiting creates the licenses of the purchases that wait for a plan. It returns the page to show
// next, and a notice.
func takeUpWaiting(v *kit.Visit, planID, after string) (to, notice string, err error) {
	to, total, err := inSteps(v, planID, "/waiting", map[string]string{"after": after}, func(after string) (string, int, error) {
		return inner.Of(v.Licenses).Purchases().TakeUpWaiting(v.R.Context(), planID, after)
	})
	return to, takenUpText(total), err
}

func takeUpPath(planID string) string { return kit.PlanPath(planID) + "/waiting" }

func takenUpText(n int) string {
	return kit.Count(n, "waiting purchase") + " " + kit.Verb(n, "has its license", "have their licenses") + " now."
}

// takeUpForNewPlan creates the licenses of the purchases that wait for a plan that was created.
func takeUpForNewPlan(v *kit.Visit, planID string) error {
	const created = "The plan has been created."
	to, done, err := takeUpWaiting(v, planID, "")
	switch {
	case err != nil:
		v.Opts.Logger.LogAttrs(v.R.Context(), slog.LevelError, "licensing: licenses of waiting purchases not created",
			slog.String("plan_id", planID), slog.String("request_id", v.Id), slog.Any("error", err))
		to, done = takeUpPath(planID), created+" "+done+" An error occurred; see the service log. Try again here."
	case to == kit.PlanPath(planID) && done == takenUpText(0):
		done = created
	default:
		done = created + " " + done
	}
	return v.RedirectDone(to, done)
}
