package client

import (
	"context"
	"crypto/rand"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// listAge is after how long a program that asks the service fetches another
// revocation list: with each check that is a day after the last one.
const listAge = 24 * time.Hour * 9 / 10

// A fileState is what follows from the license files.
type fileState struct {
	phases timeline
	best   *licensefile.File // the file in use; nil: none
	found  bool              // there is a file, usable or not
}

// An untrustedError says why a positive verdict does not count.
type untrustedError struct {
	why    error
	listed bool // the revocation list refuses the file; a newer list may not
}

func (e *untrustedError) Error() string {
	return "the service answered that the license is valid, without a license file that verifies: " + e.why.Error()
}
func (e *untrustedError) Unwrap() error        { return e.why }
func (e *untrustedError) Is(target error) bool { return target == CodeUntrusted }

// denies reports whether the last verdict takes effect immediately, whatever
// file is stored. The caller holds p.mu.
func (p *Program) denies() bool { return p.bad != nil && p.bad.verdict.Code != CodeNotFound }

// wantsFile returns the lifetime of the file to ask for, and the nonce; zero:
// the stored file is good enough. It is replaced at half of its lifetime, of
// which the schedule may be a tenth early. After a denial, only a new file
// counts.
func (p *Program) wantsFile(again bool) (lifetime api.Duration, nonce string) {
	if p.opts.Trust == nil {
		return api.Duration{}, ""
	}
	p.mu.Lock()
	f, denied := p.file.best, p.bad != nil
	p.mu.Unlock()
	if !again && !denied && f != nil && time.Since(f.IssuedAt)*20 < f.ExpiresAt.Sub(f.IssuedAt)*9 {
		return api.Duration{}, ""
	}
	return isoDuration(p.opts.Offline), rand.Text()
}

// isoDuration returns a duration in whole seconds.
func isoDuration(d time.Duration) api.Duration {
	seconds := int(d / time.Second)
	return api.Duration{Days: seconds / 86400, Seconds: seconds % 86400}
}

// outdated reports whether a positive verdict differs from the file in use, so
// that a new file has something new.
func (p *Program) outdated(v Verdict) bool {
	p.mu.Lock()
	f := p.file.best
	p.mu.Unlock()
	if p.opts.Trust == nil || !v.Valid || f == nil {
		return false
	}
	var end time.Time
	if v.License.ExpiresAt != nil {
		end = v.License.ExpiresAt.Truncate(time.Second)
	}
	entitled := len(v.License.Entitlements) == 0 && len(f.Entitlements) == 0 || reflect.DeepEqual(v.License.Entitlements, f.Entitlements)
	moved := v.Activation != nil && v.Activation.Status == ActivationLive && f.ActivationID != "" && v.Activation.ID != f.ActivationID
	return v.License.ID != f.LicenseID || v.License.Generation > f.Generation || !end.Equal(f.LicenseExpiresAt.Truncate(time.Second)) || !entitled || moved
}

// keep verifies the file of a positive verdict, and stores it. A license may
// allow no file, which is not an error.
func (p *Program) keep(a *answer, nonce string) error {
	v := a.verdict
	if v.File == "" && v.FileReason != nil && v.FileReason.Code != "" {
		a.refused = v.FileReason
		return nil
	}
	if v.File == "" {
		return &untrustedError{why: errors.New("it sent no file")}
	}
	o := &p.offline
	o.mu.Lock()
	defer o.mu.Unlock()
	now := p.scan()
	f, err := o.keys.Verify(v.File)
	if err == nil {
		want := o.expect(p.opts, f, now)
		want.Nonce = nonce
		err = f.Check(want)
	}
	if err != nil {
		listed := errors.Is(err, licensefile.ErrRevoked) || errors.Is(err, licensefile.ErrOldGeneration) || errors.Is(err, licensefile.ErrCondemnedKey)
		return &untrustedError{err, listed}
	}
	o.license = f.LicenseID
	p.store(fileName(f.ID), v.File)
	return nil
}

// store keeps a verified text: in memory too, in case that State cannot be
// written. The caller holds p.offline.mu.
func (p *Program) store(name, text string) {
	o := &p.offline
	if p.opts.State != nil {
		o.unsaved = p.opts.State.write(name, text)
	}
	o.kept = append(o.kept, storedText{name, text})
	p.scan()
	p.prune()
}

// follow makes the files of one license count, and no other.
func (p *Program) follow(licenseID string) {
	p.offline.mu.Lock()
	defer p.offline.mu.Unlock()
	p.offline.license = licenseID
	p.scan()
}

// listDue reports whether to fetch the revocation list after a check: when the
// verdict has changed, when the list refuses a new file, and otherwise once a day.
func (p *Program) listDue(a *answer, err error) bool {
	if err != nil {
		untrusted, ok := errors.AsType[*untrustedError](err)
		if !ok {
			return false // the service cannot be reached
		}
		if untrusted.listed {
			return true
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listedAt.IsZero() || time.Since(p.listedAt) >= listAge || a != nil && a.verdict.Code != p.lastCode
}

// updateList fetches the revocation list if it is due. A list that cannot be
// fetched, or does not count, is asked for at the next check, and the stored one
// counts meanwhile. For one that does not count, the status has a warning.
func (p *Program) updateList(ctx context.Context, a *answer, err error) {
	if p.opts.Trust == nil || !p.listDue(a, err) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	text, err := p.api.GetFileRevocations(ctx, p.opts.ProductID)
	if err != nil {
		return
	}
	o := &p.offline
	o.mu.Lock()
	defer o.mu.Unlock()
	now := p.scan()
	list, err := o.keys.VerifyRevocations(text)
	if err != nil {
		return // nor do files of the service verify, which the status says
	}
	if o.unlisted = list.Check(p.opts.ProductID, now); o.unlisted != nil {
		p.scan()
		return
	}
	if o.list == nil || o.keys.Newer(list, *o.list) {
		p.store(strconv.FormatInt(list.Sequence, 10)+listExt, text)
	}
	p.mu.Lock()
	p.listedAt = time.Now()
	p.mu.Unlock()
}

// acceptTrusted applies an answer with Trust: a denial takes effect, and only a
// new file ends it. The caller holds p.mu.
func (p *Program) acceptTrusted(a *answer) {
	p.refused, p.lastCode = a.refused, a.verdict.Code
	switch v := a.verdict; {
	case !v.Valid && v.Code == CodeNotFound && p.denies(): // the denial stays
	case !v.Valid:
		p.bad = a
	case a.refused == nil:
		p.bad = nil
	}
}

// renewal returns how long the schedule may wait for the sake of the file in
// use. The caller holds p.mu.
func (p *Program) renewal() time.Duration {
	f := p.file.best
	switch {
	case p.opts.Trust == nil || p.refused != nil || p.bad != nil:
		return 24 * time.Hour
	case f == nil: // a newer revocation list refuses it
		return time.Minute
	}
	return max(time.Minute, time.Until(f.IssuedAt.Add(f.ExpiresAt.Sub(f.IssuedAt)/2)))
}

// publishTrusted makes the status follow from the files and the last verdict.
// The caller holds p.mu.
func (p *Program) publishTrusted() {
	t := slices.Clone(p.file.phases)
	unreachable := Reason{Code: CodeUnreachable, Detail: "The licensing service has not answered yet."}
	var warnings []Reason
	if p.failure != nil {
		unreachable.Detail = "The licensing service cannot be reached."
		if errors.Is(p.failure, CodeUntrusted) {
			unreachable = Reason{Code: CodeUntrusted, Detail: "The answer of the licensing service is not trusted: it has no license file that verifies."}
		}
		warnings = append(warnings, unreachable)
	}
	if p.bad != nil && !p.denies() {
		warnings = append(warnings, p.bad.verdict.Reasons[0])
	}
	if p.refused != nil {
		warnings = append(warnings, *p.refused)
	}
	var instead Status // of t
	switch {
	case p.refused != nil && (p.file.best == nil || p.denies()):
		instead = denied(*p.refused)
		instead.Source = SourceOnline
	case p.denies():
		instead = p.bad.status(nil)
	case p.file.found || p.api == nil:
	case p.key == "":
		instead = denied(Reason{Code: CodeNoKey, Detail: "No license key is set, and no license file is installed."})
	case p.bad != nil:
		instead = p.bad.status(nil)
	default:
		instead = denied(unreachable)
	}
	if instead.Code != "" {
		instead.Warnings = t[0].status.Warnings
		t = timeline{{status: instead}}
		warnings = slices.DeleteFunc(warnings, func(w Reason) bool { return w.Code == instead.Code })
	}
	for i := range t {
		s := &t[i].status
		s.CheckError = p.failure
		if len(warnings) > 0 {
			s.Warnings = slices.Concat(s.Warnings, warnings)
		}
	}
	p.show(t)
}
