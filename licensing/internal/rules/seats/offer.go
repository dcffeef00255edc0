package seats

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/revocations"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A fileAsk is what a file is asked for.
type fileAsk struct {
	lifetime api.Duration // zero: the longest for a license key holder
	nonce    string
	holder   bool                       // a license key holder asks
	issue    bool                       // from IssueFile: nothing but the file is asked for
	office   *licensefile.OfficeRequest // which the file answers; nil: it is for a program
}

// askFor returns what the members file and nonce of a request with a license
// key ask for; nil: no file.
func askFor(lifetime api.Duration, nonce string) (*fileAsk, error) {
	switch {
	case !call.InBounds(lifetime):
		return nil, api.Invalid("file", api.FieldOutOfRange, "must not have a negative part or a part of more than eight digits")
	case tooShort(lifetime):
		return nil, api.Invalid("file", api.FieldOutOfRange, "must be at least a minute")
	case !lifetime.IsZero():
		return &fileAsk{lifetime: lifetime, nonce: nonce, holder: true}, nil
	case nonce != "":
		return nil, api.Invalid("nonce", api.FieldUnknown, "is only allowed with file; omit it")
	}
	return nil, nil
}

// lifetimeOf returns how long a lifetime is at an instant.
func lifetimeOf(d api.Duration, now time.Time) time.Duration { return d.AddTo(now).Sub(now) }

// tooShort reports whether a request asks for a file of less than
// minFileLifetime.
func tooShort(d api.Duration) bool {
	return !d.IsZero() && lifetimeOf(d, time.Unix(0, 0)) < minFileLifetime
}

// surelyFits is a size of entitlements, in bytes, below which every file fits
// into licensefile.MaxSize: base64 makes four bytes of three, and the other
// claims have less than 8 KiB.
const surelyFits = 16 << 10

// An offer is a file that may be signed once what it needs has been written.
type offer struct {
	claims  *licensefile.Claims // nil: no file
	refused *api.Reason         // why not
	hold    time.Time           // until when to hold the seat; zero: it is held already
	until   time.Time           // until when the license has files; zero: that is known already
	files   revocations.Files   // what is stored about them, if until is set
}

// writes reports whether the offer needs something that is not stored.
func (o offer) writes() bool { return !o.hold.IsZero() || !o.until.IsZero() }

// offerFile returns the file for the valid verdict v on f. It writes nothing.
func (s Service) offerFile(ctx context.Context, r store.Reader, f facts, v api.Verdict, ask fileAsk) (o offer, err error) {
	exp, err := s.fileEnd(f, ask)
	if err != nil {
		return offer{}, err
	}
	switch {
	case f.seat.PerProcess && !allowsPerProcess(f.license):
		return offer{refused: &perProcessReason}, nil
	case f.seat.PerProcess:
		exp, o.hold = f.holdProcess(exp)
	case f.seated:
		exp, o.hold = f.holdUntil(exp)
	}
	claims, refused, err := s.fileClaims(f, v, ask, exp)
	if err != nil || refused != nil {
		return offer{refused: refused}, err
	}
	if !o.hold.IsZero() {
		if refused, err := overLimit(ctx, r, f); err != nil || refused != nil {
			return offer{refused: refused}, err
		}
	}
	if !o.hold.IsZero() || !f.seated {
		known, until, err := revocations.FilesOf(ctx, r, f.license.ID)
		if err != nil {
			return offer{}, err
		}
		if end := holdFor(exp); until.Before(end) {
			o.files, o.until = known, end.Add(exp.Sub(f.at)/10).Truncate(time.Millisecond)
		}
	}
	o.claims = claims
	return o, nil
}

// fileClaims returns the claims of a file that expires at exp for the valid
// verdict v on f, or the reason why the license allows no file.
func (s Service) fileClaims(f facts, v api.Verdict, ask fileAsk, exp time.Time) (*licensefile.Claims, *api.Reason, error) {
	c := &licensefile.Claims{
		ID: rand.Text(), Issuer: s.Opts.FileIssuer, LicenseID: f.license.ID, ProductID: f.license.ProductID, Name: f.license.Name, Generation: revocations.Generation(f.license),
		IssuedAt: f.at.Truncate(time.Second), NotBefore: f.at.Truncate(time.Second), ExpiresAt: exp,
		LicenseExpiresAt: claimTime(f.license.ExpiresAt), UpdatesUntil: claimTime(f.license.UpdatesUntil),
		Entitlements: v.License.Entitlements, RecheckAfter: v.RecheckAfter, Nonce: ask.nonce,
	}
	if ask.office != nil {
		var err error
		if c.Office, err = officeClaim(ask.office, f.license); err != nil {
			return nil, nil, err
		}
	}
	if f.seated {
		c.ActivationID = f.seat.ID
		c.FingerprintHash = licensefile.FingerprintHash(f.license.ID, f.seat.Fingerprint)
	}
	if !exp.After(c.IssuedAt) {
		detail := "The license ends now."
		if s.lends(f.license) {
			detail = "The license file of the office has ended. Take a request of the office to the vendor, and install the answer."
		}
		return nil, &api.Reason{Code: api.VerdictExpired, Detail: detail}, nil
	}
	if len(f.license.Entitlements) < surelyFits && c.Office == nil {
		return c, nil, nil
	}
	err := c.Validate()
	if errors.Is(err, licensefile.ErrTooLarge) {
		detail := "The entitlements of the license do not fit into a license file."
		if c.Office != nil {
			detail = "The entitlements and meters of the license do not fit into the file of an office."
		}
		return nil, &api.Reason{Code: api.VerdictFileTooLarge, Detail: detail}, nil
	}
	return c, nil, err
}

