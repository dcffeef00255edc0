package seats

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// maxFileLifetime is the longest lifetime of a license file that operators and
// API clients can ask for: ten calendar years, whatever their leap years.
var maxFileLifetime = api.Duration{Years: 10}

// minFileLifetime is the shortest lifetime of a license file that a request can
// ask for. Programs do not ask more often, and each file may write the hold of its
// seat. A license that ends, or allows less offline, still shortens its files.
const minFileLifetime = time.Minute

// A File is a license file that was issued, without its text, which is signed after the
// Update has been committed.
type File struct {
	api.LicenseFile
	Claims *licensefile.Claims
}

// IssueFile issues a license file; see package license.
func (s Service) IssueFile(ctx context.Context, p api.IssueFileParams) (File, error) {
	if err := call.InvalidFields(CheckIssueFile(p)); err != nil {
		return File{}, fmt.Errorf("issue file: %w", err)
	}
	ask := &fileAsk{lifetime: p.Lifetime, nonce: p.Nonce, issue: true, holder: p.Key != "" || s.Owner != nil}
	as := s
	if p.Key != "" {
		as = s.asHolder()
	}
	a := api.ActivateKeyParams{Fingerprint: p.Fingerprint}
	find := func(r store.Reader, now time.Time) (facts, error) { return as.findForFile(ctx, r, p, &a, ask, now) }
	var v VerdictWithFile
	var err error
	if ask.office, err = readOfficeRequest(p); err != nil {
		return File{}, fmt.Errorf("issue file: %w", err)
	}
	if ask.office != nil {
		if err = as.countOffice(ctx, p, ask.office); err == nil {
			v, err = as.issueOffice(ctx, find, a, ask)
		}
	} else {
		v, err = as.offerActive(ctx, find, &a, ask)
	}
	if err == nil && v.Claims == nil && v.FileReason == nil {
		v, err = as.activate(ctx, find, &a, ask, Occasion{})
	}
	if err == nil && v.FileReason != nil {
		err = &api.NoFileError{Reason: *v.FileReason}
	}
	if refused, ok := errors.AsType[*api.NoFileError](err); ok && refused.Reason.Code == api.VerdictFileTooLarge {
		err = api.Invalid("entitlements", api.FieldTooMany, refused.Reason.Detail)
	}
	if err != nil {
		return File{}, fmt.Errorf("issue file: %w", err)
	}
	c := v.Claims
	return File{api.LicenseFile{
		Object: "license_file", ID: c.ID, LicenseID: c.LicenseID, Generation: c.Generation,
		IssuedAt: c.IssuedAt, ExpiresAt: c.ExpiresAt, Activation: v.Activation,
	}, c}, nil
}

// CheckIssueFile checks what does not depend on the license.
func CheckIssueFile(p api.IssueFileParams) []api.FieldError {
	broken := call.CheckTags(p)
	fail := func(field, code, detail string) {
		broken = append(broken, api.FieldError{Field: field, Code: code, Detail: detail})
	}
	if (p.LicenseID == "") == (p.Key == "") {
		fail("license_id", api.FieldRequired, "must be set, or key, and not both")
	}
	bound := 0
	for _, value := range []string{p.Fingerprint, p.ActivationID, p.Request} {
		if value != "" {
			bound++
		}
	}
	if bound > 1 {
		fail("fingerprint", api.FieldImmutable, "give only one of fingerprint, activation_id and request")
	}
	if p.Request != "" && p.Nonce != "" {
		fail("nonce", api.FieldImmutable, "cannot be combined with request, which has a nonce")
	}
	switch epoch := time.Unix(0, 0); {
	case !call.InBounds(p.Lifetime) || p.Key == "" && lifetimeOf(p.Lifetime, epoch) > lifetimeOf(maxFileLifetime, epoch):
		fail("lifetime", api.FieldOutOfRange, "must be at most 10 years")
	case tooShort(p.Lifetime):
		fail("lifetime", api.FieldOutOfRange, "must be at least a minute")
	}
	return broken
}

// findForFile finds the license and the fingerprint that a file is for, and
// checks that the license is valid.
func (s Service) findForFile(ctx context.Context, r store.Reader, p api.IssueFileParams, a *api.ActivateKeyParams, ask *fileAsk, now time.Time) (f facts, err error) {
	a.Key, a.ProductID = p.Key, p.ProductID
	if p.Key != "" {
		f, err = s.findValid(ctx, r, *a, now)
	} else {
		f, err = s.findValidByID(ctx, r, p.LicenseID, *a, now)
	}
	switch {
	case err != nil:
		return facts{}, err
	case p.ActivationID != "":
		row, err := seat(ctx, r, f.license.ID, p.ActivationID)
		if err != nil {
			return facts{}, err
		}
		if call.IsOfficeSeat(row.Fingerprint) {
			return facts{}, api.Invalid("activation_id", api.FieldUnknown, "is a seat of an office, which gets its file for its request")
		}
		a.Fingerprint, f.fingerprint, f.seat, f.seated = row.Fingerprint, row.Fingerprint, row, true
		if !f.holdsSeat() {
			return f.ifValid(question{fingerprint: row.Fingerprint})
		}
	case ask.office != nil:
		return f, ofLicense(ask.office, f.license)
	case p.Request != "":
		request, err := licensefile.ParseRequest(p.Request)
		if err != nil {
			return facts{}, api.Invalid("request", api.FieldInvalidFormat, "must be the whole request text of the program")
		}
		if request.KeyHash != "" && request.KeyHash != licensefile.KeyHash(f.license.Key) {
			return facts{}, errAnotherKey
		}
		if wrong := call.CheckValue("request", request.Fingerprint, 1, maxFingerprint); wrong != nil {
			wrong.Detail = "has a fingerprint that " + wrong.Detail
			return facts{}, &api.InvalidError{Fields: []api.FieldError{*wrong}}
		}
		if call.IsOfficeSeat(request.Fingerprint) {
			return facts{}, api.Invalid("request", api.FieldInvalidFormat, "has a fingerprint that marks a seat of an office")
		}
		a.Fingerprint, ask.nonce = request.Fingerprint, request.Nonce
	}
	if a.Fingerprint == "" && f.license.MaxActivations >= 0 {
		return facts{}, errFileUnbound
	}
	return f, nil
}

const maxFingerprint = 255

// errAnotherKey is the error of a request that is not for the license.
var errAnotherKey = api.Invalid("request", api.FieldUnknown, "was made with another license key")

// errFileUnbound is the error of a file without a fingerprint for a license
// that limits activations.
var errFileUnbound = api.Invalid("fingerprint", api.FieldRequired, "is required: a file of a license with max_activations is for one activation")

// findValidByID is findValid for a license that is named by its ID.
func (s Service) findValidByID(ctx context.Context, r store.Reader, id string, p api.ActivateKeyParams, now time.Time) (facts, error) {
	rec, err := licenses.Of(s.Call).Find(ctx, r, id)
	if err != nil {
		return facts{}, err
	}
	f := s.facts(now)
	f.license, f.found = s.lendable(rec), true
	return f.ifValid(question{productID: p.ProductID})
}
