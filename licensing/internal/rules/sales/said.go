package sales

import (
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// said is what sales read of an event about a license: of its [api.EventData] only what
// counts, because most events change no number and are decoded for that alone.
type said struct {
	*store.Event `json:"-"`

	License   *soldLicense `json:"license"`
	Reference string       `json:"reference"`
	Granted   string       `json:"granted"`
	Imported  bool         `json:"imported"`
	Ended     []string     `json:"ended"`
	Blanked   bool         `json:"erased"`
	Changes   soldChanges  `json:"changes"`
}

// A soldLicense is what sales read of an [api.License].
type soldLicense struct {
	PlanID         string               `json:"plan_id"`
	Reference      string               `json:"reference"`
	ProductID      string               `json:"product_id"`
	Status         api.LicenseStatus    `json:"status"`
	CreatedAt      time.Time            `json:"created_at"`
	ExpiresAt      time.Time            `json:"expires_at"`    // zero: never
	UpdatesUntil   time.Time            `json:"updates_until"` // zero: no end
	GraceSeconds   int64                `json:"grace_seconds"`
	Upcoming       []api.UpcomingChange `json:"upcoming"`
	MaxActivations int64                `json:"max_activations"` // zero: unlimited, or none
	Meters         map[string]struct{}  `json:"meters"`
}

// soldChanges are the changes of an event that sales read; nil: the field has not changed.
type soldChanges struct {
	Reference      *change[string]               `json:"reference"`
	PlanID         *change[string]               `json:"plan_id"`
	Status         *change[any]                  `json:"status"`
	ExpiresAt      *change[*time.Time]           `json:"expires_at"`
	GraceSeconds   *change[any]                  `json:"grace_seconds"`
	UpdatesUntil   *change[*time.Time]           `json:"updates_until"`
	Upcoming       *change[[]api.UpcomingChange] `json:"upcoming"`
	MaxActivations *change[any]                  `json:"max_activations"`
	Meters         *change[any]                  `json:"meters"`
}

// A change holds the old and the new value of a field.
type change[V any] struct{ From, To V }

// read reads what an event says.
func (s *said) read(e *store.Event) error {
	s.Event = e
	if strings.HasPrefix(e.Type, "license.") {
		return call.Decode(e.Data, s)
	}
	return nil
}

// changesNoNumber reports whether an event changes nothing that sales count, and no limit,
// once the license has been counted.
func (e *said) changesNoNumber() bool {
	return e.Type == api.EventLicenseUpdated && e.License != nil && e.Granted == "" && len(e.Ended) == 0 && e.Changes == soldChanges{}
}

// mayHaveLimits reports whether the license of an event has limits, as far as the event says it.
func (e *said) mayHaveLimits() bool {
	return e.License == nil || e.License.MaxActivations != 0 || len(e.License.Meters) > 0
}

// license returns what the event says of the license.
func (e *said) license() api.License {
	l := e.License
	return api.License{
		ID: e.Subject, ProductID: l.ProductID, PlanID: l.PlanID, Reference: l.Reference, ExpiresAt: optional(l.ExpiresAt), UpdatesUntil: optional(l.UpdatesUntil),
		Upcoming: l.Upcoming, Terms: api.Terms{GraceSeconds: l.GraceSeconds},
	}
}

func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// is returns how the license stands after the event.
func (e *said) is() standing { return standingOf(e.license()) }

// before returns how the license stood before the event, as far as the event says it.
func (e *said) before() standing {
	l, c := e.license(), &e.Changes
	if c.Reference != nil {
		l.Reference = c.Reference.From
	}
	if c.PlanID != nil {
		l.PlanID = c.PlanID.From
	}
	if c.ExpiresAt != nil {
		l.ExpiresAt = c.ExpiresAt.From
	}
	if c.UpdatesUntil != nil {
		l.UpdatesUntil = c.UpdatesUntil.From
	}
	if c.Upcoming != nil {
		l.Upcoming = c.Upcoming.From
	}
	return standingOf(l)
}

// later reports whether the end of a license, of the updates of one that does not end, or
// of a purchase that the license outlives became later.
func (e *said) later() bool {
	end := e.Changes.ExpiresAt
	if end == nil && e.License.ExpiresAt.IsZero() {
		end = e.Changes.UpdatesUntil
	}
	if end != nil && end.From != nil && (end.To == nil || end.To.After(*end.From)) {
		return true
	}
	return e.Type == api.EventLicenseRenewed && end == nil && e.Changes.UpdatesUntil == nil
}
