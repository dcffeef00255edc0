package license

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/record"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// MaxFileLifetime is the longest lifetime of a license file, for operators and
// API clients.
const MaxFileLifetime = 10 * 365 * 24 * time.Hour

// IssueFileParams are the parameters of [Service.IssueFile].
type IssueFileParams struct {
	// Exactly one of LicenseID and Key names the license. A caller with the
	// key gets files of at most License.OfflineSeconds.
	LicenseID string `json:"-"`
	Key       string `json:"-"` // as typed; see [ParseKey]

	// Lifetime is how long the file is valid at most: it never outlives the
	// license with its grace period. Zero: the longest that a caller with the
	// key gets.
	Lifetime Duration `json:"lifetime"`

	// At most one of the next three says what the file is bound to. A license
	// with MaxActivations needs one of them. A fingerprint without an active
	// activation is activated.
	Fingerprint  string `json:"fingerprint" validate:"omitempty,text" wire:"filled"`
	ActivationID string `json:"activation_id" wire:"filled"`
	Request      string `json:"request" wire:"filled"` // the text of a [licensefile.Request], which has a nonce

	ProductID string `json:"product_id" validate:"omitempty,text" wire:"filled"` // if set, the license must be for this product
	// Nonce is put into the file, so that the program knows that the file
	// answers its request: at most 64 letters, digits, dashes and underscores.
	Nonce string `json:"nonce" validate:"omitempty,nonce" wire:"filled"`
}

// A File is a license file that was issued. Its JSON form is the API's.
type File struct {
	Object     string      `json:"object"` // always "license_file"
	ID         string      `json:"id"`     // the jti of the file
	LicenseID  string      `json:"license_id"`
	Generation int64       `json:"generation"` // of the license
	IssuedAt   time.Time   `json:"issued_at"`
	ExpiresAt  time.Time   `json:"expires_at"`
	Activation *Activation `json:"activation"` // which the file is bound to; nil: to none
	// File is the text in answers of the API. In Go it is empty: sign FileClaims
	// with Handler.Files().Sign, after the Update has been committed.
	File string `json:"file,omitempty"`

	claims *licensefile.Claims
}

// FileClaims returns the claims of the file.
func (f File) FileClaims() *licensefile.Claims { return f.claims }

// ErrNoFile: the license admits no file. Always a [*NoFileError].
var ErrNoFile = errors.New("the license admits no file")

// A NoFileError says why a valid license admits no file.
type NoFileError struct{ Reason Reason }

func (e *NoFileError) Error() string { return e.Reason.Detail }

// Is makes errors.Is(e, ErrNoFile) true.
func (e *NoFileError) Is(target error) bool { return target == ErrNoFile }

// The codes of the reason why a valid license admits no file. Another is
// [VerdictActivationLimit]: the license has more active activations than seats.
const (
	FileOfflineForbidden VerdictCode = "offline_forbidden" // License.OfflineSeconds is 0
	FileTooLarge         VerdictCode = "file_too_large"    // the entitlements do not fit
)

// IssueFile issues a license file: it holds the seat of the activation until
// the file has expired, and appends a license_file.issued event. If an earlier
// file holds the seat for nine tenths of the lifetime already, the file expires
// with that one, and nothing is written.
//
// Sign the FileClaims of the result with Handler.Files().Sign: they must be
// signed after the Update has been committed, never inside Atomically or Once.
//
// It returns [ErrNotFound], a [*DeniedError] if the license is not valid or has
// no free seat, a [*NoFileError], or an [*InvalidError].
func (s *Service) IssueFile(ctx context.Context, p IssueFileParams) (File, error) {
	ask, err := p.check(ctx)
	if err != nil {
		return File{}, fmt.Errorf("issue file: %w", err)
	}
	if p.Key != "" {
		s, ask.holder = s.asHolder(), true
	}
	a := ActivateParams{Fingerprint: p.Fingerprint}
	find := func(r store.Reader, now time.Time) (facts, error) { return s.findForFile(ctx, r, p, &a, ask, now) }
	v, err := s.offerActive(ctx, find, &a, ask)
	if err == nil && v.claims == nil && v.FileReason == nil {
		v, err = s.activateAll(ctx, find, &a, ask)
	}
	if err == nil && v.FileReason != nil {
		err = &NoFileError{*v.FileReason}
	}
	if refused, ok := errors.AsType[*NoFileError](err); ok && refused.Reason.Code == FileTooLarge {
		err = Invalid("entitlements", CodeTooMany, refused.Reason.Detail)
	}
	if err != nil {
		return File{}, fmt.Errorf("issue file: %w", err)
	}
	c := v.claims
	return File{
		Object: "license_file", ID: c.ID, LicenseID: c.LicenseID, Generation: c.Generation,
		IssuedAt: c.IssuedAt, ExpiresAt: c.ExpiresAt, Activation: v.Activation, claims: c,
	}, nil
}

