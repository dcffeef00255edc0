package program

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// longestFile asks for a license file of the longest lifetime that the service
// allows.
const longestFile = "P10Y"

// errUntrusted is a positive verdict without a license file that counts.
var errUntrusted = errors.New("the service answered that the license is valid, without a license file that verifies")

// A reach is how far a check goes to get a seat.
type reach int

const (
	regular  reach = iota // keeps the seat, or takes the first one
	again                 // takes a free seat, also after this one was released or evicted
	takeOver              // takes the seat of the oldest activation if none is free
)

// begin waits until no other method uses the service. The returned context ends
// with ctx and with Close; call done at the end.
func (l *License) begin(ctx context.Context) (_ context.Context, done func(), err error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	case <-l.ctx.Done():
		return nil, nil, errClosed
	}
	if l.ctx.Err() != nil {
		<-l.turn
		return nil, nil, errClosed
	}
	ctx, end := l.until(ctx)
	return ctx, func() {
		end()
		<-l.turn
		l.poke() // the loop continues from this check
	}, nil
}

// until returns a context that ends with ctx and with Close; call done at the end.
func (l *License) until(ctx context.Context) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancel(ctx)
	if l.ctx.Err() != nil {
		cancel()
	}
	stop := context.AfterFunc(l.ctx, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// A result is what the service answered about a key.
type result struct {
	answer
	as    string            // the product that was asked for
	file  *licensefile.File // verified, with the nonce of the request; nil: none was asked for, or the license allows none
	text  string            // of the file
	nonce string
	took  time.Duration // from the request to the answer
}

// queryAs is query with one product.
func (l *License) queryAs(ctx context.Context, key string, how reach, product string) (result, error) {
	l.mu.Lock()
	file := l.file
	if key != l.key {
		file = nil
	}
	fresh := l.fresh
	wants := file != nil && l.wantsFile()
	l.mu.Unlock()
	seat := l.seatOf(product)
	send := func(path string, p params) (result, error) {
		p.Key, p.ProductID, p.BuiltAt = key, product, l.opts.BuiltAt
		if p.File != "" {
			p.Nonce = rand.Text()
		}
		sent := time.Now()
		a, err := l.ask(ctx, path, p)
		return result{answer: a, as: product, nonce: p.Nonce, took: time.Since(sent)}, err
	}
	activate := func() (result, error) {
		p := params{Fingerprint: seat, Name: l.opts.Name, File: longestFile, PerProcess: l.opts.PerProcess}
		if l.opts.Version != "" {
			p.Metadata = map[string]string{versionName: l.opts.Version}
		}
		if how == takeOver {
			p.TakeOver = api.TakeOverOldest
		}
		if grants := l.grants(product); grants != nil { // an activation does not ask for them
			if r, err := send("/license/validate", params{Entitlements: grants}); err != nil || !r.Valid {
				return r, err
			}
		}
		return send("/license/activate", p)
	}
	validate := func(withFile bool) (result, error) {
		p := params{Fingerprint: seat, Entitlements: l.grants(product)}
		if withFile {
			p.File = longestFile
		}
		return send("/license/validate", p)
	}
	var r result
	var err error
	if file == nil || how != regular {
		r, err = activate()
	} else if r, err = validate(wants); err == nil && (missesSeat(r.Verdict, fresh) || fresh && l.isNewer(r.Verdict)) {
		r, err = activate()
	} else if err == nil && r.nonce == "" && l.differs(r.answer, *file) {
		r, err = validate(true)
	}
	if err == nil && r.Valid && r.nonce != "" {
		err = l.verify(&r)
	}
	return r, err
}

// versionName is where the metadata of an activation has the version of the program.
const versionName = "version"

// isNewer reports whether the activation was made by another version of the program.
func (l *License) isNewer(v api.Verdict) bool {
	return v.Valid && v.Activation != nil && l.opts.Version != "" && v.Activation.Metadata[versionName] != l.opts.Version
}

// missesSeat reports whether a seat is all that is missing, and may be taken. One
// that was released or evicted while the program ran is not.
func missesSeat(v api.Verdict, fresh bool) bool {
	for _, reason := range v.Reasons {
		switch reason.Code {
		case api.VerdictLeaseEnded:
		case api.VerdictNotActivated: // with an activation: it was released
			if v.Activation != nil && !fresh {
				return false
			}
		case api.VerdictEvicted:
			if !fresh {
				return false
			}
		default:
			return false
		}
	}
	return len(v.Reasons) > 0
}

// wantsFile reports whether the next validation asks for a license file: when half
// of the lifetime of the last one has passed, of which a check may be a tenth
// early, and when something is wrong. The caller holds l.mu.
func (l *License) wantsFile() bool {
	f := l.file
	if l.denial != nil || l.doubtful || l.usable(*f) != nil {
		return true
	}
	return l.clock.now().Sub(f.IssuedAt)*20 >= f.ExpiresAt.Sub(f.IssuedAt)*9
}

// differs reports whether a new license file would say something else than f.
func (l *License) differs(a answer, f licensefile.File) bool {
	if !a.Valid {
		return false
	}
	if !a.date.IsZero() {
		l.mu.Lock()
		off := a.date.Sub(l.clock.now()).Abs()
		l.mu.Unlock()
		if off > licensefile.Leeway {
			return true // a file proves the time
		}
	}
	seconds := func(t *time.Time) time.Time { return endOf(t).Truncate(time.Second) }
	granted := a.License.Entitlements
	moved := a.Activation != nil && a.Activation.ID != f.ActivationID
	return moved || a.License.ID != f.LicenseID || a.License.Name != f.Name || a.License.Generation > f.Generation ||
		!seconds(a.License.ExpiresAt).Equal(f.LicenseExpiresAt) || !seconds(a.License.UpdatesUntil).Equal(f.UpdatesUntil) || len(granted)+len(f.Entitlements) > 0 && !reflect.DeepEqual(granted, f.Entitlements)
}

// never is the last instant that the service knows, which means never. No license file names it.
var never = time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)

