package program

import (
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A Status reports whether a license is valid, at the moment of the call. Its
// JSON form is for the logs and the monitoring of the customer; it contains no
// license key. Copies share its maps and slices: do not change them.
type Status struct {
	// Valid reports whether the license is valid. What follows from that is the
	// program's choice.
	Valid bool `json:"valid"`
	// Code is "valid" or "in_grace" if Valid, and otherwise says why not.
	Code api.Code `json:"code"`
	// Reason is what the operator gave as the reason of a suspension or a
	// revocation.
	Reason string `json:"reason,omitempty"`

	LicenseID  string `json:"license_id,omitempty"`
	LicensedTo string `json:"licensed_to,omitempty"` // the name of the license
	// Entitlements are those of the license, valid or not. Values are true, a
	// float64 or a string. [License.Has] also checks Valid.
	Entitlements map[string]any `json:"entitlements,omitempty"`

	// Meters is what was used of the meters of the license, by name, and Upcoming what time
	// will change in it, as the service last said, at CheckedAt, after a report of usage, or
	// before the start. They are for display, such as "2 exports left", and are not signed.
	// A period that has ended and a change that has come are left out.
	Meters   []api.MeterUse       `json:"meters,omitempty"`
	Upcoming []api.UpcomingChange `json:"upcoming,omitempty"`

	ExpiresAt    time.Time `json:"expires_at,omitzero"`    // of the license; zero: never, or unknown
	UpdatesUntil time.Time `json:"updates_until,omitzero"` // of the license; zero: it is valid for any build, or unknown
	ValidUntil   time.Time `json:"valid_until,omitzero"`   // without any further answer of the service; zero: it is not valid
	CheckedAt    time.Time `json:"checked_at,omitzero"`    // when the service last answered; zero: not since the start

	// Warnings do not make the license invalid.
	Warnings []Warning `json:"warnings,omitempty"`

	sentence string // in place of that for Code; empty: none
}

// A Warning is something that a user or the support should know.
type Warning struct {
	Code   api.Code `json:"code"`
	Detail string   `json:"detail"` // one sentence
}

// A phase is a status and when it ends, if nothing else happens before.
type phase struct {
	ends   time.Duration // since License.start; 0: never
	status Status
}

// A timeline is the status from now on: one phase or more, of which the last has
// no end.
type timeline []phase

// at returns the phase at a time since License.start, which is much faster to get
// than the time of the clock.
func (t timeline) at(now time.Duration) *phase {
	for i := range t {
		if t[i].ends == 0 || now < t[i].ends {
			return &t[i]
		}
	}
	return &t[len(t)-1]
}

// Status returns the status at the moment of the call. It does no I/O, never
// blocks and allocates nothing.
func (l *License) Status() Status { return l.current().status }

func (l *License) current() *phase { return l.now.Load().at(time.Since(l.start)) }

// Has reports whether the license is valid and has an entitlement, whatever its
// value. Like Status, it does no I/O.
func (l *License) Has(entitlement string) bool {
	s := &l.current().status
	_, ok := s.Entitlements[entitlement]
	return ok && s.Valid
}

// Number returns the value of an entitlement, and whether the license is valid
// and has it as a number.
func (l *License) Number(entitlement string) (float64, bool) { return value[float64](l, entitlement) }

// Text returns the value of an entitlement, and whether the license is valid and
// has it as a string.
func (l *License) Text(entitlement string) (string, bool) { return value[string](l, entitlement) }

func value[T any](l *License, entitlement string) (T, bool) {
	s := &l.current().status
	v, ok := s.Entitlements[entitlement].(T)
	if !ok || !s.Valid {
		return *new(T), false
	}
	return v, true
}