// claimTime returns t for a claim, of whole seconds, of which 0 is none: the second in
// which 1970 began becomes the next. The last instant is never, so no claim names it.
func claimTime(t time.Time) time.Time {
	if terms.IsLast(t) {
		return time.Time{}
	}
	if !t.IsZero() && t.Unix() < 1 {
		return time.Unix(1, 0).UTC()
	}
	return t
}

// noFile returns why a valid license allows no file even if the fingerprint gets
// a seat; nil: it allows one.
func (s Service) noFile(f facts, fingerprint string, ask fileAsk) (*api.Reason, error) {
	f.seated, f.seat = true, record.Activation{Activation: store.Activation{
		LicenseID: f.license.ID, ID: store.NewID("act", f.at), Fingerprint: fingerprint,
	}}
	v, err := evaluate(question{fingerprint: fingerprint}, f)
	if err != nil {
		return nil, err
	}
	exp, err := s.fileEnd(f, ask)
	if err != nil {
		return nil, err
	}
	_, refused, err := s.fileClaims(f, v, ask, exp)
	return refused, err
}

// longestOver is how many activations of a license with too many are read.
const longestOver = 200

// overLimit returns the reason not to hold another seat of a license that has
// more taken seats than its limit, because that was lowered. The oldest activations, as
// many as the limit has without spent seats, still get files.
func overLimit(ctx context.Context, r store.Reader, f facts) (*api.Reason, error) {
	if f.license.MaxActivations < 0 {
		return nil, nil
	}
	f.more = -1 // the call takes no seat: this one is taken already, and others by their own decisions
	if err := f.countSeats(ctx, r, f.license.ID); err != nil || int64(f.taken) <= f.license.MaxActivations {
		return nil, err
	}
	left := f.license.MaxActivations - int64(f.spent)
	if left > 0 && f.seated {
		rows, err := r.Activations(ctx, store.ActivationQuery{LicenseID: f.license.ID, LiveAt: f.at, Limit: longestOver + 1})
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(rows, func(row store.Activation) bool { return row.ID == f.seat.ID })
		if len(rows) <= longestOver && i >= 0 && int64(i) < left {
			return nil, nil
		}
	}
	return &api.Reason{Code: api.VerdictActivationLimit, Detail: fmt.Sprintf("More programs have a seat or may still run than the maximum of %d, so the license allows no new license file.", f.license.MaxActivations)}, nil
}

// A VerdictWithFile is a verdict with the license file that the call asked for.
type VerdictWithFile struct {
	api.Verdict
	Claims *licensefile.Claims // nil: there is none
}

// recheckEnded is after how many seconds a program asks an office again whose file has
// ended: a new one may come at any time.
const recheckEnded = 300

// take adds an offer to a verdict, once it needs nothing else.
func (v *VerdictWithFile) take(o offer) {
	v.Claims, v.FileReason = o.claims, o.refused
	if o.refused != nil && o.refused.Code == api.VerdictExpired {
		v.RecheckAfter = min(v.RecheckAfter, recheckEnded)
	}
}

// commit writes what an offer needs: the hold, until when the license has files,
// and the event. The event is left out if the last file that was written says
// the same but for its times, so that asking again and again adds none.
func (s Service) commit(ctx context.Context, tx *call.Tx, d *decision) error {
	o := &d.offer
	if !o.writes() {
		return nil
	}
	terms := termsOf(*o.claims)
	last := &o.files.Terms
	if d.seated {
		last = &d.seat.HeldTerms
	}
	repeated := *last == terms
	*last = terms
	if !o.hold.IsZero() {
		hold(&d.seat, o.hold, o.claims.Generation)
		if err := tx.PutActivations(ctx, d.seat.Row()); err != nil {
			return err
		}
		until := o.hold
		d.verdict.Activation.HeldUntil = &until
	}
	if !o.until.IsZero() {
		if err := revocations.PutFiles(ctx, tx, d.license.ID, o.files, o.until); err != nil {
			return err
		}
	}
	if repeated {
		return nil
	}
	l, err := licenses.FromRecord(d.license, tx.Now)
	if err != nil {
		return err
	}
	return s.Append(ctx, tx, api.EventFileIssued, l, api.EventData{Activation: d.verdict.Activation, File: &api.EventFile{
		ID: o.claims.ID, Generation: o.claims.Generation, ExpiresAt: o.claims.ExpiresAt,
	}})
}

// termsOf returns a digest of what a file says, apart from its ID, its nonce and
// its times.
func termsOf(c licensefile.Claims) string {
	c.ID, c.Nonce, c.RecheckAfter = "", "", 0
	c.IssuedAt, c.NotBefore, c.ExpiresAt = time.Time{}, time.Time{}, time.Time{}
	return call.Digest(string(record.Encode(c)))[:32]
}

// offerActive offers a file without writing. The verdict has no claims and no
// reason if something must be written first. A license that allows no file is
// refused here, so that no seat is taken or renewed for it.
func (s Service) offerActive(ctx context.Context, find func(store.Reader, time.Time) (facts, error), a *api.ActivateKeyParams, ask *fileAsk) (v VerdictWithFile, err error) {
	err = s.Read(ctx, func(r store.Reader) error {
		f, err := find(r, s.Now())
		if err != nil {
			return err
		}
		if a.Fingerprint != "" {
			if err := f.findActivation(ctx, r, a.Fingerprint); err != nil {
				return err
			}
			if !f.holdsSeat() {
				v.FileReason, err = s.noFile(f, a.Fingerprint, *ask)
				return err
			}
		}
		if v.Verdict, err = evaluate(question{fingerprint: a.Fingerprint}, f); err != nil {
			return err
		}
		o, err := s.offerFile(ctx, r, f, v.Verdict, *ask)
		if err == nil && !o.writes() {
			v.take(o)
		}
		return err
	})
	return v, err
}
