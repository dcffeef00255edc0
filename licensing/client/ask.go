package client

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// ask returns the verdict on a key. It takes a seat if one is missing; again
// is explained at wantsSeat.
func (p *Program) ask(ctx context.Context, key string, again bool) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	lifetime, nonce := p.wantsFile(again)
	validate := func() (*answer, error) {
		return p.verdict(ctx, "POST /license/validate", ValidateKeyParams{
			Key: key, ProductID: p.opts.ProductID, Fingerprint: p.opts.Fingerprint, File: lifetime, Nonce: nonce,
		})
	}
	a, err := validate()
	switch {
	case err != nil || !p.wantsSeat(a.verdict, again):
	case !again && p.fingerprintChanged(a.verdict.License):
		a.verdict.Code, a.verdict.Reasons = CodeFingerprintChanged, []Reason{{Code: CodeFingerprintChanged, Detail: "The license was activated here with another fingerprint. Enter the license key again to activate this one."}}
	default:
		a, err = p.verdict(ctx, "POST /license/activate", ActivateKeyParams{
			Key: key, ProductID: p.opts.ProductID, Fingerprint: p.opts.Fingerprint, Name: p.opts.Name, File: lifetime, Nonce: nonce,
		})
	}
	if err == nil && lifetime.IsZero() && p.outdated(a.verdict) {
		lifetime, nonce = p.wantsFile(true)
		a, err = validate()
	}
	if err == nil && !lifetime.IsZero() && a.verdict.Valid {
		err = p.keep(a, nonce)
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// verdict sends an operation that is answered with a verdict, granted or not.
func (p *Program) verdict(ctx context.Context, operation string, params any) (*answer, error) {
	var v Verdict
	var date string
	err := p.api.do(ctx, operation, anonymous, params, func(resp *http.Response) error {
		date = resp.Header.Get("Date")
		return decode(operation, &v)(resp)
	})
	if refusal, ok := errors.AsType[*Error](err); ok && refusal.Verdict != nil && isComplete(*refusal.Verdict) && !refusal.Verdict.Valid {
		v, date, err = *refusal.Verdict, refusal.date, nil
	}
	if err != nil {
		return nil, err
	}
	a := &answer{verdict: v, at: time.Now()}
	// Date is in whole seconds, and the response took some time.
	if at, err := http.ParseTime(date); err == nil {
		if ahead := a.at.Round(0).Sub(at); ahead.Abs() > 5*time.Second {
			a.ahead = ahead
		}
	}
	return a, nil
}

// fingerprintChanged reports whether State has files of a license for other
// fingerprints, and none for this one.
func (p *Program) fingerprintChanged(l *License) bool {
	if p.opts.State == nil || l == nil {
		return false
	}
	p.offline.mu.Lock()
	defer p.offline.mu.Unlock()
	stored, _, _ := p.opts.State.read() // without a file, this is a new installation
	own, others := licensefile.FingerprintHash(l.ID, p.opts.Fingerprint), false
	for _, t := range stored {
		f := p.offline.verify(p.opts.Trust, t.text).file
		switch {
		case f == nil || f.LicenseID != l.ID || f.FingerprintHash == "":
		case f.FingerprintHash == own:
			return false
		default:
			others = true
		}
	}
	return others
}

// wantsSeat reports whether to activate: if nothing but a seat is missing. One
// that was released or evicted while the program ran is taken only with again.
func (p *Program) wantsSeat(v Verdict, again bool) bool {
	if p.opts.Fingerprint == "" || v.Valid {
		return false
	}
	p.mu.Lock()
	final := p.seated && !again
	p.mu.Unlock()
	for _, r := range v.Reasons {
		switch r.Code {
		case CodeLeaseEnded, CodeActivationLimit:
		case CodeNotActivated: // with an activation: it was released
			if final && v.Activation != nil {
				return false
			}
		case CodeEvicted:
			if final {
				return false
			}
		default:
			return false
		}
	}
	return len(v.Reasons) > 0
}
