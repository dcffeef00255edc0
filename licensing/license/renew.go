package license

import (
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/input"
	"github.com/seed-d8a106b4/licensekit/store"
)

// RenewParams say which license gets a later end, and which.
type RenewParams struct {
	ID string `json:"-"`
	// Exactly one of ExpiresAt and Duration is set.
	ExpiresAt *time.Time `json:"expires_at" validate:"omitempty,instant" wire:"nullable"`
	Duration  Duration   `json:"duration"`
	// From is where Duration begins. Default: [FromLater].
	From    RenewFrom `json:"from" validate:"omitempty,oneof=later expiry now" wire:"filled"`
	Reason  string    `json:"reason" validate:"omitempty,text"` // stands in the event
	IfMatch []Version `json:"-"`                                // as in [UpdateParams]
}

// A RenewFrom says where the duration of a renewal begins.
type RenewFrom string

// The places where the duration of a renewal can begin.
const (
	FromLater  RenewFrom = "later"  // the later of both, so that neither paid time nor time past is counted
	FromExpiry RenewFrom = "expiry" // the license's ExpiresAt
	FromNow    RenewFrom = "now"
)

// Renew moves the end of a license to a later time, whether or not it has
// passed. A license that is revoked is a [*MoveError]. An end that is not
// later than the present one, or a license that has none, is an
// [*InvalidError] about "expires_at"; to shorten a license, or to make an
// unlimited one end, set ExpiresAt with Update. Other errors are as of
// [Service.Suspend].
func (s *Service) Renew(ctx context.Context, p RenewParams) (License, error) {
	return s.edit(ctx, edit{
		verb:    "renew",
		event:   EventLicenseRenewed,
		reason:  p.Reason,
		find:    func(r store.Reader) (store.License, error) { return s.find(ctx, r, p.ID) },
		ifMatch: p.IfMatch,
		apply: func(l License, next *store.License, now time.Time) error {
			if err := p.check(ctx); err != nil {
				return err
			}
			if next.State == store.StateRevoked {
				return &MoveError{Move: "renew", From: StatusRevoked, To: StatusRevoked}
			}
			if l.ExpiresAt == nil {
				return Invalid("expires_at", CodeOutOfRange, "the license has no end that could be renewed; set one with an update")
			}
			end := p.end(*l.ExpiresAt, now)
			fields := l.params()
			fields.ExpiresAt = &end
			if err := fields.check(ctx); err != nil {
				return err
			}
			if !fields.ExpiresAt.After(*l.ExpiresAt) {
				return Invalid("expires_at", CodeOutOfRange, "must be later than the license's present end")
			}
			fields.write(next)
			return nil
		},
	})
}

// check checks what can be said without the license.
func (p RenewParams) check(ctx context.Context) error {
	broken := checkTags(ctx, p)
	if len(input.Errors(ctx, nil)) == 0 && (p.ExpiresAt == nil) == p.Duration.IsZero() {
		broken = append(broken, FieldError{Field: "expires_at", Code: CodeRequired, Detail: "give either the new end or a duration"})
	}
	if !p.Duration.inBounds() {
		broken = append(broken, FieldError{Field: "duration", Code: CodeOutOfRange, Detail: "must have no negative part, and none of more than eight digits"})
	}
	if len(broken) > 0 {
		return &InvalidError{Fields: broken}
	}
	return nil
}

// end returns the new end of a license.
func (p RenewParams) end(expiry, now time.Time) time.Time {
	switch {
	case p.ExpiresAt != nil:
		return *p.ExpiresAt
	case p.From == FromExpiry, p.From != FromNow && expiry.After(now):
		return p.Duration.AddTo(expiry)
	}
	return p.Duration.AddTo(now)
}