// check checks what does not depend on the license. It reads the request text.
func (p *IssueFileParams) check(ctx context.Context) (*fileAsk, error) {
	broken := checkTags(ctx, *p)
	fail := func(field, code, detail string) {
		broken = append(broken, FieldError{Field: field, Code: code, Detail: detail})
	}
	if (p.LicenseID == "") == (p.Key == "") {
		fail("license_id", CodeRequired, "name the license by its id or its key")
	}
	bound := 0
	for _, value := range []string{p.Fingerprint, p.ActivationID, p.Request} {
		if value != "" {
			bound++
		}
	}
	if bound > 1 {
		fail("fingerprint", CodeImmutable, "give only one of fingerprint, activation_id and request")
	}
	if p.Request != "" && p.Nonce != "" {
		fail("nonce", CodeImmutable, "cannot be combined with request, which has a nonce")
	}
	if !p.Lifetime.inBounds() || p.Key == "" && lifetimeOf(p.Lifetime, time.Unix(0, 0)) > MaxFileLifetime {
		fail("lifetime", CodeOutOfRange, "must be at most 10 years")
	}
	if len(broken) > 0 {
		return nil, &InvalidError{Fields: broken}
	}
	return &fileAsk{lifetime: p.Lifetime, nonce: p.Nonce, issue: true}, nil
}

// findForFile finds the license and the fingerprint that a file is for, and
// checks that the license is valid.
func (s *Service) findForFile(ctx context.Context, r store.Reader, p IssueFileParams, a *ActivateParams, ask *fileAsk, now time.Time) (f facts, err error) {
	a.Key, a.ProductID = p.Key, p.ProductID
	if p.Key != "" {
		f, err = s.admit(ctx, r, *a, now)
	} else {
		f, err = s.admitByID(ctx, r, p.LicenseID, *a, now)
	}
	switch {
	case err != nil:
		return facts{}, err
	case p.ActivationID != "":
		row, err := seat(ctx, r, f.license.ID, p.ActivationID)
		if err != nil {
			return facts{}, err
		}
		a.Fingerprint, f.seat, f.seated = row.Fingerprint, row, true
		if !f.holdsSeat() {
			return admitted(question{fingerprint: row.Fingerprint}, f)
		}
	case p.Request != "":
		request, err := licensefile.ParseRequest(p.Request)
		if err != nil {
			return facts{}, Invalid("request", CodeInvalidFormat, "must be the whole request text of the program")
		}
		if request.KeyHash != "" && request.KeyHash != licensefile.KeyHash(f.license.Key) {
			return facts{}, Invalid("request", CodeUnknown, "is of a program with another license key")
		}
		if wrong := checkValue("request", request.Fingerprint, 1, maxFingerprint); wrong != nil {
			wrong.Detail = "has a fingerprint that " + wrong.Detail
			return facts{}, &InvalidError{Fields: []FieldError{*wrong}}
		}
		a.Fingerprint, ask.nonce = request.Fingerprint, request.Nonce
	}
	if a.Fingerprint == "" && f.license.MaxActivations >= 0 {
		return facts{}, errFileUnbound
	}
	return f, nil
}

const maxFingerprint = 255 // characters

// errFileUnbound is the error of a file without a fingerprint for a license
// that limits activations.
var errFileUnbound = Invalid("fingerprint", CodeRequired, "is required: a file of a license with max_activations is for one activation")

