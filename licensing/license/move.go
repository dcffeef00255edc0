package license

import (
	"context"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// MoveParams say which license to suspend, reinstate or revoke, and why.
type MoveParams struct {
	ID string `json:"-"`
	// Reason becomes the license's StatusReason, which the holder of its
	// key can read in verdicts, and stands in the event. At most 255
	// characters; empty: none.
	Reason  string    `json:"reason" validate:"omitempty,text"`
	IfMatch []Version `json:"-"` // as in [UpdateParams]
}

// A move leads from one stored state to another.
type move struct {
	name  string
	from  []store.State
	to    store.State
	event string
}

var (
	moveSuspend   = move{"suspend", []store.State{store.StateActive}, store.StateSuspended, EventLicenseSuspended}
	moveReinstate = move{"reinstate", []store.State{store.StateSuspended}, store.StateActive, EventLicenseReinstated}
	moveRevoke    = move{"revoke", []store.State{store.StateActive, store.StateSuspended}, store.StateRevoked, EventLicenseRevoked}
)

// Suspend makes a license invalid until it is reinstated; its activations
// stay, and their leases run out. A license that is suspended or revoked
// already is a [*MoveError]; being expired or scheduled is no obstacle. The
// error may also be [ErrNotFound], a [*StaleError] or an [*InvalidError].
func (s *Service) Suspend(ctx context.Context, p MoveParams) (License, error) {
	return s.move(ctx, moveSuspend, p)
}

// Reinstate ends a suspension. A license that is not suspended is a
// [*MoveError]; other errors are as of [Service.Suspend].
func (s *Service) Reinstate(ctx context.Context, p MoveParams) (License, error) {
	return s.move(ctx, moveReinstate, p)
}

// Revoke makes a license invalid for good, and keeps its record. A license
// that is revoked already is a [*MoveError]; other errors are as of
// [Service.Suspend].
func (s *Service) Revoke(ctx context.Context, p MoveParams) (License, error) {
	return s.move(ctx, moveRevoke, p)
}

func (s *Service) move(ctx context.Context, m move, p MoveParams) (License, error) {
	return s.edit(ctx, edit{
		verb:    m.name,
		event:   m.event,
		reason:  p.Reason,
		find:    func(r store.Reader) (store.License, error) { return s.find(ctx, r, p.ID) },
		ifMatch: p.IfMatch,
		apply: func(l License, next *store.License, now time.Time) error {
			if err := check(ctx, p); err != nil {
				return err
			}
			if !slices.Contains(m.from, next.State) {
				return &MoveError{Move: m.name, From: l.Status, To: Status(m.to)}
			}
			next.State, next.StateReason, next.StateAt = m.to, p.Reason, now
			return nil
		},
	})
}

// RekeyParams say which license gets another key, and why.
type RekeyParams struct {
	ID      string    `json:"-"`
	Key     string    `json:"key" validate:"omitempty,key" wire:"filled"` // as in [CreateParams]; empty: one is made
	Reason  string    `json:"reason" validate:"omitempty,text"`
	IfMatch []Version `json:"-"` // as in [UpdateParams]
}

// Rekey replaces the key of a license, for when it has leaked: the old one is
// unknown from then on. Activations stay. A license that is revoked is a
// [*MoveError], a key that another license has [ErrKeyTaken], the license's
// own an [*InvalidError] about "key"; other errors are as of
// [Service.Suspend].
func (s *Service) Rekey(ctx context.Context, p RekeyParams) (License, error) {
	return s.edit(ctx, edit{
		verb:    "rekey",
		event:   EventLicenseRekeyed,
		reason:  p.Reason,
		find:    func(r store.Reader) (store.License, error) { return s.find(ctx, r, p.ID) },
		ifMatch: p.IfMatch,
		apply: func(l License, next *store.License, _ time.Time) error {
			if err := check(ctx, p); err != nil {
				return err
			}
			if next.State == store.StateRevoked {
				return &MoveError{Move: "rekey", From: StatusRevoked, To: StatusRevoked}
			}
			switch key := canonicalKey(p.Key); key {
			case "":
				next.Key = NewKey()
			case l.Key:
				return Invalid("key", CodeTaken, "is the present key, which is to be replaced; give another, or leave it out")
			default:
				next.Key = key
			}
			return nil
		},
	})
}
