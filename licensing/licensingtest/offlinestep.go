package licensingtest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// The steps of an offline. Each returns the error of the call.

// activate activates a fingerprint. With a lifetime it asks for a file.
func (o *offline) activate(node *license.Service, fingerprint, takeOver string, lifetime api.Duration, crash bool) error {
	v, err := node.Activate(o.t.Context(), api.ActivateKeyParams{Key: o.key, Fingerprint: fingerprint, TakeOver: takeOver, File: lifetime})
	if err == nil {
		o.issued(v.Activation, v.FileClaims(), crash)
	}
	return err
}

// validate validates a fingerprint. With a lifetime it asks for a file.
func (o *offline) validate(node *license.Service, fingerprint string, lifetime api.Duration, crash bool) error {
	v, err := node.Validate(o.t.Context(), api.ValidateKeyParams{Key: o.key, Fingerprint: fingerprint, File: lifetime})
	if err == nil {
		o.issued(v.Activation, v.FileClaims(), crash)
	}
	return err
}

// deactivate releases a fingerprint with the license key.
func (o *offline) deactivate(node *license.Service, fingerprint string) error {
	_, err := node.Deactivate(o.t.Context(), api.DeactivateKeyParams{Key: o.key, Fingerprint: fingerprint})
	return err
}

// release releases a fingerprint as an operator does, by force if it must.
func (o *offline) release(node *license.Service, fingerprint string) error {
	row, err := o.Activation(o.t.Context(), o.id, fingerprint)
	if err != nil {
		return api.ErrNotFound
	}
	p := api.ReleaseActivationParams{LicenseID: o.id, ActivationID: row.ID}
	_, err = node.ReleaseActivation(o.t.Context(), p)
	if held, ok := errors.AsType[*api.SeatHeldError](err); ok {
		p.Force = true
		if _, err = node.ReleaseActivation(o.t.Context(), p); err == nil {
			o.mu.Lock()
			o.forced[row.ID] = held.OfflineUntil
			o.mu.Unlock()
		}
	}
	return err
}

// request issues a file as an API client does. The same idempotency key gets the
// same file again.
func (o *offline) request(node *license.Service, idempotencyKey, fingerprint string, lifetime api.Duration, crash bool) error {
	var activation *api.Activation
	reply, replayed, err := node.Once(o.t.Context(), o.id+idempotencyKey, "request", func(in *license.Service) ([]byte, error) {
		file, err := in.IssueFile(o.t.Context(), api.IssueFileParams{LicenseID: o.id, Fingerprint: fingerprint, Lifetime: lifetime})
		if err != nil {
			return nil, err
		}
		activation = file.Activation
		return file.FileClaims().MarshalJSON()
	})
	if err != nil {
		return err
	}
	if replayed {
		activation = nil // of an attempt that was undone
	}
	claims := new(licensefile.Claims)
	if err := claims.UnmarshalJSON(reply); err != nil {
		return err
	}
	o.issued(activation, claims, crash)
	return nil
}

// limit changes the number of seats.
func (o *offline) limit(node *license.Service, seats int64) error {
	_, err := node.Update(o.t.Context(), api.UpdateLicenseParams{ID: o.id, MaxActivations: api.To(seats)})
	if err == nil {
		o.seats = seats
	}
	return err
}

// unlimit removes the limit, so that more programs get files, and sets another.
func (o *offline) unlimit(node *license.Service, seats int64) error {
	_, err := node.Update(o.t.Context(), api.UpdateLicenseParams{ID: o.id, MaxActivations: api.ToNull[int64]()})
	for i := 0; i < 6 && err == nil; i++ {
		err = o.activate(node, pc(i), "", api.Duration{Days: 10}, false)
	}
	if err != nil {
		return err
	}
	return o.limit(node, seats)
}

// lease changes the leases; 0: none.
func (o *offline) lease(node *license.Service, seconds int64) error {
	lease := api.ToNull[int64]()
	if seconds > 0 {
		lease = api.To(seconds)
	}
	_, err := node.Update(o.t.Context(), api.UpdateLicenseParams{ID: o.id, LeaseSeconds: lease})
	return err
}

// void raises the generation.
func (o *offline) void(node *license.Service) error {
	_, err := node.VoidFiles(o.t.Context(), api.ChangeStateParams{ID: o.id})
	return err
}

// upkeep removes what has expired.
func (o *offline) upkeep(node *license.Service) error {
	for _, step := range inner.Of(node).Background().Upkeep {
		if _, err := step(context.WithoutCancel(o.t.Context())); err != nil {
			return fmt.Errorf("upkeep: %w", err)
		}
	}
	return nil
}

// beforeEnd sets the clock to an instant before the last of the current files
// expires, unless that has passed.
func (o *offline) beforeEnd(d time.Duration) {
	var last time.Time
	for _, f := range o.signed {
		if f.expires.After(last) {
			last = f.expires
		}
	}
	if at := last.Add(-d); at.After(o.clock.Now()) {
		o.clock.Set(at)
	}
}

// explained returns an error that no rule explains.
func explained(err error) error {
	for _, rule := range []error{api.ErrDenied, api.ErrSeatHeld, api.ErrNotFound, api.ErrNoFile} {
		if errors.Is(err, rule) {
			return nil
		}
	}
	return err
}