// admitByID is admit for a license that is named by its ID.
func (s *Service) admitByID(ctx context.Context, r store.Reader, id string, p ActivateParams, now time.Time) (facts, error) {
	rec, err := s.find(ctx, r, id)
	if err != nil {
		return facts{}, err
	}
	return admitted(question{productID: p.ProductID}, facts{at: now, license: rec, found: true})
}

// A fileAsk is what a file is asked for.
type fileAsk struct {
	lifetime Duration // zero: the longest for a license key holder
	nonce    string
	holder   bool // a license key holder asks
	issue    bool // from IssueFile: nothing but the file is asked for
}

// askFor returns what the members file and nonce of a request with a license
// key ask for; nil: no file.
func askFor(lifetime Duration, nonce string) (*fileAsk, error) {
	switch {
	case !lifetime.inBounds():
		return nil, Invalid("file", CodeOutOfRange, "must not have a negative part or a part of more than eight digits")
	case !lifetime.IsZero():
		return &fileAsk{lifetime: lifetime, nonce: nonce, holder: true}, nil
	case nonce != "":
		return nil, Invalid("nonce", CodeUnknown, "is only allowed with file; omit it")
	}
	return nil, nil
}

// lifetimeOf returns how long a lifetime is at an instant.
func lifetimeOf(d Duration, now time.Time) time.Duration { return d.AddTo(now).Sub(now) }

// longestFile returns the longest lifetime of a file for a license key holder.
func (s *Service) longestFile(l record.License) time.Duration {
	if l.OfflineSeconds >= 0 {
		return time.Duration(l.OfflineSeconds) * time.Second
	}
	return s.opts.MaxOffline
}

// surelyFits is a size of entitlements, in bytes, below which every file fits
// into licensefile.MaxSize: base64 makes four bytes of three, and the other
// claims have less than 8 KiB.
const surelyFits = 16 << 10

// An offer is a file that may be signed once what it needs has been written.
type offer struct {
	claims  *licensefile.Claims // nil: no file
	refused *Reason             // why not
	hold    time.Time           // until when to hold the seat; zero: it is held already
	until   time.Time           // until when the license has files; zero: that is known already
}

// writes reports whether the offer needs something that is not stored.
func (o offer) writes() bool { return !o.hold.IsZero() || !o.until.IsZero() }

// offerFile returns the file for the valid verdict v on f. It writes nothing.
func (s *Service) offerFile(ctx context.Context, r store.Reader, f facts, v Verdict, ask fileAsk) (o offer, err error) {
	longest := s.longestFile(f.license)
	if ask.holder && longest <= 0 {
		o.refused = &Reason{FileOfflineForbidden, "The license does not admit license files."}
		return o, nil
	}
	lifetime := longest
	if !ask.lifetime.IsZero() {
		lifetime = lifetimeOf(ask.lifetime, f.at)
	}
	if ask.holder {
		lifetime = min(lifetime, longest)
	}
	exp := f.at.Add(min(lifetime, MaxFileLifetime))
	if !f.license.ExpiresAt.IsZero() && graceEnd(f.license).Before(exp) {
		exp = graceEnd(f.license)
	}
	exp = exp.Truncate(time.Second)
	if f.seated {
		held := f.seat.HeldUntil.Add(-licensefile.Leeway).Truncate(time.Second)
		switch {
		case f.seat.HeldGeneration != generation(f.license): // the license may have been limited since
			o.hold = holdFor(exp)
		case !held.Before(exp):
		case held.Sub(f.at) >= exp.Sub(f.at)*9/10:
			exp = held
		default:
			o.hold = holdFor(exp)
		}
		if !o.hold.IsZero() && o.hold.Before(f.seat.HeldUntil) {
			o.hold = f.seat.HeldUntil // it only grows
		}
	}
	if !o.hold.IsZero() {
		if o.refused, err = overLimit(ctx, r, f); err != nil || o.refused != nil {
			return offer{refused: o.refused}, err
		}
	}
	if !o.hold.IsZero() || !f.seated {
		known, err := filesUntil(ctx, r, f.license.ID)
		if err != nil {
			return offer{}, err
		}
		if end := holdFor(exp); known.Before(end) {
			o.until = end.Add(exp.Sub(f.at) / 10).Truncate(time.Millisecond)
		}
	}
	o.claims = &licensefile.Claims{
		ID: rand.Text(), Issuer: s.opts.FileIssuer, LicenseID: f.license.ID, ProductID: f.license.ProductID, Generation: generation(f.license),
		IssuedAt: f.at.Truncate(time.Second), NotBefore: f.at.Truncate(time.Second), ExpiresAt: exp, LicenseExpiresAt: f.license.ExpiresAt,
		Entitlements: v.License.Entitlements, RecheckAfter: v.RecheckAfter, Nonce: ask.nonce,
	}
	if f.seated {
		o.claims.ActivationID = f.seat.ID
		o.claims.FingerprintHash = licensefile.FingerprintHash(f.license.ID, f.seat.Fingerprint)
	}
	if !exp.After(o.claims.IssuedAt) {
		return offer{refused: &Reason{VerdictExpired, "The license ends now."}}, nil
	}
	if len(f.license.Entitlements) < surelyFits {
		return o, nil
	}
	if err := o.claims.Validate(); errors.Is(err, licensefile.ErrTooLarge) {
		return offer{refused: &Reason{FileTooLarge, "The entitlements of the license do not fit into a license file."}}, nil
	} else if err != nil {
		return offer{}, err
	}
	return o, nil
}

