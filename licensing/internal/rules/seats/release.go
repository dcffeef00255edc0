package seats

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Deactivate releases the activation of a fingerprint, whatever the state of the license;
// see package license.
func (s Service) Deactivate(ctx context.Context, p api.DeactivateKeyParams) (api.Activation, error) {
	if err := call.InvalidFields(CheckDeactivate(p)); err != nil {
		return api.Activation{}, err
	}
	if p.ActivationID != "" {
		return s.ReleaseActivation(ctx, api.ReleaseActivationParams{Key: p.Key, ActivationID: p.ActivationID, Reason: p.Reason})
	}
	q := question{fingerprint: p.Fingerprint}
	return s.asHolder().release(ctx, "", false, func(r store.Reader, now time.Time) (record.License, record.Activation, error) {
		f, err := s.findByKey(ctx, r, p.Key, q, now)
		if err == nil && !f.seated { // no hint which of the two it is
			err = &api.DeniedError{Verdict: deny(api.Reason{
				Code: api.VerdictNotFound, Detail: "No license has this key, or it is not activated for this fingerprint; check the key for typos.",
			})}
		}
		if f.seat.PerProcess {
			f.seat.HeldUntil = time.Time{} // the process, which had the file, ends
		}
		return f.license, f.seat, err
	})
}

func CheckDeactivate(p api.DeactivateKeyParams) []api.FieldError {
	broken := call.CheckTags(p)
	fail := func(field, code, detail string) {
		broken = append(broken, api.FieldError{Field: field, Code: code, Detail: detail})
	}
	switch {
	case p.ActivationID != "" && p.Fingerprint != "":
		fail("fingerprint", api.FieldImmutable, "cannot be combined with activation_id; omit one of them")
	case p.ActivationID == "" && p.Reason != "":
		fail("reason", api.FieldUnknown, "is only allowed with activation_id; omit it")
	}
	return broken
}

// ReleaseActivation releases an activation on behalf of an operator, an API client or, with
// Options.KeyHolderSeats, a license key holder; see package license.
func (s Service) ReleaseActivation(ctx context.Context, p api.ReleaseActivationParams) (api.Activation, error) {
	if err := call.Check(p); err != nil {
		return api.Activation{}, err
	}
	as := s
	if p.Key != "" {
		as, p.Force = s.asHolder(), false
	}
	return as.release(ctx, p.Reason, p.Force, func(r store.Reader, _ time.Time) (record.License, record.Activation, error) {
		l, err := s.LicenseOf(ctx, r, p.LicenseID, p.Key)
		if err != nil {
			return record.License{}, record.Activation{}, err
		}
		a, err := seat(ctx, r, l.ID, p.ActivationID)
		return l, a, err
	})
}

// PreviewRelease returns an activation as its forced release would leave it
// now. It writes nothing.
func (s Service) PreviewRelease(ctx context.Context, licenseID, activationID string) (released api.Activation, err error) {
	return call.View(ctx, s.Call, "preview release", func(r store.Reader) (released api.Activation, err error) {
		l, err := licenses.Of(s.Call).Find(ctx, r, licenseID)
		if err != nil {
			return released, err
		}
		a, err := seat(ctx, r, l.ID, activationID)
		if err != nil {
			return released, err
		}
		now := s.Now()
		if activationStatusAt(a, now) == api.ActivationLive {
			markEnded(&a, api.ActivationReleased, now)
		}
		released, err = ActivationAt(a, now)
		return released, err
	})
}

// release ends the activation that find returns unless it has ended. It
// reads first, so that it takes the write lock only if there is something to
// write.
func (s Service) release(ctx context.Context, reason string, force bool, find func(store.Reader, time.Time) (record.License, record.Activation, error)) (api.Activation, error) {
	var released api.Activation
	err := s.Read(ctx, func(r store.Reader) error {
		now := s.Now()
		_, a, err := find(r, now)
		if err != nil {
			return err
		}
		released, err = ActivationAt(a, now)
		return err
	})
	if err == nil && released.Status == api.ActivationLive {
		err = s.Write(ctx, func(tx *call.Tx) error {
			l, a, err := find(tx, tx.Now)
			if err != nil {
				return err
			}
			if activationStatusAt(a, tx.Now) == api.ActivationLive {
				if err := s.releaseSeat(ctx, tx, l, &a, reason, force); err != nil {
					return err
				}
			}
			released, err = ActivationAt(a, tx.Now)
			return err
		})
	}
	if err != nil {
		return api.Activation{}, fmt.Errorf("release activation: %w", err)
	}
	return released, nil
}

// releaseSeat ends an active activation and updates the seat count.
func (s Service) releaseSeat(ctx context.Context, tx *call.Tx, l record.License, a *record.Activation, reason string, force bool) error {
	n, _, err := seatCount(ctx, tx, l.ID)
	if err != nil {
		return err
	}
	forced, err := s.needsForce(ctx, tx, tx.Now, l, *a, force, "")
	if err != nil {
		return err
	}
	if err := s.endSeat(ctx, tx, l, a, api.ActivationReleased, reason, forced); err != nil {
		return err
	}
	return putSeats(ctx, tx, l.ID, n-1)
}

// endSeat ends an active activation, keeps its row and appends an event. If a license
// file holds its seat, that is spent. The caller stores the seat count.
func (s Service) endSeat(ctx context.Context, tx *call.Tx, l record.License, a *record.Activation, how api.ActivationStatus, reason string, forced bool) error {
	if a.HeldUntil.After(tx.Now) {
		if err := putSpent(ctx, tx, *a, forced); err != nil {
			return err
		}
	}
	markEnded(a, how, tx.Now)
	if err := tx.PutActivations(ctx, a.Row()); err != nil {
		return err
	}
	eventType := api.EventActivationReleased
	if how == api.ActivationEvicted {
		eventType = api.EventActivationEvicted
	}
	return s.appendSeat(ctx, tx, eventType, l, *a, api.EventData{Reason: reason, Forced: forced})
}

// markEnded marks an active activation as released or evicted.
func markEnded(a *record.Activation, how api.ActivationStatus, now time.Time) {
	a.EndedAt, a.EndReason = now, string(how)
}

// appendSeat adds an event about an activation to the feed.
func (s Service) appendSeat(ctx context.Context, tx *call.Tx, eventType string, rec record.License, row record.Activation, data api.EventData) error {
	l, err := licenses.FromRecord(rec, tx.Now)
	if err != nil {
		return err
	}
	a, err := ActivationAt(row, tx.Now)
	if err != nil {
		return err
	}
	data.Activation = &a
	return s.Append(ctx, tx, eventType, l, data)
}
