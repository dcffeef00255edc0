package seats

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/meters"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Activate activates a fingerprint on the license with the given key and returns the
// resulting verdict; see package license.
func (s Service) Activate(ctx context.Context, p api.ActivateKeyParams) (v VerdictWithFile, err error) {
	if err := call.InvalidFields(CheckActivate(p)); err != nil {
		return VerdictWithFile{}, err
	}
	ask, err := askFor(p.File, p.Nonce)
	if err != nil {
		return VerdictWithFile{}, fmt.Errorf("activate: %w", err)
	}
	holder := s.asHolder()
	find := func(r store.Reader, now time.Time) (facts, error) { return holder.findValid(ctx, r, p, now) }
	if v, err = holder.activateFound(ctx, find, p, ask, Occasion{}); err != nil {
		return VerdictWithFile{}, fmt.Errorf("activate: %w", err)
	}
	return v, nil
}

// An Occasion is what an activation is a part of: in each of its Updates, Check runs before
// anything is decided and may refuse it, and Put in the one that stores the activation.
// Entries are the entries that both use.
type Occasion struct {
	Check   func(r store.Reader, now time.Time) error
	Put     func(tx *call.Tx, activationID string) error
	Entries [][2]string
}

// ActivateFor is Activate for a license that is named by its ID. It does not check p.
func (s Service) ActivateFor(ctx context.Context, licenseID string, p api.ActivateKeyParams, o Occasion) (api.Verdict, error) {
	find := func(r store.Reader, now time.Time) (facts, error) {
		if err := o.Check(r, now); err != nil {
			return facts{}, err
		}
		return s.findValidByID(ctx, r, licenseID, p, now)
	}
	v, err := s.activateFound(ctx, find, p, nil, o)
	return v.Verdict, err
}

// activateFound activates a fingerprint on the valid license that find returns.
func (s Service) activateFound(ctx context.Context, find func(store.Reader, time.Time) (facts, error), p api.ActivateKeyParams, ask *fileAsk, o Occasion) (v VerdictWithFile, err error) {
	defer func() {
		if denied, ok := errors.AsType[*api.DeniedError](err); ok {
			call := api.RefusedCall{Action: ActionActivate, Fingerprint: p.Fingerprint}
			if denied.Verdict.Code == api.VerdictUsageLimit {
				call.Asked = api.MeterActivations
			}
			s.Observe(ctx, denied.Verdict, call)
		}
	}()
	// Refuse what the license itself forbids, and answer what stores nothing, before waiting
	// for the write lock.
	var seen decision
	if seen.facts, err = find(s.Reader(), s.Now()); err != nil {
		return VerdictWithFile{}, err
	}
	if ask == nil && o.Put == nil {
		if repeated, err := s.repeats(ctx, find, &seen, p); err != nil {
			return VerdictWithFile{}, err
		} else if repeated {
			return seen.verdict, nil
		}
	}
	known := store.Wanted{
		LicenseID: seen.license.ID, LicenseKey: seen.license.Key, Fingerprints: []string{p.Fingerprint},
		Entries: append(o.Entries, [2]string{SeatsKind, seen.license.ID}),
	}
	within := func(r store.Reader, now time.Time) (facts, error) {
		if err := r.(*call.Tx).Want(ctx, known); err != nil {
			return facts{}, err
		}
		return find(r, now)
	}
	return s.activate(ctx, within, &p, ask, o)
}

// activate decides and stores an activation in one Update, and again while it only
// ended a batch of leases. Between two of these Updates, those leases have ended, the
// count is without them, and the fingerprint has no activation yet.
func (s Service) activate(ctx context.Context, find func(store.Reader, time.Time) (facts, error), p *api.ActivateKeyParams, ask *fileAsk, o Occasion) (VerdictWithFile, error) {
	for {
		var d decision
		err := s.Write(ctx, func(tx *call.Tx) (err error) {
			if d, err = s.decide(ctx, tx, find, tx.Now, p, ask); err != nil {
				return err
			}
			if err = s.write(ctx, tx, &d); err != nil || d.refused != nil {
				return err
			}
			if d.verdict.Meters, err = meters.Uses(ctx, tx, d.license, tx.Now); err == nil && o.Put != nil {
				err = o.Put(tx, d.seat.ID)
			}
			return err
		})
		if err != nil || d.refused != errMoreLeases {
			return d.verdict, cmp.Or(err, d.refused)
		}
	}
}

func CheckActivate(p api.ActivateKeyParams) []api.FieldError {
	broken := call.CheckTags(p)
	_, wrong := call.CheckMetadata(p.Metadata)
	broken = append(broken, wrong...)
	if p.TakeOver != "" && p.TakeOver != api.TakeOverOldest && !record.IsID("act", p.TakeOver) {
		broken = append(broken, api.FieldError{Field: "take_over", Code: api.FieldUnknown, Detail: `must be "oldest" or the id of an activation`})
	}
	return broken
}

// findValid finds the license and checks everything an activation needs except a
// free seat.
func (s Service) findValid(ctx context.Context, r store.Reader, p api.ActivateKeyParams, now time.Time) (facts, error) {
	q := question{productID: p.ProductID, customerID: p.CustomerID, builtAt: call.TimeOrZero(p.BuiltAt)}
	f, err := s.findByKey(ctx, r, p.Key, q, now)
	if err != nil {
		return facts{}, err
	}
	if f, err = f.ifValid(q); err == nil && p.PerProcess && !allowsPerProcess(f.license) {
		err = errPerProcess
	}
	return f, err
}

// ifValid returns f if the license is valid, otherwise a [*api.DeniedError].
func (f facts) ifValid(q question) (facts, error) {
	f.asked = q
	v, err := evaluate(q, f)
	if err != nil {
		return facts{}, err
	}
	if !v.Valid {
		return facts{}, &api.DeniedError{Verdict: v}
	}
	return f, nil
}
