package dashboard

import (
	"log/slog"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// fulfillPlanForm gives the purchases that wait for a plan their licenses.
func fulfillPlanForm(v *visit, t api.Plan) (*formPage, error) {
	p := planFormPage(t, "Create waiting licenses", "Purchases that wait for this plan get their licenses, as if the plan had existed when they were reported.")
	p.Action = "Create licenses"
	after := p.continues(v, "There may be more purchases that wait for this plan.")
	p.do = func(v *visit) (string, error) {
		to, done, err := v.fulfillWaiting(t.ID, after)
		p.done = done
		return to, err
	}
	return p, nil
}

// fulfillWaiting fulfills the purchases that wait for a plan. It returns the page to show
// next, and a notice.
func (v *visit) fulfillWaiting(planID, after string) (to, notice string, err error) {
	to, total, err := v.inSteps(planID, "/fulfill", map[string]string{"after": after}, func(after string) (string, int, error) {
		return inner.Of(v.licenses).Purchases().FulfillWaiting(v.r.Context(), planID, after)
	})
	return to, fulfilledText(total), err
}

func fulfillPath(planID string) string { return planPath(planID) + "/fulfill" }

func fulfilledText(n int) string {
	return count(n, "waiting purchase") + " " + verb(n, "has its license", "have their licenses") + " now."
}

// fulfillNewPlan fulfills the purchases that wait for a plan that was created.
func (v *visit) fulfillNewPlan(planID string) error {
	const created = "The plan has been created."
	to, done, err := v.fulfillWaiting(planID, "")
	switch {
	case err != nil:
		v.h.opts.Logger.LogAttrs(v.r.Context(), slog.LevelError, "licensing: waiting purchases not fulfilled",
			slog.String("plan_id", planID), slog.String("request_id", v.id), slog.Any("error", err))
		to, done = fulfillPath(planID), created+" "+done+" An error occurred; see the service log. Try again here."
	case to == planPath(planID) && done == fulfilledText(0):
		done = created
	default:
		done = created + " " + done
	}
	return v.redirectDone(to, done)
}
