package licenses

import (
	"bytes"
	"context"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/revocations"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
	"github.com/seed-d8a106b4/licensekit/store"
)

// outdates reports whether a change of a license makes its earlier files promise too
// much: another key, a later start, or what [terms.Outdates] says.
func outdates(was, is record.License) (bool, error) {
	if was.Key != is.Key || is.StartsAt.After(was.StartsAt) {
		return true, nil
	}
	if samePromise(&was, &is) {
		return false, nil
	}
	before, err := StateOf(was)
	if err != nil {
		return false, err
	}
	after, err := StateOf(is)
	return terms.Outdates(before, after), err
}

// samePromise reports whether what [terms.Outdates] looks at is stored alike, which most
// changes leave alone.
func samePromise(was, is *record.License) bool {
	return was.ProductID == is.ProductID && was.MaxActivations == is.MaxActivations && was.GraceSeconds == is.GraceSeconds &&
		was.ExpiresAt.Equal(is.ExpiresAt) && was.UpdatesUntil.Equal(is.UpdatesUntil) &&
		bytes.Equal(was.Entitlements, is.Entitlements) && bytes.Equal(was.Changes, is.Changes)
}

// VoidFiles raises the generation of a license, so that all its files are refused once
// programs see the next revocation list, and appends a license_file.voided event with the
// reason; see package license.
func (s Service) VoidFiles(ctx context.Context, p api.ChangeStateParams) (api.License, error) {
	if err := call.Check(p); err != nil {
		return api.License{}, err
	}
	return s.Edit(ctx, Edit{
		Verb:    "void files of",
		Event:   api.EventFilesVoided,
		Reason:  p.Reason,
		Find:    func(r store.Reader) (record.License, error) { return s.Find(ctx, r, p.ID) },
		IfMatch: p.IfMatch,
		Apply: func(_ api.License, next *record.License, _ time.Time) error {
			next.Generation = revocations.Generation(*next) + 1
			return nil
		},
	})
}

// FilesUntil returns until when the license files of a license may run: no file
// that was issued expires later, voided files included. The zero time means that
// the license has no files. It returns [api.ErrNotFound].
func (s Service) FilesUntil(ctx context.Context, licenseID string) (until time.Time, err error) {
	err = s.Read(ctx, func(r store.Reader) error {
		if _, err := s.Find(ctx, r, licenseID); err != nil {
			return err
		}
		_, until, err = revocations.FilesOf(ctx, r, licenseID)
		if !until.After(s.Now()) {
			until = time.Time{}
		}
		return err
	})
	return until, err
}
