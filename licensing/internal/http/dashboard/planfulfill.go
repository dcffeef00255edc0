package dashboard

import (
	"log/slog"
	"net/url"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// fulfillFor is how long a request fulfills waiting purchases. Then the operator
// decides whether to continue.
const fulfillFor = 2 * time.Second

// fulfillPlanForm gives the purchases that wait for a plan their licenses.
func fulfillPlanForm(v *visit, t api.Plan) (*formPage, error) {
	p := planFormPage(t, "Create waiting licenses:", "Create waiting licenses", "Create licenses")
	p.Version = ""
	p.Text = []string{"Purchases that wait for this plan get their licenses, as if the plan had existed when they were reported."}
	after := v.r.URL.Query().Get("after")
	if after != "" {
		p.Text = []string{"There may be more purchases that wait for this plan."}
		p.Action = "Continue"
	}
	p.do = func(v *visit) (string, error) {
		to, done, err := v.fulfillWaiting(t.ID, after)
		p.done = done
		return to, err
	}
	return p, nil
}

// fulfillWaiting fulfills the purchases that wait for a plan until there are no more
// or fulfillFor has passed. It returns the page to show next, and a notice.
func (v *visit) fulfillWaiting(planID, after string) (to, notice string, err error) {
	total := 0
	for start := v.h.opts.Now(); ; {
		next, n, err := inner.Of(v.licenses).Purchases().FulfillWaiting(v.r.Context(), planID, after)
		total += n
		if err != nil {
			return "", fulfilledText(total), err
		}
		if after = next; next == "" {
			return planPath(planID), fulfilledText(total), nil
		}
		if v.h.opts.Now().Sub(start) >= fulfillFor {
			return fulfillPath(planID) + "?" + url.Values{"after": {after}}.Encode(), fulfilledText(total), nil
		}
	}
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
	v.redirectDone(to, done)
	return nil
}
