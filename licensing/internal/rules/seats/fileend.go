package seats

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/revocations"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// longestFile returns the longest lifetime of a file for a license key holder.
// Programs run from files online too, so a license without time offline gets files
// that last from one check until after the next. Files hold their seats, so a
// license with leases, such as one for containers, gets files that are not much
// longer than those.
func (s Service) longestFile(l record.License) time.Duration {
	switch {
	case l.OfflineSeconds > 0:
		return time.Duration(l.OfflineSeconds) * time.Second
	case l.OfflineSeconds == 0:
		return 2 * s.Opts.RecheckAfter
	case l.LeaseSeconds >= 0:
		return min(s.Opts.MaxOffline, max(minFileLifetime, 2*time.Duration(l.LeaseSeconds)*time.Second))
	}
	return s.Opts.MaxOffline
}

// fileEnd returns when a file that is issued now expires at the latest.
func (s Service) fileEnd(f facts, ask fileAsk) (time.Time, error) {
	longest := s.longestFile(f.license)
	lifetime := longest
	if !ask.lifetime.IsZero() {
		lifetime = lifetimeOf(ask.lifetime, f.at)
	}
	if ask.holder {
		lifetime = min(lifetime, longest)
	}
	end := f.at.Add(min(lifetime, lifetimeOf(maxFileLifetime, f.at)))
	if !f.license.ExpiresAt.IsZero() && licenses.GraceEnd(f.license).Before(end) {
		end = licenses.GraceEnd(f.license)
	}
	if s.lends(f.license) && s.Opts.Office.ExpiresAt.Before(end) {
		end = s.Opts.Office.ExpiresAt
	}
	if !f.license.ChangesAt.IsZero() && f.license.ChangesAt.Before(end) {
		state, err := licenses.StateOf(f.license)
		if err != nil {
			return time.Time{}, err
		}
		if promised := state.PromisedUntil(); !promised.IsZero() && promised.Before(end) {
			end = promised
		}
	}
	return end.Truncate(time.Second), nil
}

// FileUntil returns when a file that the customer of a license gets now expires at the latest.
func (s Service) FileUntil(ctx context.Context, licenseID string) (until time.Time, err error) {
	err = s.Read(ctx, func(r store.Reader) error {
		rec, err := licenses.Of(s.Call).Find(ctx, r, licenseID)
		if err != nil {
			return err
		}
		f := s.facts(s.Now())
		f.license = s.lendable(rec)
		until, err = s.fileEnd(f, fileAsk{holder: true})
		return err
	})
	return until, err
}

// holdUntil returns when a file of the seat that may last until end expires, and
// until when to hold the seat for it; zero: it is held long enough. A hold only
// grows. A hold of an earlier generation does not count: the license may have been
// limited since.
func (f facts) holdUntil(end time.Time) (exp, hold time.Time) {
	if f.seat.HeldGeneration == revocations.Generation(f.license) {
		held := f.seat.HeldUntil.Add(-licensefile.Leeway).Truncate(time.Second)
		if !held.Before(end) {
			return end, time.Time{}
		}
		if held.Sub(f.at) >= end.Sub(f.at)*9/10 {
			return held, time.Time{}
		}
	}
	if hold = holdFor(end); hold.Before(f.seat.HeldUntil) {
		hold = f.seat.HeldUntil
	}
	return end, hold
}