// endOf returns an end of a license; zero: never.
func endOf(t *time.Time) time.Time {
	if t == nil || !t.Before(never) {
		return time.Time{}
	}
	return *t
}

// verify verifies the license file of a positive answer. A license may have none,
// with a reason.
func (l *License) verify(r *result) error {
	if r.File == "" && r.FileReason != nil && r.FileReason.Code != "" {
		return nil
	}
	f, err := l.keys.Verify(r.File)
	now := f.IssuedAt
	l.mu.Lock()
	if certain := l.clock.certain(); f.Lender != nil && certain.After(now) {
		now = certain // the clock of the office is behind: a file that has ended replaces none
	}
	if err == nil {
		err = l.check(f, licensefile.Expect{Nonce: r.nonce, Now: now})
	}
	if err == nil && l.condemned(f) {
		err = licensefile.ErrCondemnedKey
	}
	l.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%w: %w", errUntrusted, err)
	}
	r.file, r.text = &f, r.File
	return nil
}

// accept applies the result of a query. The caller holds l.mu.
func (l *License) accept(r result) {
	l.failed, l.failures, l.checkedAt = nil, 0, time.Now().Round(0)
	l.unknown, l.refused = r.Code == api.VerdictNotFound, nil
	v := r.Verdict
	if v.License != nil {
		l.show(display{Meters: v.Meters, Upcoming: v.License.Upcoming})
	}
	switch {
	case r.file != nil:
		l.fresh, l.denial, l.doubtful = false, nil, false
		l.adopt(*r.file)
		if r.file.Lender != nil {
			l.clock.follow(r.file.IssuedAt)
		} else {
			l.clock.prove(r.file.IssuedAt)
		}
		if l.opts.PerProcess { // the file must not outlive the lease
			l.clock.at = l.clock.at.Add(time.Second + r.took) // IssuedAt is in whole seconds
		}
		l.floorSaved = time.Time{} // it may have been ahead
		l.saveClock()
		l.keep(r.text)
	case v.Valid && r.nonce != "":
		l.refused = v.FileReason
	case v.Valid:
		l.fresh = false
	case !l.unknown:
		if l.file == nil {
			l.setProduct(r.as)
		}
		l.deny(l.denialOf(v))
	}
	l.schedule(max(l.recheck(v), r.retryAfter))
}

// A person may be about to end a denial, so the program asks again soon for a while.
const (
	deniedEvery = 5 * time.Minute
	deniedFor   = 30 * time.Minute
)

// canEnd reports whether a person ends a denial by what the program only has to ask for: a
// renewal, a reinstatement, a free seat, or a license for the key. The caller holds l.mu.
func (l *License) canEnd() bool {
	if l.unknown {
		return true
	}
	if l.denial == nil {
		return false
	}
	switch l.denial.Code {
	case api.VerdictExpired, api.VerdictSuspended, api.VerdictActivationLimit, api.VerdictUpdatesEnded:
		return true
	}
	return false
}

// denialOf returns the denial of a negative verdict.
func (l *License) denialOf(v api.Verdict) denial {
	d := denial{Code: v.Code}
	if full := v.Reasons[len(v.Reasons)-1]; full.Code == api.VerdictActivationLimit && (l.fresh || v.Code == api.VerdictLeaseEnded) {
		d.Code = full.Code // the seat would have been taken again
	}
	if found := v.License; found != nil {
		d.LicenseID = found.ID
		if found.Status == api.LicenseSuspended || found.Status == api.LicenseRevoked {
			d.Reason = found.StatusReason
		}
		d.ExpiresAt, d.UpdatesUntil = endOf(found.ExpiresAt), endOf(found.UpdatesUntil)
	}
	return d
}

// recheck returns how long to wait after an answer. The waits after a denial are exact,
// but for the first, so that their number is too. The caller holds l.mu.
func (l *License) recheck(v api.Verdict) time.Duration {
	wait := time.Duration(min(max(1, v.RecheckAfter), int64(latestDue/time.Second))) * time.Second
	if l.canEnd() {
		if l.deniedAt.IsZero() {
			l.deniedAt = time.Now()
			return early(min(wait, deniedEvery))
		}
		if time.Since(l.deniedAt) < deniedFor-deniedEvery/2 {
			return min(wait, deniedEvery)
		}
		return wait
	}
	if v.Valid {
		l.deniedAt = time.Time{}
	}
	if f := l.file; f != nil && l.denial == nil && l.refused == nil && !l.unknown {
		half := f.IssuedAt.Add(f.ExpiresAt.Sub(f.IssuedAt) / 2)
		wait = min(wait, max(shortestBackoff, half.Sub(l.clock.now())))
	}
	return early(wait)
}

// fail applies a check that got no answer, or one that is not trusted. The caller
// holds l.mu.
func (l *License) fail(err error) {
	l.failed = err
	l.failures++
	l.schedule(backoff(l.failures, err))
}
