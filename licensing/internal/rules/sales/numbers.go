package sales

import (
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// dayKind is the kind of the entries of days. Key is the day in UTC, such as "2026-11-28",
// and Data the numbers of each plan; no plan has the ID "".
const dayKind = "sales"

// Numbers are what happened to the licenses of a plan on a day or in a period.
type Numbers struct {
	New       int64 `json:"new,omitempty"`       // purchases that got a license
	ByHand    int64 `json:"hand,omitempty"`      // licenses that were created without a purchase
	Trials    int64 `json:"trials,omitempty"`    // trials that started
	Converted int64 `json:"converted,omitempty"` // trials whose license a purchase governs now
	Renewed   int64 `json:"renewed,omitempty"`   // ends that became later, except of trials
	Ended     int64 `json:"ended,omitempty"`     // licenses and purchases that ended, except trials

	// By the day of the end: how many ends were moved by a renewal, and with how many of
	// them a license lapsed.
	DueRenewed int64 `json:"due_renewed,omitempty"`
	DueEnded   int64 `json:"due_ended,omitempty"`
	// Ends are the ends on the day of the licenses in force; see [find.EndsOf].
	Ends int64 `json:"ends,omitempty"`

	// The change of the number of licenses in force, and of those of them with a purchase
	// that is not a trial.
	Active int64 `json:"active,omitempty"`
	Paying int64 `json:"paying,omitempty"`

	Erased int64 `json:"erased,omitempty"` // events that erasures blanked; of the plan ""
}

// Due is the number of ends that fell in a period and whose outcome is known.
func (n Numbers) Due() int64 { return n.DueRenewed + n.DueEnded }

func (n *Numbers) add(m Numbers) {
	n.New, n.ByHand, n.Trials, n.Converted = n.New+m.New, n.ByHand+m.ByHand, n.Trials+m.Trials, n.Converted+m.Converted
	n.Renewed, n.Ended, n.DueRenewed, n.DueEnded = n.Renewed+m.Renewed, n.Ended+m.Ended, n.DueRenewed+m.DueRenewed, n.DueEnded+m.DueEnded
	n.Ends, n.Active, n.Paying, n.Erased = n.Ends+m.Ends, n.Active+m.Active, n.Paying+m.Paying, n.Erased+m.Erased
}

// shown returns the numbers of which other programs learn.
func (n Numbers) shown() api.SalesNumbers {
	return api.SalesNumbers{
		New: n.New, ByHand: n.ByHand, Trials: n.Trials, Converted: n.Converted, Renewed: n.Renewed, Ended: n.Ended, DueRenewed: n.DueRenewed, DueEnded: n.DueEnded,
	}
}

// byPlan are numbers by the ID of the plan.
type byPlan map[string]Numbers

func (b byPlan) add(plan string, m Numbers) {
	n := b[plan]
	if n.add(m); n == (Numbers{}) {
		delete(b, plan)
	} else {
		b[plan] = n
	}
}

func (b byPlan) addAll(other byPlan) {
	for plan, n := range other {
		b.add(plan, n)
	}
}

// byDay are numbers by day.
type byDay map[string]byPlan

func (d byDay) add(at time.Time, plan string, n Numbers) {
	day := at.UTC().Format(time.DateOnly)
	if d[day] == nil {
		d[day] = byPlan{}
	}
	d[day].add(plan, n)
}

func dayEntry(day string, numbers byPlan, now time.Time) store.Entry {
	return store.Entry{Kind: dayKind, Key: day, Data: record.Encode(numbers), CreatedAt: now}
}

func readDay(e store.Entry) (byPlan, error) { return call.ReadJSON[byPlan](e) }
