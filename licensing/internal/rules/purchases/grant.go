package purchases

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/plans"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A grant is what the purchases of a license make of it. It depends on nothing
// else, so that a change of purchases changes those fields of the license whose
// values in the two grants differ, and no others.
type grant struct {
	Purchase                    // the one that governs; without a Reference: none does
	name     string             // empty: none of the purchases says
	metadata map[string]*string // nil: the entry is removed
}

// grantOf returns the grant of purchases. The one that was active first at the
// latest instant governs, but no trial does beside others. Names and metadata that
// it does not say are those of the purchase that would govern without it.
func grantOf(all ...Purchase) (g grant) {
	all = slices.Clone(all)
	rank(all)
	g.metadata = map[string]*string{}
	for i, p := range all {
		if i == 0 {
			g.Purchase = p
		}
		g.name = cmp.Or(g.name, p.Name.Value)
		for name, v := range p.Metadata {
			if _, ok := g.metadata[name]; !ok {
				g.metadata[name] = v.Value
			}
		}
	}
	return g
}

// rank sorts purchases: the one that governs first.
func rank(all []Purchase) {
	slices.SortFunc(all, func(a, b Purchase) int {
		return cmp.Or(cmp.Compare(btoi(isTrial(a.Reference)), btoi(isTrial(b.Reference))),
			b.FirstActive.Compare(a.FirstActive), strings.Compare(b.Reference, a.Reference))
	})
}

func (g grant) ended() bool { return !g.FirstEnded.IsZero() }

// expired reports whether the license has expired because the purchase has ended.
func (g grant) expired() bool { return g.ended() && g.Terms.Value.UntilEnds != api.UntilEndsUpdates }

func (g grant) paused() bool { return g.State.Value == api.PurchasePaused }

// grace returns the grace period.
func (g grant) grace() int64 {
	if g.expired() {
		return 0
	}
	return g.Terms.Value.GraceSeconds
}

// params returns the fields of a new license.
func (g grant) params() api.CreateLicenseParams {
	p := api.CreateLicenseParams{Name: cmp.Or(g.name, g.CustomerID), ProductID: g.ProductID(), CustomerID: g.CustomerID, Metadata: map[string]string{}}
	takeTerms(&p, g.Terms.Value, g.units())
	p.GraceSeconds = g.grace()
	expires, updates, _ := g.ends()
	p.ExpiresAt, p.UpdatesUntil = record.OptionalTime(expires), record.OptionalTime(updates)
	g.setMetadata(grant{}, &p)
	return p
}

// change changes the fields of a license, whose record is next, in which the
// grant differs from the one before.
func (g grant) change(before grant, l api.License, next *record.License, now time.Time) {
	fields := licenses.ParamsOf(l)
	fields.Metadata = maps.Clone(fields.Metadata)
	other := g.Reference != before.Reference
	if g.name != "" && g.name != before.name {
		fields.Name = g.name
	}
	t := g.Terms.Value
	switch {
	case t.ID == "": // an import did not know the plan
	case other || t.ID != before.Terms.Value.ID:
		takeTerms(&fields, t, g.units())
		fields.GraceSeconds = g.grace()
	case g.units() != before.units():
		fields.MaxActivations, _ = plans.SeatsOfPlan(t, g.units())
	}
	if g.expired() != before.expired() && (g.expired() || t.ID != "") {
		fields.GraceSeconds = g.grace()
	}
	if expires, updates, known := g.ends(); known {
		wasExpires, wasUpdates, ok := before.ends()
		if other || !ok || !expires.Equal(wasExpires) {
			fields.ExpiresAt = record.OptionalTime(expires)
		}
		if other || !ok || !updates.Equal(wasUpdates) {
			fields.UpdatesUntil = record.OptionalTime(updates)
		}
	}
	if fields.StartsAt != nil && fields.ExpiresAt != nil && !fields.ExpiresAt.After(*fields.StartsAt) {
		fields.StartsAt = nil // of a license that begins after it ends
	}
	g.setMetadata(before, &fields)
	next.Reference = g.Reference
	licenses.WriteFields(fields, next)
	if g.paused() != before.paused() || g.Reason.Value != before.Reason.Value {
		g.suspend(next, now)
	}
}

// suspend suspends a license that is active, or ends a suspension that a purchase
// made.
func (g grant) suspend(next *record.License, now time.Time) {
	ours := next.State == store.StateSuspended && next.SuspendedBy != ""
	switch {
	case g.paused() && next.State == store.StateActive:
		next.State, next.StateAt = store.StateSuspended, now
		next.StateReason, next.SuspendedBy = g.Reason.Value, g.Reference
	case g.paused() && ours:
		next.StateReason, next.SuspendedBy = g.Reason.Value, g.Reference
	case !g.paused() && ours:
		next.State, next.StateAt = store.StateActive, now
		next.StateReason, next.SuspendedBy = "", ""
	}
}

// setMetadata sets the entries that differ from those of the grant before, as many
// as a license may have.
func (g grant) setMetadata(before grant, p *api.CreateLicenseParams) {
	for _, name := range call.Names(g.metadata) {
		v := g.metadata[name]
		if was, ok := before.metadata[name]; ok && compareValues(v, was) == 0 {
			continue
		}
		if v == nil {
			delete(p.Metadata, name)
		} else if _, ok := p.Metadata[name]; ok || len(p.Metadata) < call.MaxMetadata {
			p.Metadata[name] = *v
		}
	}
}

// eventOf returns the type of the event of a change by a purchase.
func eventOf(before api.License, next record.License) string {
	moved := compareEnds(next.ExpiresAt, call.TimeOrZero(before.ExpiresAt))
	if moved == 0 {
		moved = compareEnds(next.UpdatesUntil, call.TimeOrZero(before.UpdatesUntil))
	}
	switch {
	case next.State == store.StateSuspended && before.Status != api.LicenseSuspended:
		return api.EventLicenseSuspended
	case next.State == store.StateActive && before.Status == api.LicenseSuspended:
		return api.EventLicenseReinstated
	case moved > 0:
		return api.EventLicenseRenewed
	}
	return api.EventLicenseUpdated
}
