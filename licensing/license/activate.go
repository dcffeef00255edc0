package license

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// ActivateParams are what a licensed program sends to take a seat.
type ActivateParams struct {
	Key         string `json:"key" validate:"required"` // as typed; see [ParseKey]
	Fingerprint string `json:"fingerprint" validate:"text"`
	ProductID   string `json:"product_id" validate:"omitempty,text" wire:"filled"`  // given: the license must be for it
	CustomerID  string `json:"customer_id" validate:"omitempty,text" wire:"filled"` // given: the license must be theirs
	// Name and Metadata describe the holder. In a repeated activation they
	// replace what was there, if they are given.
	Name     string            `json:"name" validate:"omitempty,text"`
	Metadata map[string]string `json:"metadata" wire:"nullable"` // bounded as that of a license
	// TakeOver says whose seat to take if none is free: empty for none's,
	// [TakeOverOldest], or the id of a live activation.
	TakeOver string `json:"take_over" wire:"filled"`
}

// TakeOverOldest evicts the activation that has held its seat the longest.
const TakeOverOldest = "oldest"

// Activate takes a seat of the license with that key for a fingerprint, and
// answers with the verdict on both. Activating again renews the seat that is
// there. An activation whose lease has ended, or that was released or evicted,
// is no longer there: its fingerprint takes a new seat, if one is free.
//
// A license with MaxActivations k never has more than k live activations
// admitted, however many come at once. If k is lowered below what is in use,
// those inside stay, and none is admitted, not even by taking over.
//
// The error is a [*DeniedError] or an [*InvalidError]. Events name as actor
// the Caller's, or, if it has none, "license:" and the license's id.
func (s *Service) Activate(ctx context.Context, p ActivateParams) (Verdict, error) {
	if err := p.check(ctx); err != nil {
		return Verdict{}, err
	}
	s = s.asHolder()
	// What the license itself forbids is refused without a turn to write.
	if _, err := s.admit(ctx, s.reader(), p, s.now()); err != nil {
		return Verdict{}, fmt.Errorf("activate: %w", err)
	}
	for {
		v, more, err := s.activate(ctx, p)
		if err != nil {
			return Verdict{}, fmt.Errorf("activate: %w", err)
		}
		if !more {
			return v, nil
		}
	}
}

// activate takes or renews a seat in one Update. If more is true, it has only
// ended a batch of the activations that are in the way.
func (s *Service) activate(ctx context.Context, p ActivateParams) (v Verdict, more bool, err error) {
	var denied *DeniedError
	err = s.update(ctx, func(tx *transaction) error {
		v, more, denied = Verdict{}, false, nil
		f, err := s.admit(ctx, tx, p, tx.now)
		if err != nil {
			return err
		}
		if err := f.findActivation(ctx, tx, p.Fingerprint); err != nil {
			return err
		}
		if f.holdsSeat() {
			err = s.keepSeat(ctx, tx, p, &f)
		} else if more, err = s.takeSeat(ctx, tx, p, &f); more {
			return err
		} else if errors.As(err, &denied) && f.recount {
			return tx.putSeats(ctx, f.license.ID, f.count) // what it found is kept
		}
		if err != nil {
			return err
		}
		v, err = judge(question{fingerprint: p.Fingerprint}, f)
		return err
	})
	if err == nil && denied != nil {
		err = denied
	}
	return v, more, err
}

func (p *ActivateParams) check(ctx context.Context) error {
	broken := checkTags(ctx, p)
	_, wrong := checkMetadata(p.Metadata)
	broken = append(broken, wrong...)
	if p.TakeOver != "" && p.TakeOver != TakeOverOldest && !isID("act", p.TakeOver) {
		broken = append(broken, FieldError{Field: "take_over", Code: CodeUnknown, Detail: `must be "oldest" or the id of an activation`})
	}
	if len(broken) > 0 {
		return &InvalidError{Fields: broken}
	}
	return nil
}

// admit finds the license and checks all that an activation needs but a seat.
func (s *Service) admit(ctx context.Context, r store.Reader, p ActivateParams, now time.Time) (finding, error) {
	q := question{productID: p.ProductID, customerID: p.CustomerID}
	f, err := s.findByKey(ctx, r, p.Key, q, now)
	if err != nil {
		return finding{}, err
	}
	v, err := judge(q, f)
	if err != nil {
		return finding{}, err
	}
	if !v.Valid {
		return finding{}, &DeniedError{Verdict: v}
	}
	return f, nil
}

