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

// activationStatusAt derives the status of a stored activation. The store's
// LiveAt filter applies the same rule.
func activationStatusAt(a record.Activation, at time.Time) api.ActivationStatus {
	switch {
	case !a.EndedAt.IsZero():
		return api.ActivationStatus(a.EndReason)
	case !a.LeaseEndsAt.IsZero() && !at.Before(a.LeaseEndsAt):
		return api.ActivationLeaseEnded
	}
	return api.ActivationLive
}

// ActivationAt converts a stored activation to its state at an instant.
func ActivationAt(a record.Activation, at time.Time) (api.Activation, error) {
	out := api.Activation{
		Object:      "activation",
		ID:          a.ID,
		LicenseID:   a.LicenseID,
		Fingerprint: a.Fingerprint,
		Name:        a.Name,
		Status:      activationStatusAt(a, at),
		LeaseEndsAt: record.OptionalTime(licenses.LeaseOf(a)),
		HeldUntil:   record.OptionalTime(a.HeldUntil),
		EndedAt:     record.OptionalTime(a.EndedAt),
		Metadata:    map[string]string{},
		CreatedAt:   a.CreatedAt,
		LastSeenAt:  a.LastSeenAt,
	}
	if out.Status == api.ActivationLeaseEnded {
		out.EndedAt = nil // a later activation that took the seat may have set it
	}
	if out.EndedAt != nil && a.HeldUntil.After(at) {
		out.OfflineUntil = out.HeldUntil
	}
	if err := call.Decode(a.Metadata, &out.Metadata); err != nil {
		return api.Activation{}, fmt.Errorf("activation %s: stored document: %w", a.ID, err)
	}
	return out, nil
}

// LicenseOf returns the license whose activations the caller manages, by its
// ID or, if Options.KeyHolderSeats is set, by its key.
func (s Service) LicenseOf(ctx context.Context, r store.Reader, id, key string) (record.License, error) {
	switch {
	case (id == "") == (key == ""):
		return record.License{}, api.Invalid("key", api.FieldRequired, "must be set, or the id of the license, and not both")
	case id != "":
		return licenses.Of(s.Call).Find(ctx, r, id)
	case !s.Opts.KeyHolderSeats:
		return record.License{}, api.ErrForbidden
	}
	rec, ok, err := licenses.Of(s.Call).ByKey(ctx, r, key)
	if err == nil && !ok {
		err = s.unknownKey()
	}
	return rec, err
}

// unknownKey returns the error for a key that no license has.
func (s Service) unknownKey() error {
	_, err := s.facts(s.Now()).ifValid(question{})
	return err
}

// seat returns the activation of a license with that id, or [api.ErrNotFound].
func seat(ctx context.Context, r store.Reader, licenseID, id string) (record.Activation, error) {
	if !record.IsID("act", id) { // it can be a key
		return record.Activation{}, fmt.Errorf("activation: %w", api.ErrNotFound)
	}
	// The id without its last character sorts before it, and before at most
	// 31 others.
	rows, err := r.Activations(ctx, store.ActivationQuery{LicenseID: licenseID, After: id[:len(id)-1], Limit: 32})
	if err != nil {
		return record.Activation{}, err
	}
	for _, row := range rows {
		if row.ID == id {
			return record.ReadActivation(row)
		}
	}
	return record.Activation{}, fmt.Errorf("activation %q: %w", id, api.ErrNotFound)
}