// overLimit returns the reason not to hold another seat of a license that has
// more active activations than seats, because its limit was lowered.
func overLimit(ctx context.Context, r store.Reader, f facts) (*Reason, error) {
	if f.license.MaxActivations < 0 {
		return nil, nil
	}
	if err := f.countSeats(ctx, r, f.license.ID); err != nil || int64(f.taken) <= f.license.MaxActivations {
		return nil, err
	}
	return &Reason{VerdictActivationLimit, fmt.Sprintf("The license has %d seats and more active activations, so it admits no new license file.", f.license.MaxActivations)}, nil
}

// take adds an offer to a verdict, once it needs nothing else.
func (v *Verdict) take(o offer) { v.claims, v.FileReason = o.claims, o.refused }

// commit writes what an offer needs: the hold, the event, and until when the
// license has files.
func (s *Service) commit(ctx context.Context, tx *transaction, f *facts, v *Verdict, o offer) error {
	v.take(o)
	if !o.writes() {
		return nil
	}
	if !o.hold.IsZero() {
		hold(&f.seat, o.hold, o.claims.Generation)
		if err := tx.PutActivations(ctx, f.seat.Row()); err != nil {
			return err
		}
		v.Activation.HeldUntil = &o.hold
	}
	if !o.until.IsZero() {
		err := tx.PutEntries(ctx, store.Entry{Kind: filesKind, Key: f.license.ID, ExpiresAt: o.until, CreatedAt: tx.now})
		if err != nil {
			return err
		}
	}
	return s.append(ctx, tx, EventFileIssued, *v.License, EventData{Activation: v.Activation, File: &EventFile{
		ID: o.claims.ID, Generation: o.claims.Generation, ExpiresAt: o.claims.ExpiresAt,
	}})
}

// offerActive offers a file without writing. The verdict has no claims and no
// reason if something must be written first.
func (s *Service) offerActive(ctx context.Context, find func(store.Reader, time.Time) (facts, error), a *ActivateParams, ask *fileAsk) (v Verdict, err error) {
	err = s.view(ctx, func(r store.Reader) error {
		f, err := find(r, s.now())
		if err != nil {
			return err
		}
		if a.Fingerprint != "" {
			if err := f.findActivation(ctx, r, a.Fingerprint); err != nil || !f.holdsSeat() {
				return err
			}
		}
		if v, err = evaluate(question{fingerprint: a.Fingerprint}, f); err != nil {
			return err
		}
		o, err := s.offerFile(ctx, r, f, v, *ask)
		if err == nil && !o.writes() {
			v.take(o)
		}
		return err
	})
	return v, err
}
