package license

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/input"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// RenewParams are the parameters of [Service.Renew].
type RenewParams struct {
	ID string `json:"-"`
	// Exactly one of ExpiresAt and Duration must be set.
	ExpiresAt *time.Time `json:"expires_at" validate:"omitempty,instant" wire:"nullable"`
	Duration  Duration   `json:"duration"`
	// From is the start of Duration. Default: [FromLater].
	From    RenewFrom `json:"from" validate:"omitempty,oneof=later expiry now" wire:"filled"`
	Reason  string    `json:"reason" validate:"omitempty,text"` // recorded in the event
	IfMatch []Version `json:"-"`                                // as in [UpdateParams]
}

// A RenewFrom is the start of a renewal's duration.
type RenewFrom string

// The values of RenewFrom.
const (
	FromLater  RenewFrom = "later"  // the later of ExpiresAt and now: no paid time is lost
	FromExpiry RenewFrom = "expiry" // the license's ExpiresAt
	FromNow    RenewFrom = "now"
)

// Renew moves ExpiresAt to a later time, whether or not it has passed. It
// returns a [*MoveError] if the license is revoked, and an [*InvalidError]
// for "expires_at" if the license has no ExpiresAt or the new one is not
// later. To shorten a license or to set a first expiry, use
// [Service.Update]. Other errors are those of [Service.Suspend].
func (s *Service) Renew(ctx context.Context, p RenewParams) (License, error) {
	return s.edit(ctx, edit{
		verb:    "renew",
		event:   EventLicenseRenewed,
		reason:  p.Reason,
		find:    func(r store.Reader) (record.License, error) { return s.find(ctx, r, p.ID) },
		ifMatch: p.IfMatch,
		apply: func(l License, next *record.License, now time.Time) error {
			if err := p.check(ctx); err != nil {
				return err
			}
			if next.State == store.StateRevoked {
				return &MoveError{Move: "renew", From: StatusRevoked, To: StatusRevoked}
			}
			if l.ExpiresAt == nil {
				return Invalid("expires_at", CodeOutOfRange, "the license does not expire; set expires_at with an update")
			}
			end := p.end(*l.ExpiresAt, now)
			fields := l.params()
			fields.ExpiresAt = &end
			if err := fields.check(ctx); err != nil {
				return err
			}
			if !fields.ExpiresAt.After(*l.ExpiresAt) {
				return Invalid("expires_at", CodeOutOfRange, "must be later than the current expires_at")
			}
			fields.write(next)
			return nil
		},
	})
}

// check checks what does not depend on the license.
func (p RenewParams) check(ctx context.Context) error {
	broken := checkTags(ctx, p)
	if len(input.Errors(ctx, nil)) == 0 && (p.ExpiresAt == nil) == p.Duration.IsZero() {
		broken = append(broken, FieldError{Field: "expires_at", Code: CodeRequired, Detail: "set either expires_at or duration"})
	}
	if !p.Duration.inBounds() {
		broken = append(broken, FieldError{Field: "duration", Code: CodeOutOfRange, Detail: "must not have a negative part or a part of more than eight digits"})
	}
	if len(broken) > 0 {
		return &InvalidError{Fields: broken}
	}
	return nil
}

// end returns the new ExpiresAt.
func (p RenewParams) end(expiry, now time.Time) time.Time {
	switch {
	case p.ExpiresAt != nil:
		return *p.ExpiresAt
	case p.From == FromExpiry, p.From != FromNow && expiry.After(now):
		return p.Duration.AddTo(expiry)
	}
	return p.Duration.AddTo(now)
}
