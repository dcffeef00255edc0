package sales

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/find"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/purchases"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A Kind is what an event counts as.
type Kind string

// The kinds of sales.
const (
	New       Kind = "new"
	ByHand    Kind = "hand"
	Trial     Kind = "trial"
	Converted Kind = "converted"
	Renewed   Kind = "renewed"
	Ended     Kind = "ended"
)

// Kinds are all kinds.
var Kinds = []Kind{New, ByHand, Trial, Converted, Renewed, Ended}

// A Sale is what an event about a license counts as.
type Sale struct {
	Kind Kind
	Plan string
	due  time.Time // of Renewed and Ended, the end that was moved or has passed; zero: none
}

// NoPlan stands for the licenses without a plan. No plan has it as an ID.
const NoPlan = "-"

// Matches returns how many sales of a kind and a plan an event counts as. Without a kind
// it returns 1 if the event is about a license of the plan, or about the plan, and 0
// otherwise; an empty plan is any.
func (s Service) Matches(ctx context.Context, e api.Event, kind Kind, plan string) (n int, err error) {
	sales, plans, err := s.salesOf(ctx, e)
	if err != nil {
		return 0, err
	}
	if kind == "" && (plan == "" || slices.Contains(plans, planOf(plan)) || strings.HasPrefix(e.Type, "plan.") && e.Subject == plan) {
		return 1, nil
	}
	for _, sale := range sales {
		if sale.Kind == kind && (plan == "" || sale.Plan == planOf(plan)) {
			n++
		}
	}
	return n, nil
}

// planOf returns the ID of a plan in a filter.
func planOf(filter string) string {
	if filter == NoPlan {
		return ""
	}
	return filter
}

// numbers returns the numbers of the day of the event, and those of the day of the end.
func (s Sale) numbers() (of, due Numbers) {
	switch s.Kind {
	case New:
		of.New = 1
	case ByHand:
		of.ByHand = 1
	case Trial:
		of.Trials = 1
	case Converted:
		of.Converted = 1
	case Renewed:
		of.Renewed, due.DueRenewed = 1, 1
	case Ended:
		of.Ended, due.DueEnded = 1, 1
	}
	return of, due
}

// salesOf returns what an event counts as, and the plans that it is about.
func (s Service) salesOf(ctx context.Context, e api.Event) (sales []Sale, plans []string, err error) {
	stored := store.Event{Type: e.Type, Time: e.Timestamp, Actor: e.Actor, Subject: e.Subject, Data: e.Data}
	var about said
	if err := about.read(&stored); err != nil || about.License == nil {
		return nil, nil, err
	}
	if sales, err = about.sales(ctx, s.Reader(), s.Now()); err != nil {
		return nil, nil, err
	}
	for _, sale := range sales {
		plans = append(plans, sale.Plan)
	}
	return sales, append(plans, about.License.PlanID, about.before().Plan), nil
}

// sales returns what an event with a license counts as. It follows from the event alone,
// except for the plans of purchases that have ended.
func (e *said) sales(ctx context.Context, r store.Reader, now time.Time) (list []Sale, err error) {
	is, was := e.is(), e.before()
	add := func(kind Kind, plan string, due *time.Time) {
		list = append(list, Sale{kind, plan, call.TimeOrZero(due)})
	}
	created := e.Type == api.EventLicenseCreated
	switch {
	case e.Imported:
	case e.Granted != "" && find.IsTrial(e.Reference):
		add(Trial, e.Granted, nil)
	case e.Granted != "":
		add(New, e.Granted, nil)
	case created:
		add(ByHand, is.Plan, nil)
	}
	if was.Kind == trial && is.Kind == paying {
		add(Converted, was.Plan, nil)
	}
	first := e.Granted != "" && was.Kind != paying
	if e.later() && !created && !first && is.Kind != trial && was.Kind != trial && e.Actor != call.ClockActor {
		add(Renewed, is.Plan, moved(was.Ends, is.Ends))
	}
	switch {
	case is.Kind == trial:
	case e.Type == api.EventLicenseLapsed:
		add(Ended, is.Plan, optional(e.License.ExpiresAt))
	case e.Type == api.EventLicenseRevoked && !is.over(e.Time),
		e.Type == api.EventLicenseDeleted && !is.over(e.Time) && e.License.Status != api.LicenseRevoked:
		add(Ended, is.Plan, nil)
	}
	for _, reference := range e.Ended {
		// A notice names what will end, and a license that was revoked has ended.
		if e.Type != api.EventLicenseUpdated || find.IsTrial(reference) || e.License.Status == api.LicenseRevoked {
			continue
		}
		p, found, err := purchases.ReadPurchase(ctx, r, reference, now)
		if err != nil {
			return nil, err
		}
		if p.IsOwn() {
			continue
		}
		plan, due := was.Plan, &e.Time
		if found && p.Terms.Value.ID != "" {
			plan = p.Terms.Value.ID
		}
		if end := moved(was.Ends, is.Ends); p.Terms.Value.Kind != api.PlanAddOn {
			if found && end == nil && e.Actor == call.ClockActor { // it changed nothing, or another one of its line continues it
				if continued, err := purchases.Continued(ctx, r, e.license(), reference, e.Time); err != nil {
					return nil, err
				} else if continued {
					continue
				}
			}
			due = cmp.Or(end, due)
		}
		add(Ended, plan, due)
	}
	return list, nil
}

// moved returns the first end that is no longer one; nil: there is none.
func moved(was, is []time.Time) *time.Time {
	i := slices.IndexFunc(was, func(end time.Time) bool { return !slices.ContainsFunc(is, end.Equal) })
	if i < 0 {
		return nil
	}
	return &was[i]
}
