package license

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// Validate reports whether the license with the given key is valid now. An
// unknown key yields a verdict, not an error. Validate returns an
// [*api.InvalidError] or a wrapped store error.
//
// With a fingerprint, Validate also checks its activation. If nothing about
// the license's state and scope is wrong, it renews the activation: with
// LeaseSeconds, the lease starts again if a tenth of it has passed. An ended
// lease is never renewed. A validation that renews nothing writes nothing; but
// see [Service.Refusals].
func (s *Service) Validate(ctx context.Context, p api.ValidateKeyParams) (VerdictWithFile, error) {
	v, err := s.seats().Validate(ctx, p)
	return VerdictWithFile{v.Verdict, v.Claims}, err
}

// Explain returns the verdict that Validate would return at any instant,
// past or future, based on the license and activations as recorded now. It
// writes and renews nothing. It returns [api.ErrNotFound] or an [*api.InvalidError].
func (s *Service) Explain(ctx context.Context, p api.ExplainLicenseParams) (api.Verdict, error) {
	return s.seats().Explain(ctx, p)
}

// ValidateCustomer reports whether a customer has a license that is valid
// now, without a license key or an activation. It returns the verdict on the
// newest valid license; if none is valid, the verdict on the newest license;
// and if the customer has no license for the product, [api.VerdictNotFound]. It
// writes nothing. It returns an [*api.InvalidError] or a wrapped store error.
//
// For a customer with more than 50 licenses, it prefers licenses that have
// not expired to those in grace, and reads the newest 1,000 of each.
func (s *Service) ValidateCustomer(ctx context.Context, p api.ValidateCustomerParams) (api.Verdict, error) {
	return s.seats().ValidateCustomer(ctx, p)
}

// Activate activates a fingerprint on the license with the given key and
// returns the resulting verdict. Activating an active fingerprint again
// renews its activation. A fingerprint whose activation was released or
// evicted, or whose lease has ended, gets a new activation if a seat is free.
//
// A license with MaxActivations k never has more than k active activations,
// however many calls run concurrently. If k is lowered below the number in
// use, existing activations stay, and no new one is admitted, not even with
// TakeOver.
//
// Activate returns a [*api.DeniedError] if the license does not allow the
// activation, a [*api.SeatHeldError] if a license file holds the seat to take over,
// or an [*api.InvalidError]. Events carry the Caller's Actor, or
// "license:" and the license ID if the Caller has none.
func (s *Service) Activate(ctx context.Context, p api.ActivateKeyParams) (VerdictWithFile, error) {
	v, err := s.seats().Activate(ctx, p)
	return VerdictWithFile{v.Verdict, v.Claims}, err
}

// Deactivate releases the activation of a fingerprint, whatever the state of
// the license. An activation that has already ended is returned unchanged.
// It returns an [*api.InvalidError], [api.ErrNotFound] for an unknown key or
// fingerprint, or a [*api.SeatHeldError]. Events name the actor as in [Service.Activate].
// With an ActivationID it does what [Service.ReleaseActivation] does for a license
// key holder.
func (s *Service) Deactivate(ctx context.Context, p api.DeactivateKeyParams) (api.Activation, error) {
	return s.seats().Deactivate(ctx, p)
}

// ReleaseActivation releases an activation on behalf of an operator, an API
// client or, with Options.KeyHolderSeats, a license key holder. An
// activation that has already ended is returned unchanged. It returns
// [api.ErrNotFound], an [*api.InvalidError], [api.ErrForbidden] or a [*api.SeatHeldError].
func (s *Service) ReleaseActivation(ctx context.Context, p api.ReleaseActivationParams) (api.Activation, error) {
	return s.seats().ReleaseActivation(ctx, p)
}

// ListActivations returns a page of a license's activations, oldest first.
// Ended activations are kept for at least 30 days. It returns [api.ErrNotFound],
// an [*api.InvalidError] or [api.ErrForbidden]. Cursors work as in [Service.List].
func (s *Service) ListActivations(ctx context.Context, p api.ListActivationsParams) (api.Page[api.Activation], error) {
	return s.find().ListActivations(ctx, p)
}

// IssueFile issues a license file: it holds the seat of the activation until
// the file has expired, and appends a license_file.issued event, unless the last
// file that was recorded for the activation differs only in its times and its
// nonce. If an earlier file holds the seat for nine tenths of the lifetime
// already, the file expires with that one, and nothing is written.
//
// Sign the FileClaims of the result with Handler.Files().Sign: they must be
// signed after the Update has been committed, never inside Atomically or Once.
//
// It returns [api.ErrNotFound], a [*api.DeniedError] if the license is not valid or has
// no free seat, a [*api.NoFileError], or an [*api.InvalidError].
func (s *Service) IssueFile(ctx context.Context, p api.IssueFileParams) (File, error) {
	f, err := s.seats().IssueFile(ctx, p)
	return File{f.LicenseFile, f.Claims}, err
}

// A File is a license file that was issued. Its text is empty: sign FileClaims
// with Handler.Files().Sign, after the Update has been committed.
type File struct {
	api.LicenseFile
	claims *licensefile.Claims
}

// FileClaims returns the claims of the file.
func (f File) FileClaims() *licensefile.Claims { return f.claims }

// A VerdictWithFile is a verdict with the license file that the call asked for.
type VerdictWithFile struct {
	api.Verdict
	claims *licensefile.Claims
}

// FileClaims returns the claims of the license file; nil: there is none. Sign them
// with Handler.Files().Sign, after the Update has been committed.
func (v VerdictWithFile) FileClaims() *licensefile.Claims { return v.claims }
