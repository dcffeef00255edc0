package seats

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/meters"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Validate reports whether the license with the given key is valid now; see package
// license.
func (s Service) Validate(ctx context.Context, p api.ValidateKeyParams) (VerdictWithFile, error) {
	if err := call.Check(p); err != nil {
		return VerdictWithFile{}, err
	}
	ask, err := askFor(p.File, p.Nonce)
	if err != nil {
		return VerdictWithFile{}, fmt.Errorf("validate: %w", err)
	}
	read := s.Read
	if p.Fingerprint == "" && ask == nil { // what was used may be read a moment later
		read = s.ReadOnce
	}
	var a decision
	err = read(ctx, func(r store.Reader) (err error) {
		a, err = s.answer(ctx, r, p, ask, s.Now())
		return err
	})
	if err == nil && (a.renews || a.offer.writes()) {
		err = s.Write(ctx, func(tx *call.Tx) (err error) {
			if a, err = s.answer(ctx, tx, p, ask, tx.Now); err != nil {
				return err
			}
			return s.asHolder().write(ctx, tx, &a)
		})
	}
	if err != nil {
		return VerdictWithFile{}, fmt.Errorf("validate: %w", err)
	}
	s.Observe(ctx, a.verdict.Verdict, api.RefusedCall{Action: ActionValidate, Fingerprint: p.Fingerprint, Asked: asked(p, a.verdict.Verdict)})
	return a.verdict, nil
}

// The actions of a RefusedCall.
const (
	ActionValidate = "validate"
	ActionActivate = "activate"
)

// asked returns what a refused call asked for and the license is not for, unless that
// is a customer: erasing that customer would not find it.
func asked(p api.ValidateKeyParams, v api.Verdict) string {
	switch v.Code {
	case api.VerdictProductMismatch:
		return p.ProductID
	case api.VerdictEntitlementMissing:
		for _, name := range p.Entitlements {
			if _, included := v.License.Entitlements[name]; !included {
				return name
			}
		}
	}
	return ""
}

// answer answers Validate. It writes nothing.
func (s Service) answer(ctx context.Context, r store.Reader, p api.ValidateKeyParams, ask *fileAsk, now time.Time) (a decision, err error) {
	q := question{p.ProductID, p.CustomerID, p.Fingerprint, p.Entitlements, call.TimeOrZero(p.BuiltAt)}
	if a.facts, err = s.findByKey(ctx, r, p.Key, q, now); err != nil {
		return decision{}, err
	}
	f := &a.facts
	if f.found && f.holdsSeat() && len(timeReasons(f.license, f.at)) == 0 && len(scopeReasons(q, f.license)) == 0 {
		a.renews = f.renewSeat()
	}
	if a.verdict.Verdict, err = evaluate(q, *f); err == nil {
		a.verdict.Meters, err = meters.Uses(ctx, r, f.license, f.at)
	}
	if err != nil || ask == nil || !a.verdict.Valid {
		return a, err
	}
	if p.Fingerprint == "" && f.license.MaxActivations >= 0 {
		return decision{}, errFileUnbound
	}
	a.offer, err = s.offerFile(ctx, r, *f, a.verdict.Verdict, *ask)
	a.verdict.take(a.offer)
	return a, err
}

// noLicense is an ID that no license has. For an unknown key, the same store
// reads are made with it, so that the time they take reveals nothing.
const noLicense = "lic_00000000000000000000000000"

// facts returns what is known at an instant before anything is read.
func (s Service) facts(at time.Time) facts {
	return facts{at: at, holdOffline: s.Opts.HoldOffline, recheck: s.Opts.RecheckAfter}
}

// findByKey reads the license with a key and what the question needs.
func (s Service) findByKey(ctx context.Context, r store.Reader, key string, q question, now time.Time) (facts, error) {
	l, found, err := licenses.Of(s.Call).ByKey(ctx, r, key)
	if err != nil {
		return facts{}, err
	}
	f := s.facts(now)
	f.license, f.found = s.lendable(l), found
	if q.fingerprint == "" {
		return f, nil
	}
	return f, f.findSeat(ctx, r, q.fingerprint)
}

