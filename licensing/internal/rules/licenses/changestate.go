package licenses

import (
	"context"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A transition is a change from one stored state to another.
type transition struct {
	name  string
	from  []store.State
	to    store.State
	event string
}

var (
	suspending  = transition{"suspend", []store.State{store.StateActive}, store.StateSuspended, api.EventLicenseSuspended}
	reinstating = transition{"reinstate", []store.State{store.StateSuspended}, store.StateActive, api.EventLicenseReinstated}
	revoking    = transition{"revoke", []store.State{store.StateActive, store.StateSuspended}, store.StateRevoked, api.EventLicenseRevoked}
)

// Suspend makes a license invalid until it is reinstated; see package license.
func (s Service) Suspend(ctx context.Context, p api.ChangeStateParams) (api.License, error) {
	return s.changeState(ctx, suspending, p)
}

// Reinstate ends a suspension. It returns a [*api.StateError] if the license is
// not suspended; other errors are those of [Service.Suspend].
func (s Service) Reinstate(ctx context.Context, p api.ChangeStateParams) (api.License, error) {
	return s.changeState(ctx, reinstating, p)
}

// Revoke makes a license permanently invalid and keeps its record. It
// returns a [*api.StateError] if the license is already revoked; other errors are
// those of [Service.Suspend].
func (s Service) Revoke(ctx context.Context, p api.ChangeStateParams) (api.License, error) {
	return s.changeState(ctx, revoking, p)
}

func (s Service) changeState(ctx context.Context, m transition, p api.ChangeStateParams) (api.License, error) {
	if err := call.Check(p); err != nil {
		return api.License{}, err
	}
	var suspension func(*terms.Grant, time.Time) terms.Suspension
	if m.to == store.StateActive {
		suspension = func(g *terms.Grant, _ time.Time) terms.Suspension { return terms.Suspension{}.Reinstate(g) }
	}
	return s.Edit(ctx, Edit{
		Verb:       m.name,
		Event:      m.event,
		Reason:     p.Reason,
		Find:       func(r store.Reader) (record.License, error) { return s.Find(ctx, r, p.ID) },
		IfMatch:    p.IfMatch,
		suspension: suspension,
		Apply: func(l api.License, next *record.License, now time.Time) error {
			is, err := SuspensionOf(*next)
			if err != nil {
				return err
			}
			if is.ByCustomer && m.to == store.StateActive {
				return &api.StateError{Change: m.name, From: l.Status, To: api.LicenseActive, Customer: true}
			}
			paused := m.to == store.StateSuspended && (is.By != "" || is.ByCustomer) && !is.Held
			if !slices.Contains(m.from, next.State) && !paused {
				return &api.StateError{Change: m.name, From: l.Status, To: api.LicenseStatus(m.to)}
			}
			switch m.to {
			case store.StateSuspended:
				PutSuspension(is.Hold(p.Reason), next, now)
			case store.StateRevoked:
				next.State, next.StateAt, next.StateReason, next.Suspension = m.to, now, p.Reason, nil
			default:
				next.StateReason = p.Reason
			}
			return nil
		},
	})
}

// Rekey replaces the key of a license, for instance after a leak; see package license.
func (s Service) Rekey(ctx context.Context, p api.RekeyLicenseParams) (api.License, error) {
	if err := call.Check(p); err != nil {
		return api.License{}, err
	}
	return s.Edit(ctx, Edit{
		Verb:    "rekey",
		Event:   api.EventLicenseRekeyed,
		Reason:  p.Reason,
		Find:    func(r store.Reader) (record.License, error) { return s.Find(ctx, r, p.ID) },
		IfMatch: p.IfMatch,
		Apply: func(l api.License, next *record.License, _ time.Time) error {
			if next.State == store.StateRevoked {
				return &api.StateError{Change: "rekey", From: api.LicenseRevoked, To: api.LicenseRevoked}
			}
			switch call.CanonicalKey(p.Key) {
			case "":
				setKey(next, call.NewKey())
			case next.Key:
				return api.Invalid("key", api.FieldTaken, "is the current key; choose another, or omit it to generate one")
			default:
				setKey(next, p.Key)
			}
			return nil
		},
	})
}
