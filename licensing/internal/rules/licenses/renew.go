package licenses

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Renew moves ExpiresAt or UpdatesUntil to a later time, whether or not it has passed; see
// package license.
func (s Service) Renew(ctx context.Context, p api.RenewLicenseParams) (api.License, error) {
	if err := checkRenewal(p); err != nil {
		return api.License{}, err
	}
	return s.Edit(ctx, Edit{
		Verb:    "renew",
		Event:   api.EventLicenseRenewed,
		Reason:  p.Reason,
		Find:    func(r store.Reader) (record.License, error) { return s.Find(ctx, r, p.ID) },
		IfMatch: p.IfMatch,
		Apply: func(l api.License, next *record.License, now time.Time) error {
			fields, err := renewed(p, l, now)
			if err == nil {
				WriteFields(fields, next)
			}
			return err
		},
	})
}

// PreviewRenew returns a license and the end that Renew would give it now,
// or the error of Renew. It ignores IfMatch and writes nothing.
func (s Service) PreviewRenew(ctx context.Context, p api.RenewLicenseParams) (l api.License, end time.Time, err error) {
	if err := checkRenewal(p); err != nil {
		return api.License{}, time.Time{}, err
	}
	err = s.ReadOnce(ctx, func(r store.Reader) error {
		rec, err := s.Find(ctx, r, p.ID)
		if err != nil {
			return err
		}
		now := s.Now()
		if l, err = FromRecord(rec, now); err != nil {
			return err
		}
		fields, err := renewed(p, l, now)
		if err == nil {
			end = **renewedEnd(p, &fields)
		}
		return err
	})
	if err != nil {
		return api.License{}, time.Time{}, fmt.Errorf("preview renewal: %w", err)
	}
	return s.Shown(l), end, nil
}

// renewed returns the fields of l after its renewal, or why it cannot be
// renewed.
func renewed(p api.RenewLicenseParams, l api.License, now time.Time) (api.CreateLicenseParams, error) {
	if l.Status == api.LicenseRevoked {
		return api.CreateLicenseParams{}, &api.StateError{Change: "renew", From: api.LicenseRevoked, To: api.LicenseRevoked}
	}
	fields := ParamsOf(l)
	field, of := renewedEnd(p, &fields), "expires_at"
	if renewsUpdates(p) {
		of = "updates_until"
	}
	before := *field
	switch {
	case before == nil && of == "expires_at":
		return api.CreateLicenseParams{}, api.Invalid(of, api.FieldOutOfRange, "the license does not expire; set expires_at with an update")
	case before == nil:
		return api.CreateLicenseParams{}, api.Invalid(of, api.FieldOutOfRange, "the license includes all updates; set updates_until with an update")
	}
	end := renewalEnd(p, *before, now)
	*field = &end
	if err := call.InvalidFields(call.CheckCreate(&fields)); err != nil {
		return api.CreateLicenseParams{}, err
	}
	if !(*field).After(*before) {
		return api.CreateLicenseParams{}, api.Invalid(of, api.FieldOutOfRange, "must be later than the current "+of)
	}
	return fields, nil
}

// renewsUpdates reports whether a renewal moves UpdatesUntil.
func renewsUpdates(p api.RenewLicenseParams) bool {
	return p.UpdatesUntil != nil || p.Extend == api.RenewExtendUpdates
}

// renewedEnd returns the field that a renewal moves.
func renewedEnd(p api.RenewLicenseParams, fields *api.CreateLicenseParams) **time.Time {
	if renewsUpdates(p) {
		return &fields.UpdatesUntil
	}
	return &fields.ExpiresAt
}

// checkRenewal checks what does not depend on the license.
func checkRenewal(p api.RenewLicenseParams) error {
	broken := CheckRenew(p)
	given := 0
	for _, is := range []bool{p.ExpiresAt != nil, p.UpdatesUntil != nil, !p.Duration.IsZero()} {
		if is {
			given++
		}
	}
	if given != 1 {
		broken = append(broken, api.FieldError{Field: "expires_at", Code: api.FieldRequired, Detail: "must be set, or updates_until, or duration, and only one of them"})
	} else if p.Extend != "" && p.Duration.IsZero() {
		broken = append(broken, api.FieldError{Field: "extend", Code: api.FieldOutOfRange, Detail: "is only for a duration"})
	}
	return call.InvalidFields(broken)
}

// CheckRenew checks each field by itself.
func CheckRenew(p api.RenewLicenseParams) []api.FieldError {
	broken := call.CheckTags(p)
	if !call.InBounds(p.Duration) {
		broken = append(broken, api.FieldError{Field: "duration", Code: api.FieldOutOfRange, Detail: "must not have a negative part or a part of more than eight digits"})
	}
	return broken
}

// renewalEnd returns the new ExpiresAt.
func renewalEnd(p api.RenewLicenseParams, expiry, now time.Time) time.Time {
	switch {
	case p.ExpiresAt != nil:
		return *p.ExpiresAt
	case p.UpdatesUntil != nil:
		return *p.UpdatesUntil
	case p.From == api.RenewFromExpiry, p.From != api.RenewFromNow && expiry.After(now):
		return p.Duration.AddTo(expiry)
	}
	return p.Duration.AddTo(now)
}
