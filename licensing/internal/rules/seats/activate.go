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
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
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
	defer func() {
		if denied, ok := errors.AsType[*api.DeniedError](err); ok {
			s.observe(ctx, denied.Verdict, api.RefusedCall{Action: actionActivate, Fingerprint: p.Fingerprint})
		}
	}()
	find := func(r store.Reader, now time.Time) (facts, error) { return holder.admit(ctx, r, p, now) }
	// Refuse what the license itself forbids before waiting for the write lock.
	seen, err := find(s.Reader(), s.Now())
	if err != nil {
		return VerdictWithFile{}, fmt.Errorf("activate: %w", err)
	}
	known := store.Wanted{
		LicenseID: seen.license.ID, LicenseKey: seen.license.Key, Fingerprint: p.Fingerprint,
		Entries: [][2]string{{SeatsKind, seen.license.ID}},
	}
	within := func(r store.Reader, now time.Time) (facts, error) {
		if err := r.(*call.Tx).Want(ctx, known); err != nil {
			return facts{}, err
		}
		return find(r, now)
	}
	if v, err = holder.activateAll(ctx, within, &p, ask); err != nil {
		return VerdictWithFile{}, fmt.Errorf("activate: %w", err)
	}
	return v, nil
}

// activateAll calls activate until there is a result.
func (s Service) activateAll(ctx context.Context, find func(store.Reader, time.Time) (facts, error), p *api.ActivateKeyParams, ask *fileAsk) (VerdictWithFile, error) {
	for {
		v, more, err := s.activate(ctx, find, p, ask)
		if err != nil || !more {
			return v, err
		}
	}
}

// activate creates or renews an activation in one Update, and holds it for the
// file that ask asks for, if any. If more is true, it has only ended a batch of
// activations whose leases have ended; call it again.
func (s Service) activate(ctx context.Context, find func(store.Reader, time.Time) (facts, error), p *api.ActivateKeyParams, ask *fileAsk) (v VerdictWithFile, more bool, err error) {
	var refused error // after which the number of seats that was counted again is stored
	err = s.Write(ctx, func(tx *call.Tx) error {
		v, more, refused = VerdictWithFile{}, false, nil
		f, err := find(tx, tx.Now)
		if err != nil {
			return err
		}
		if p.Fingerprint != "" {
			more, err = s.ensureSeat(ctx, tx, *p, ask, &f)
			if f.recount && (errors.Is(err, api.ErrDenied) || errors.Is(err, api.ErrSeatHeld)) {
				refused = err
				return putSeats(ctx, tx, f.license.ID, f.count)
			}
			if err != nil || more {
				return err
			}
		}
		if v.Verdict, err = evaluate(question{fingerprint: p.Fingerprint}, f); err != nil || ask == nil {
			return err
		}
		o, err := s.offerFile(ctx, tx, f, v.Verdict, *ask)
		if err != nil {
			return err
		}
		if o.refused != nil && ask.issue {
			return &api.NoFileError{Reason: *o.refused} // no seat without the file
		}
		return s.commit(ctx, tx, &f, &v, o)
	})
	return v, more, cmp.Or(err, refused)
}

