package license

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// ValidateParams are what a licensed program asks. Only Key is required; what
// is not given is not judged.
type ValidateParams struct {
	Key          string   `json:"key" validate:"required"` // as typed; see [ParseKey]
	ProductID    string   `json:"product_id" validate:"omitempty,text" wire:"filled"`
	CustomerID   string   `json:"customer_id" validate:"omitempty,text" wire:"filled"`
	Fingerprint  string   `json:"fingerprint" validate:"omitempty,text" wire:"filled"`
	Entitlements []string `json:"entitlements" validate:"max=100,dive,text"` // the license must have each
}

// Validate says whether the license with that key is valid now. An unknown
// key is a verdict too; the error is an [*InvalidError] or one of the store.
//
// With a fingerprint, its activation is judged as well, and, if there is
// nothing against the license's state and scope, renewed: its lease, if the
// license has LeaseSeconds, begins anew. A lease that has ended is never
// renewed. A validation that renews nothing writes nothing.
func (s *Service) Validate(ctx context.Context, p ValidateParams) (Verdict, error) {
	if err := check(ctx, p); err != nil {
		return Verdict{}, err
	}
	q := question{p.ProductID, p.CustomerID, p.Fingerprint, p.Entitlements}
	var v Verdict
	var renews bool
	answer := func(r store.Reader, now time.Time) (store.Activation, error) {
		f, err := s.findByKey(ctx, r, p.Key, q, now)
		if err != nil {
			return store.Activation{}, err
		}
		renews = f.found && f.holdsSeat() && len(weighTime(f.license, f.at)) == 0 && len(weighScope(q, f.license)) == 0
		if renews {
			f.seat, renews = renewSeat(f.license, f.seat, f.at)
		}
		v, err = judge(q, f)
		return f.seat, err
	}
	view := s.view
	if p.Fingerprint == "" {
		view = s.glance
	}
	err := view(ctx, func(r store.Reader) error {
		_, err := answer(r, s.now())
		return err
	})
	if err == nil && renews {
		err = s.update(ctx, func(tx *transaction) error {
			seat, err := answer(tx, tx.now)
			if err != nil || !renews {
				return err
			}
			return tx.PutActivation(ctx, seat)
		})
	}
	if err != nil {
		return Verdict{}, fmt.Errorf("validate: %w", err)
	}
	return v, nil
}

// noLicense is an id that no license has. What is asked about the seats of an
// unknown license is asked about its, so that the store's part is the same.
const noLicense = "lic_00000000000000000000000000"

// findByKey collects what the store knows about a question.
func (s *Service) findByKey(ctx context.Context, r store.Reader, key string, q question, now time.Time) (finding, error) {
	l, found, err := s.byKey(ctx, r, key)
	if err != nil {
		return finding{}, err
	}
	f := finding{at: now, license: l, found: found}
	if q.fingerprint == "" {
		return f, nil
	}
	return f, f.findSeat(ctx, r, q.fingerprint)
}

// findSeat adds what the store knows about a fingerprint and, if that holds no
// seat of a limited number, how many are taken.
func (f *finding) findSeat(ctx context.Context, r store.Reader, fingerprint string) error {
	err := f.findActivation(ctx, r, fingerprint)
	if err != nil || f.holdsSeat() || f.found && f.license.MaxActivations < 0 {
		return err
	}
	return f.countSeats(ctx, r, f.seatsID())
}

// findActivation adds the activation of a fingerprint.
func (f *finding) findActivation(ctx context.Context, r store.Reader, fingerprint string) (err error) {
	f.seat, err = r.Activation(ctx, f.seatsID(), fingerprint)
	f.seated = err == nil
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// seatsID returns the id of the license whose seats are asked about.
func (f *finding) seatsID() string {
	if !f.found {
		return noLicense
	}
	return f.license.ID
}

// seenEvery is how exactly the last sign of an activation without a lease is
// kept, so that most validations of one write nothing.
const seenEvery = time.Hour

// renewSeat returns a live activation with its lease begun anew, and whether that
// is anything to write. The length is that of the license's LeaseSeconds now.
func renewSeat(l store.License, a store.Activation, now time.Time) (renewed store.Activation, changed bool) {
	renewed = a
	renewed.LeaseEndsAt = leaseEnd(l, now)
	renewed.LastSeenAt = now
	if renewed.LeaseEndsAt.Equal(a.LeaseEndsAt) && now.Sub(a.LastSeenAt) < seenEvery {
		return a, false
	}
	return renewed, true
}

// leaseEnd returns when a lease that begins now ends; zero: never.
func leaseEnd(l store.License, now time.Time) time.Time {
	if l.LeaseSeconds < 0 {
		return time.Time{}
	}
	return now.Add(time.Duration(l.LeaseSeconds) * time.Second)
}

// ExplainParams are what an operator asks about a license.
type ExplainParams struct {
	ID           string    `json:"-"`
	At           time.Time `json:"at" validate:"omitempty,instant"` // zero: now
	ProductID    string    `json:"product_id" validate:"omitempty,text"`
	CustomerID   string    `json:"customer_id" validate:"omitempty,text"`
	Fingerprint  string    `json:"fingerprint" validate:"omitempty,text"`
	Entitlements []string  `json:"entitlements" validate:"max=100,dive,text"`
}

// Explain gives the verdict that Validate would give at any instant, past or
// future, if the license and its activations were then as they are recorded
// now. It writes nothing, and renews nothing. The error is [ErrNotFound] or an
// [*InvalidError].
func (s *Service) Explain(ctx context.Context, p ExplainParams) (Verdict, error) {
	if err := check(ctx, p); err != nil {
		return Verdict{}, err
	}
	at := ceilMillis(p.At)
	if at.IsZero() {
		at = s.now()
	}
	q := question{p.ProductID, p.CustomerID, p.Fingerprint, p.Entitlements}
	var v Verdict
	err := s.view(ctx, func(r store.Reader) (err error) {
		f := finding{at: at, found: true}
		if f.license, err = s.find(ctx, r, p.ID); err != nil {
			return err
		}
		if p.Fingerprint != "" {
			if err = f.findSeat(ctx, r, p.Fingerprint); err != nil {
				return err
			}
		}
		v, err = judge(q, f)
		return err
	})
	if err != nil {
		return Verdict{}, fmt.Errorf("explain: %w", err)
	}
	return v, nil
}
