package sales

import (
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/find"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

// standingKind is the kind of the entries of licenses in force: what the totals have of
// each. Key is the license ID, and Data a standing.
const standingKind = "sales_license"

// endKind is the kind of the entries of the ends that the totals have, without the ends of
// the licenses themselves. Key is that of [licenses.BaseEndKey], and ExpiresAt the end.
const endKind = "sales_end"

// A holding is how a license was acquired.
type holding string

const (
	paying holding = "paying"
	trial  holding = "trial"
	byHand holding = "hand"
)

// A standing is what sales know of a license in force.
type standing struct {
	Plan  string      `json:"plan,omitempty"`
	Kind  holding     `json:"kind"`
	Ends  []time.Time `json:"ends,omitempty"` // see [find.EndsOf]
	Grace time.Time   `json:"grace,omitzero"` // when its grace period ends; zero: never
}

func standingOf(l api.License) standing {
	s := standing{Plan: l.PlanID, Kind: byHand, Ends: find.EndsOf(l)}
	switch {
	case find.IsTrial(l.Reference):
		s.Kind = trial
	case l.Reference != "":
		s.Kind = paying
	}
	if l.ExpiresAt != nil {
		s.Grace = call.GraceEnd(l)
	}
	return s
}

func (s standing) equal(o standing) bool {
	return s.Plan == o.Plan && s.Kind == o.Kind && s.Grace.Equal(o.Grace) && slices.EqualFunc(s.Ends, o.Ends, time.Time.Equal)
}

// over reports whether the grace period has ended.
func (s standing) over(at time.Time) bool { return !s.Grace.IsZero() && !at.Before(s.Grace) }

// after returns how the license stands after an event; nil: it is not in force. One that
// was in force stays so until it has lapsed, also if that is said late.
func (e *said) after(wasInForce bool) *standing {
	is := e.is()
	switch e.Type {
	case api.EventLicenseRevoked, api.EventLicenseDeleted, api.EventLicenseLapsed:
		return nil
	}
	if e.License.Status == api.LicenseRevoked || !wasInForce && is.over(e.Time) {
		return nil
	}
	return &is
}

// wasInForce reports whether a license was in force before an event, as far as the event
// says it.
func (e *said) wasInForce() bool {
	switch {
	case e.Type == api.EventLicenseCreated, e.License.Status == api.LicenseRevoked && e.Type != api.EventLicenseRevoked:
		return false
	}
	return e.Type == api.EventLicenseLapsed || !e.before().over(e.Time)
}

func (s standing) entry(id string, now time.Time) store.Entry {
	return store.Entry{Kind: standingKind, Key: id, Data: record.Encode(s), CreatedAt: now}
}

// endEntries returns the entries of the ends that are not the end of the license.
func (s standing) endEntries(id string, now time.Time) []store.Entry {
	ends := s.Ends
	if len(ends) > 0 && !s.Grace.IsZero() {
		ends = ends[:len(ends)-1] // the last is the end of the license
	}
	list := make([]store.Entry, len(ends))
	for i, end := range ends {
		list[i] = store.Entry{Kind: endKind, Key: licenses.BaseEndKey(id, end), ExpiresAt: end, CreatedAt: now}
	}
	return list
}

func readStanding(e store.Entry) (standing, error) { return call.ReadJSON[standing](e) }

// totals returns what the license adds to the totals.
func (s standing) totals() Numbers {
	n := Numbers{Active: 1}
	if s.Kind == paying {
		n.Paying = 1
	}
	return n
}

// negative returns the numbers of totals with the other sign.
func (n Numbers) negative() Numbers {
	return Numbers{Active: -n.Active, Paying: -n.Paying, Ends: -n.Ends}
}