// ensureSeat renews the seat of the fingerprint or, if it has none, takes one.
func (s Service) ensureSeat(ctx context.Context, tx *call.Tx, p api.ActivateKeyParams, ask *fileAsk, f *facts) (more bool, err error) {
	if err := f.findActivation(ctx, tx, p.Fingerprint); err != nil {
		return false, err
	}
	switch {
	case !f.holdsSeat():
		return s.takeSeat(ctx, tx, p, f)
	case ask != nil && ask.issue && (!ask.holder || s.Owner != nil): // the program has not been seen
		return false, nil
	}
	return false, s.keepSeat(ctx, tx, p, f)
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

// admit finds the license and checks everything an activation needs except a
// free seat.
func (s Service) admit(ctx context.Context, r store.Reader, p api.ActivateKeyParams, now time.Time) (facts, error) {
	q := question{productID: p.ProductID, customerID: p.CustomerID, builtAt: call.TimeOrZero(p.BuiltAt)}
	f, err := s.findByKey(ctx, r, p.Key, q, now)
	if err != nil {
		return facts{}, err
	}
	return admitted(q, f)
}

// admitted returns f if the license is valid, otherwise a [*api.DeniedError].
func admitted(q question, f facts) (facts, error) {
	v, err := evaluate(q, f)
	if err != nil {
		return facts{}, err
	}
	if !v.Valid {
		return facts{}, &api.DeniedError{Verdict: v}
	}
	return f, nil
}

// keepSeat renews the active activation of the fingerprint.
func (s Service) keepSeat(ctx context.Context, tx *call.Tx, p api.ActivateKeyParams, f *facts) error {
	changed := f.renewSeat()
	kept := f.seat
	if p.Name != "" && p.Name != kept.Name {
		kept.Name, changed = p.Name, true
	}
	if metadata := call.EncodeMap(p.Metadata); len(metadata) > 0 && string(metadata) != string(kept.Metadata) {
		kept.Metadata, changed = metadata, true
	}
	f.seat = kept
	if !changed {
		return nil
	}
	return tx.PutActivations(ctx, kept.Row())
}

// takeSeat creates an activation for the fingerprint, freeing a seat first
// if it must. If more is true, it has ended a batch of activations instead.
func (s Service) takeSeat(ctx context.Context, tx *call.Tx, p api.ActivateKeyParams, f *facts) (more bool, err error) {
	var counted bool
	if f.count, counted, err = seatCount(ctx, tx, f.license.ID); err != nil {
		return false, err
	}
	f.recount = !counted && f.count > 0
	if more, err := s.freeSeats(ctx, tx, f); err != nil || more {
		return more, err
	}
	if f.full() {
		if err := s.evict(ctx, tx, p.TakeOver, f); err != nil {
			return false, err
		}
	}
	var held time.Time
	if f.seated { // the fingerprint's earlier activation, which has ended
		held = f.seat.HeldUntil
		if err := tx.DeleteActivations(ctx, f.license.ID, f.seat.ID); err != nil {
			return false, err
		}
		f.count -= f.own()
	}
	if held.After(tx.Now) || f.holdOffline { // with the latter, a transfer may have deleted the activation
		spent, err := unspend(ctx, tx, f.license.ID, p.Fingerprint)
		if err != nil {
			return false, err
		}
		held = call.LastOf(held, spent)
	}
	f.seated, f.seat = true, record.Activation{
		Activation: store.Activation{
			LicenseID:   f.license.ID,
			ID:          store.NewID("act", tx.Now),
			Fingerprint: p.Fingerprint,
		},
		Name:       p.Name,
		CreatedAt:  tx.Now,
		LastSeenAt: tx.Now,
		Metadata:   call.EncodeMap(p.Metadata),
	}
	licenses.SetLease(&f.seat, licenses.LeaseEnd(f.license, tx.Now), held)
	if err := tx.PutActivations(ctx, f.seat.Row()); err != nil {
		return false, err
	}
	if err := s.appendSeat(ctx, tx, api.EventActivationCreated, f.license, f.seat, api.EventData{}); err != nil {
		return false, err
	}
	swept, err := sweep(ctx, tx, f.license)
	if err != nil {
		return false, err
	}
	return false, putSeats(ctx, tx, f.license.ID, f.count+1-swept)
}

// evict ends one activation of a full license to free its seat.
func (s Service) evict(ctx context.Context, tx *call.Tx, takeOver string, f *facts) error {
	denied, err := f.deniedFull()
	if err != nil {
		return err
	}
	if takeOver == "" || f.taken == f.spent || int64(f.taken) > f.license.MaxActivations {
		return denied
	}
	var victim record.Activation
	if takeOver == api.TakeOverOldest {
		oldest, err := tx.Activations(ctx, store.ActivationQuery{LicenseID: f.license.ID, LiveAt: f.at, Limit: 1})
		if err != nil {
			return err
		}
		if len(oldest) == 0 { // the stored count is not that of the activations
			return denied
		}
		if victim, err = record.ReadActivation(oldest[0]); err != nil {
			return err
		}
	} else if victim, err = seat(ctx, tx, f.license.ID, takeOver); errors.Is(err, api.ErrNotFound) {
		return denied
	} else if err != nil {
		return err
	}
	if activationStatusAt(victim, f.at) != api.ActivationLive {
		return denied
	}
	if err := s.endSeat(ctx, tx, f.license, &victim, api.ActivationEvicted, "", false, f.fingerprint); err != nil {
		return err
	}
	f.count--
	return nil
}

// deniedFull returns the error for a license that is valid but has no free
// seat.
func (f facts) deniedFull() (*api.DeniedError, error) {
	l, err := licenses.FromRecord(f.license, f.at)
	if err != nil {
		return nil, err
	}
	l.Key, l.Reference = "", ""
	v := deny(fullReason(f.license))
	v.License, v.RecheckAfter = &l, seconds(f.recheck)
	return &api.DeniedError{Verdict: v}, nil
}