// findSeat reads the activation of a fingerprint and, if that uses no seat
// and seats are limited, how many are taken.
func (f *facts) findSeat(ctx context.Context, r store.Reader, fingerprint string) error {
	err := f.findActivation(ctx, r, fingerprint)
	if err != nil || f.holdsSeat() || f.found && f.license.MaxActivations < 0 {
		return err
	}
	return f.countSeats(ctx, r, f.seatsID())
}

// findActivation reads the activation of a fingerprint.
func (f *facts) findActivation(ctx context.Context, r store.Reader, fingerprint string) error {
	f.fingerprint = fingerprint
	row, err := r.Activation(ctx, f.seatsID(), fingerprint)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err == nil {
		f.seat, err = record.ReadActivation(row)
	}
	f.seated = err == nil
	return err
}

// seatsID returns the ID of the license whose seats are read.
func (f *facts) seatsID() string {
	if !f.found {
		return noLicense
	}
	return f.license.ID
}

// seenEvery is the precision of LastSeenAt for activations without a lease,
// so that most validations write nothing. With a lease, it is a tenth of it.
const seenEvery = 24 * time.Hour

// renewSeat restarts the lease of the active activation and reports whether
// there is anything to write. It does not change the activation until a
// tenth of its lease has passed. The lease length is the license's current
// LeaseSeconds.
func (f *facts) renewSeat() (changed bool) {
	f.renewedTo = licenses.LeaseEnd(f.license, f.at)
	renewed := f.seat
	licenses.SetLease(&renewed, f.renewedTo, f.seat.HeldUntil)
	renewed.LastSeenAt = f.at
	if stored := licenses.LeaseOf(f.seat); f.renewedTo.IsZero() && stored.IsZero() {
		changed = f.at.Sub(f.seat.LastSeenAt) >= seenEvery
	} else {
		passed := f.renewedTo.Sub(stored) // negative if the lease has become shorter
		changed = passed < 0 || passed >= time.Duration(f.license.LeaseSeconds)*time.Second/10
	}
	if changed {
		f.seat = renewed
	}
	return changed
}

// Explain returns the verdict that Validate would return at any instant,
// past or future, based on the license and activations as recorded now. It
// writes and renews nothing. It returns [api.ErrNotFound] or an [*api.InvalidError].
func (s Service) Explain(ctx context.Context, p api.ExplainLicenseParams) (api.Verdict, error) {
	if err := call.Check(p); err != nil {
		return api.Verdict{}, err
	}
	at := call.ToMillis(p.At)
	if at.IsZero() {
		at = s.Now()
	}
	q := question{p.ProductID, p.CustomerID, p.Fingerprint, p.Entitlements, p.BuiltAt}
	return call.View(ctx, s.Call, "explain", func(r store.Reader) (v api.Verdict, err error) {
		l, err := licenses.Of(s.Call).Find(ctx, r, p.ID)
		if err == nil {
			v, err = s.explain(ctx, r, l, q, at)
		}
		return v, err
	})
}

// explain returns the verdict on a question about a license at an instant.
func (s Service) explain(ctx context.Context, r store.Reader, l record.License, q question, at time.Time) (v api.Verdict, err error) {
	f := s.facts(at)
	f.found = true
	if f.license, err = licenses.Passed(l, at); err != nil {
		return api.Verdict{}, err
	}
	f.license = s.lendable(f.license)
	if q.fingerprint != "" {
		if err = f.findSeat(ctx, r, q.fingerprint); err != nil {
			return api.Verdict{}, err
		}
	}
	if v, err = evaluate(q, f); err == nil {
		v.Meters, err = meters.Uses(ctx, r, f.license, at)
	}
	return v, err
}

// VerdictOn returns the verdict on a license and on one of its activations, or
// [api.ErrNotFound].
func (s Service) VerdictOn(ctx context.Context, r store.Reader, l record.License, activationID string, at time.Time) (api.Verdict, error) {
	a, err := seat(ctx, r, l.ID, activationID)
	if err != nil {
		return api.Verdict{}, err
	}
	return s.explain(ctx, r, l, question{fingerprint: a.Fingerprint}, at)
}
