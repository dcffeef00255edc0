package license

import (
	"context"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A move is a transition from one stored state to another.
type move struct {
	name  string
	from  []store.State
	to    store.State
	event string
}

var (
	moveSuspend   = move{"suspend", []store.State{store.StateActive}, store.StateSuspended, api.EventLicenseSuspended}
	moveReinstate = move{"reinstate", []store.State{store.StateSuspended}, store.StateActive, api.EventLicenseReinstated}
	moveRevoke    = move{"revoke", []store.State{store.StateActive, store.StateSuspended}, store.StateRevoked, api.EventLicenseRevoked}
)

// Suspend makes a license invalid until it is reinstated. Its activations
// stay, and their leases run out. Expired and scheduled licenses can be
// suspended too. It returns a [*api.MoveError] if the license is already
// suspended or revoked, [api.ErrNotFound], a [*api.StaleError] or an
// [*api.InvalidError].
func (s *Service) Suspend(ctx context.Context, p api.MoveLicenseParams) (api.License, error) {
	return s.move(ctx, moveSuspend, p)
}

// Reinstate ends a suspension. It returns a [*api.MoveError] if the license is
// not suspended; other errors are those of [Service.Suspend].
func (s *Service) Reinstate(ctx context.Context, p api.MoveLicenseParams) (api.License, error) {
	return s.move(ctx, moveReinstate, p)
}

// Revoke makes a license permanently invalid and keeps its record. It
// returns a [*api.MoveError] if the license is already revoked; other errors are
// those of [Service.Suspend].
func (s *Service) Revoke(ctx context.Context, p api.MoveLicenseParams) (api.License, error) {
	return s.move(ctx, moveRevoke, p)
}

func (s *Service) move(ctx context.Context, m move, p api.MoveLicenseParams) (api.License, error) {
	if err := check(p); err != nil {
		return api.License{}, err
	}
	return s.edit(ctx, edit{
		verb:    m.name,
		event:   m.event,
		reason:  p.Reason,
		find:    func(r store.Reader) (record.License, error) { return s.find(ctx, r, p.ID) },
		ifMatch: p.IfMatch,
		apply: func(l api.License, next *record.License, now time.Time) error {
			if !slices.Contains(m.from, next.State) {
				return &api.MoveError{Move: m.name, From: l.Status, To: api.LicenseStatus(m.to)}
			}
			next.State, next.StateReason, next.StateAt, next.SuspendedBy = m.to, p.Reason, now, ""
			return nil
		},
	})
}

// Rekey replaces the key of a license, for instance after a leak. The old
// key becomes unknown; activations stay. It returns a [*api.MoveError] if the
// license is revoked, [api.ErrKeyTaken] if another license has the key, and an
// [*api.InvalidError] for "key" if the key is the current one; other errors are
// those of [Service.Suspend].
func (s *Service) Rekey(ctx context.Context, p api.RekeyLicenseParams) (api.License, error) {
	if err := check(p); err != nil {
		return api.License{}, err
	}
	return s.edit(ctx, edit{
		verb:    "rekey",
		event:   api.EventLicenseRekeyed,
		reason:  p.Reason,
		find:    func(r store.Reader) (record.License, error) { return s.find(ctx, r, p.ID) },
		ifMatch: p.IfMatch,
		apply: func(l api.License, next *record.License, _ time.Time) error {
			if next.State == store.StateRevoked {
				return &api.MoveError{Move: "rekey", From: api.LicenseRevoked, To: api.LicenseRevoked}
			}
			switch canonicalKey(p.Key) {
			case "":
				setKey(next, NewKey())
			case next.Key:
				return api.Invalid("key", api.FieldTaken, "is the current key; choose another, or omit it to generate one")
			default:
				setKey(next, p.Key)
			}
			return nil
		},
	})
}
