package license

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// Renew moves ExpiresAt or UpdatesUntil to a later time, whether or not it has
// passed. It returns a [*MoveError] if the license is revoked, and an [*InvalidError]
// for "expires_at" or "updates_until" if the license has none or the new one is not
// later. To shorten a license or to set a first expiry, use
// [Service.Update]. Other errors are those of [Service.Suspend].
func (s *Service) Renew(ctx context.Context, p RenewParams) (License, error) {
	if err := checkRenewal(p); err != nil {
		return License{}, err
	}
	return s.edit(ctx, edit{
		verb:    "renew",
		event:   EventLicenseRenewed,
		reason:  p.Reason,
		find:    func(r store.Reader) (record.License, error) { return s.find(ctx, r, p.ID) },
		ifMatch: p.IfMatch,
		apply: func(l License, next *record.License, now time.Time) error {
			fields, err := renewed(p, l, now)
			if err == nil {
				writeFields(fields, next)
			}
			return err
		},
	})
}

// PreviewRenew returns a license and the end that Renew would give it now,
// or the error of Renew. It ignores IfMatch and writes nothing.
func (s internals) PreviewRenew(ctx context.Context, p RenewParams) (l License, end time.Time, err error) {
	if err := checkRenewal(p); err != nil {
		return License{}, time.Time{}, err
	}
	err = s.readOnce(ctx, func(r store.Reader) error {
		rec, err := s.find(ctx, r, p.ID)
		if err != nil {
			return err
		}
		now := s.now()
		if l, err = fromRecord(rec, now); err != nil {
			return err
		}
		fields, err := renewed(p, l, now)
		if err == nil {
			end = **renewedEnd(p, &fields)
		}
		return err
	})
	if err != nil {
		return License{}, time.Time{}, fmt.Errorf("preview renewal: %w", err)
	}
	return s.shown(l), end, nil
}

// renewed returns the fields of l after its renewal, or why it cannot be
// renewed.
func renewed(p RenewParams, l License, now time.Time) (CreateParams, error) {
	if l.Status == StatusRevoked {
		return CreateParams{}, &MoveError{Move: "renew", From: StatusRevoked, To: StatusRevoked}
	}
	fields := paramsOf(l)
	field, of := renewedEnd(p, &fields), "expires_at"
	if renewsUpdates(p) {
		of = "updates_until"
	}
	before := *field
	switch {
	case before == nil && of == "expires_at":
		return CreateParams{}, Invalid(of, CodeOutOfRange, "the license does not expire; set expires_at with an update")
	case before == nil:
		return CreateParams{}, Invalid(of, CodeOutOfRange, "the license includes all updates; set updates_until with an update")
	}
	end := renewalEnd(p, *before, now)
	*field = &end
	if err := invalidFields(checkCreate(&fields)); err != nil {
		return CreateParams{}, err
	}
	if !(*field).After(*before) {
		return CreateParams{}, Invalid(of, CodeOutOfRange, "must be later than the current "+of)
	}
	return fields, nil
}

// renewsUpdates reports whether a renewal moves UpdatesUntil.
func renewsUpdates(p RenewParams) bool { return p.UpdatesUntil != nil || p.Extend == ExtendUpdates }

// renewedEnd returns the field that a renewal moves.
func renewedEnd(p RenewParams, fields *CreateParams) **time.Time {
	if renewsUpdates(p) {
		return &fields.UpdatesUntil
	}
	return &fields.ExpiresAt
}

// checkRenewal checks what does not depend on the license.
func checkRenewal(p RenewParams) error {
	broken := checkRenew(p)
	given := 0
	for _, is := range []bool{p.ExpiresAt != nil, p.UpdatesUntil != nil, !p.Duration.IsZero()} {
		if is {
			given++
		}
	}
	if given != 1 {
		broken = append(broken, FieldError{Field: "expires_at", Code: CodeRequired, Detail: "set either expires_at, updates_until or duration"})
	} else if p.Extend != "" && p.Duration.IsZero() {
		broken = append(broken, FieldError{Field: "extend", Code: CodeOutOfRange, Detail: "is only for a duration"})
	}
	return invalidFields(broken)
}

// checkRenew checks each field by itself.
func checkRenew(p RenewParams) []FieldError {
	broken := checkTags(p)
	if !inBounds(p.Duration) {
		broken = append(broken, FieldError{Field: "duration", Code: CodeOutOfRange, Detail: "must not have a negative part or a part of more than eight digits"})
	}
	return broken
}

// inBounds reports whether no part is negative or has more than eight digits.
func inBounds(d Duration) bool {
	for _, part := range []int{d.Years, d.Months, d.Weeks, d.Days, d.Hours, d.Minutes, d.Seconds} {
		if part < 0 || part > 99_999_999 {
			return false
		}
	}
	return true
}

// renewalEnd returns the new ExpiresAt.
func renewalEnd(p RenewParams, expiry, now time.Time) time.Time {
	switch {
	case p.ExpiresAt != nil:
		return *p.ExpiresAt
	case p.UpdatesUntil != nil:
		return *p.UpdatesUntil
	case p.From == FromExpiry, p.From != FromNow && expiry.After(now):
		return p.Duration.AddTo(expiry)
	}
	return p.Duration.AddTo(now)
}
