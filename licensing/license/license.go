package license

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
)

// Create adds a license and appends a license.created event. It returns an
// [*api.InvalidError], [api.ErrProductForbidden], [api.ErrKeyTaken], or the error of
// Options.BeforeCreate.
//
// A base purchase of the license takes it over; when that is refunded, the license gets its
// terms back. If the customer should keep a license after a subscription ends, record a
// purchase without an end instead.
func (s *Service) Create(ctx context.Context, p api.CreateLicenseParams) (api.License, error) {
	return s.licenses().Create(ctx, p)
}

// CreateBatch adds up to [api.MaxBatch] licenses that are alike but for ID and key, in one
// Update, and appends a license.created event for each. Options.BeforeCreate runs once for
// each license, before the Update. Give licenses that no customer has yet a customer ID of
// their own, such as "batch:spring": they can be listed, suspended and erased together. It
// returns an [*api.InvalidError] for "count" if the licenses would be longer than 512 KiB of
// JSON together; other errors are those of [Service.Create].
func (s *Service) CreateBatch(ctx context.Context, p api.CreateBatchParams) (api.Batch, error) {
	return s.licenses().CreateBatch(ctx, p)
}

// Get returns the license with the given ID, or [api.ErrNotFound].
func (s *Service) Get(ctx context.Context, id string) (api.License, error) {
	return s.licenses().Get(ctx, id)
}

// Update changes the fields that p sets and appends a license.updated event
// with the changes. If nothing changes, it writes nothing and keeps the
// revision. When LeaseSeconds is set or shortened, activations that are not
// renewed end within a day plus the new lease; the leases of many activations are
// shortened in batches after the change, and by Run if that is interrupted. Another
// CustomerID is a correction: the same customer keeps everything, the purchases of the
// license get the ID, and so does its trial, unless the ID has one. To give the license
// to another customer, use [Service.Transfer]. It returns [api.ErrNotFound], an
// [*api.AmbiguousError], a [*api.StaleError], an [*api.InvalidError] or, if the license would move
// to a product outside the caller's limit, [api.ErrProductForbidden].
func (s *Service) Update(ctx context.Context, p api.UpdateLicenseParams) (api.License, error) {
	return s.licenses().Update(ctx, p)
}

// Renew moves ExpiresAt or UpdatesUntil to a later time, whether or not it has
// passed. It returns a [*api.StateError] if the license is revoked, and an [*api.InvalidError]
// for "expires_at" or "updates_until" if the license has none or the new one is not
// later. To shorten a license or to set a first expiry, use
// [Service.Update]. Other errors are those of [Service.Suspend].
func (s *Service) Renew(ctx context.Context, p api.RenewLicenseParams) (api.License, error) {
	return s.licenses().Renew(ctx, p)
}

// Suspend makes a license invalid until it is reinstated. Its activations
// stay, and their leases run out. Expired and scheduled licenses can be
// suspended too. It returns a [*api.StateError] if the license is already
// suspended or revoked, [api.ErrNotFound], a [*api.StaleError] or an
// [*api.InvalidError].
func (s *Service) Suspend(ctx context.Context, p api.ChangeStateParams) (api.License, error) {
	return s.licenses().Suspend(ctx, p)
}

// Reinstate ends a suspension. It returns a [*api.StateError] if the license is
// not suspended; other errors are those of [Service.Suspend].
func (s *Service) Reinstate(ctx context.Context, p api.ChangeStateParams) (api.License, error) {
	return s.licenses().Reinstate(ctx, p)
}

// Revoke makes a license permanently invalid and keeps its record. It
// returns a [*api.StateError] if the license is already revoked; other errors are
// those of [Service.Suspend].
func (s *Service) Revoke(ctx context.Context, p api.ChangeStateParams) (api.License, error) {
	return s.licenses().Revoke(ctx, p)
}

// Rekey replaces the key of a license, for instance after a leak. The old
// key becomes unknown; activations stay. It returns a [*api.StateError] if the
// license is revoked, [api.ErrKeyTaken] if another license has the key, and an
// [*api.InvalidError] for "key" if the key is the current one; other errors are
// those of [Service.Suspend].
func (s *Service) Rekey(ctx context.Context, p api.RekeyLicenseParams) (api.License, error) {
	return s.licenses().Rekey(ctx, p)
}

// VoidFiles raises the generation of a license, so that all its files are
// refused once programs see the next revocation list, and appends a
// license_file.voided event with the reason. Seats stay held until the files
// expire. Programs that reach the service get new files.
// Errors are those of [Service.Suspend], except for [*api.StateError].
func (s *Service) VoidFiles(ctx context.Context, p api.ChangeStateParams) (api.License, error) {
	return s.licenses().VoidFiles(ctx, p)
}

// NewKey returns a new license key: five groups of five Crockford base32
// characters, such as "8X2KQ-…", with 120 random bits and a check character
// at the end.
func NewKey() string { return call.NewKey() }

// ParseKey parses a generated key as people type it: in any case, with I and
// L for 1 and O for 0, with any spaces, dashes, dots, underscores or invisible
// characters between the characters, which may be full-width, and with quotes,
// brackets or punctuation around it. It returns the key in the form of [NewKey]. It
// returns false if the check character does not match; that catches any
// single wrong character and any two swapped characters.
func ParseKey(s string) (key string, ok bool) { return call.ParseKey(s) }