// keepSeat renews the seat that the fingerprint holds.
func (s *Service) keepSeat(ctx context.Context, tx *transaction, p ActivateParams, f *finding) error {
	kept, changed := renewSeat(f.license, f.seat, f.at)
	if p.Name != "" && p.Name != kept.Name {
		kept.Name, changed = p.Name, true
	}
	if metadata := encodeMap(p.Metadata); len(metadata) > 0 && string(metadata) != string(kept.Metadata) {
		kept.Metadata, changed = metadata, true
	}
	f.seat = kept
	if !changed {
		return nil
	}
	return tx.PutActivation(ctx, kept)
}

// takeSeat gives the fingerprint a seat that is free, or is made free. If more
// is true, it has ended a batch of activations instead.
func (s *Service) takeSeat(ctx context.Context, tx *transaction, p ActivateParams, f *finding) (more bool, err error) {
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
	if f.seated { // the fingerprint's earlier seat, which has ended
		if err := tx.DeleteActivation(ctx, f.license.ID, f.seat.ID); err != nil {
			return false, err
		}
		f.count -= f.own()
	}
	f.seated, f.seat = true, store.Activation{
		LicenseID:   f.license.ID,
		ID:          store.NewID("act", tx.now),
		Fingerprint: p.Fingerprint,
		Name:        p.Name,
		LeaseEndsAt: leaseEnd(f.license, tx.now),
		CreatedAt:   tx.now,
		LastSeenAt:  tx.now,
		Metadata:    encodeMap(p.Metadata),
	}
	if err := tx.PutActivation(ctx, f.seat); err != nil {
		return false, err
	}
	if err := s.appendSeat(ctx, tx, EventActivationCreated, f.license, f.seat, ""); err != nil {
		return false, err
	}
	swept, err := sweep(ctx, tx, f.license)
	if err != nil {
		return false, err
	}
	return false, tx.putSeats(ctx, f.license.ID, f.count+1-swept)
}

// evict frees one seat of a full license for another.
func (s *Service) evict(ctx context.Context, tx *transaction, takeOver string, f *finding) error {
	denied, err := deniedFull(f.license, f.at)
	if err != nil {
		return err
	}
	if takeOver == "" || f.taken == 0 || int64(f.taken) > f.license.MaxActivations {
		return denied
	}
	var victim store.Activation
	if takeOver == TakeOverOldest {
		oldest, err := tx.Activations(ctx, store.ActivationQuery{LicenseID: f.license.ID, LiveAt: f.at, Limit: 1})
		if err != nil {
			return err
		}
		victim = oldest[0]
	} else if victim, err = seat(ctx, tx, f.license.ID, takeOver); errors.Is(err, ErrNotFound) {
		return denied
	} else if err != nil {
		return err
	}
	if activationStatusAt(victim, f.at) != ActivationLive {
		return denied
	}
	f.count--
	return s.endSeat(ctx, tx, f.license, &victim, ActivationEvicted, "")
}

// deniedFull refuses an activation of a license that is valid, but full.
func deniedFull(rec store.License, at time.Time) (*DeniedError, error) {
	l, err := fromRecord(rec, at)
	if err != nil {
		return nil, err
	}
	l.Key = ""
	v := deny(fullReason(rec))
	v.License, v.RecheckAfter = &l, seconds(recheckInvalid)
	return &DeniedError{Verdict: v}, nil
}

// Ended activations are kept so that their holders can be told what became
// of them, for as long as this.
const keepEnded = 30 * 24 * time.Hour

// sweep removes a few activations that ended long ago. It looks at a handful
// of rows that were created after some random instant of the license's life,
// and the instants before it, so that however the rows lie in time, those that
// have ended are found before they outnumber the rest. It returns how many of
// those it removed were not ended, and so are in the count of seats.
func sweep(ctx context.Context, tx *transaction, l store.License) (counted int, err error) {
	age := tx.now.Sub(l.CreatedAt)
	if age < keepEnded {
		return 0, nil
	}
	instant := tx.now.Add(-time.Duration(rand.Int64N(int64(age + age/8))))
	rows, err := tx.Activations(ctx, store.ActivationQuery{LicenseID: l.ID, After: store.NewID("act", instant), Limit: 8})
	if err != nil {
		return 0, err
	}
	for _, row := range rows {
		end := row.EndedAt
		if end.IsZero() {
			end = row.LeaseEndsAt
		}
		if end.IsZero() || tx.now.Sub(end) < keepEnded {
			continue
		}
		if err := tx.DeleteActivation(ctx, l.ID, row.ID); err != nil {
			return 0, err
		}
		if row.EndedAt.IsZero() {
			counted++
		}
	}
	return counted, nil
}
