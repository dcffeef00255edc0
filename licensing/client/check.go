package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// checkTimeout bounds the requests of one check.
const checkTimeout = 15 * time.Second

// Refresh asks the service now, or reads the license files again, and returns
// nil if the service has answered: Status has the verdict. Concurrent calls share one check. The error is [CodeNoKey]
// without a license key.
func (p *Program) Refresh(ctx context.Context) error {
	switch {
	case p.isFixed():
		return nil
	case p.opts.Trust != nil:
		p.rescan()
		p.poke()
		return nil
	}
	return p.check(ctx, p.count())
}

// SetKey replaces the license key, once the service has answered that it knows
// the new one; otherwise the old one stays. The license is activated for the
// fingerprint even if the seat was released or evicted, so that the user can
// take it again by entering the key again. SetKey returns nil if the new key
// is in use: Status has the verdict. The error is [CodeNotFound] if no license
// has the key.
func (p *Program) SetKey(ctx context.Context, key string) error {
	if p.isFixed() {
		return nil
	}
	if p.api == nil {
		return errors.New("client: a program with license files has no license key; use Install")
	}
	key = strings.TrimSpace(key)
	if key == "" {
		return fmt.Errorf("client: set key: %w", CodeNoKey)
	}
	if err := p.begin(ctx); err != nil {
		return err
	}
	defer p.end()
	a, err := p.ask(ctx, key, true)
	if err != nil {
		return fmt.Errorf("client: set key: %w", err)
	}
	if a.verdict.Code == CodeNotFound {
		return fmt.Errorf("client: set key: %w", CodeNotFound)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.key, p.seated, p.good, p.bad = key, false, nil, nil
	p.accept(a)
	return nil
}

// begin waits until no other check is in progress.
func (p *Program) begin(ctx context.Context) error {
	select {
	case p.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	case <-p.ctx.Done():
		return errClosed
	}
	if p.ctx.Err() != nil {
		<-p.turn
		return errClosed
	}
	return nil
}

// end lets the next check begin, and the schedule continue from this one.
func (p *Program) end() {
	<-p.turn
	p.poke()
}

// check asks the service, unless another check that began after the caller
// counted them has been completed.
func (p *Program) check(ctx context.Context, counted int) error {
	if err := p.begin(ctx); err != nil {
		return err
	}
	defer p.end()
	p.mu.Lock()
	key, failure, shared := p.key, p.failure, p.completed > counted
	p.mu.Unlock()
	if key == "" {
		return fmt.Errorf("client: %w", CodeNoKey)
	}
	if shared {
		return failure
	}
	number := p.number()
	a, err := p.ask(ctx, key, false)
	if err != nil && p.ctx.Err() != nil {
		return errClosed
	}
	if err != nil && ctx.Err() != nil {
		return err // the caller left, which says nothing about the service
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.completed = number
	if err != nil {
		p.fail(err)
		return err
	}
	p.accept(a)
	return nil
}

// ask returns the verdict on a key. It takes a seat if one is missing; again
// is explained at wantsSeat.
func (p *Program) ask(ctx context.Context, key string, again bool) (*answer, error) {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	a, err := p.verdict(ctx, "POST /license/validate", ValidateKeyParams{
		Key: key, ProductID: p.opts.ProductID, Fingerprint: p.opts.Fingerprint,
	})
	if err != nil || !p.wantsSeat(a.verdict, again) {
		return a, err
	}
	return p.verdict(ctx, "POST /license/activate", ActivateKeyParams{
		Key: key, ProductID: p.opts.ProductID, Fingerprint: p.opts.Fingerprint, Name: p.opts.Name,
	})
}

// verdict sends an operation that is answered with a verdict, granted or not.
func (p *Program) verdict(ctx context.Context, operation string, params any) (*answer, error) {
	var v Verdict
	var date string
	err := p.api.do(ctx, operation, anonymous, params, func(resp *http.Response) error {
		date = resp.Header.Get("Date")
		return decode(operation, &v)(resp)
	})
	if refusal, ok := errors.AsType[*Error](err); ok && refusal.Verdict != nil && refusal.Verdict.complete() && !refusal.Verdict.Valid {
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

// accept applies an answer. The caller holds p.mu.
func (p *Program) accept(a *answer) {
	p.failure, p.failures, p.setBack = nil, 0, false
	v := a.verdict
	switch {
	case v.Valid:
		p.good, p.bad, p.slept = a, nil, 0
		p.seated = p.seated || v.Activation != nil && v.Activation.Status == ActivationLive
	case v.Code == CodeNotFound && p.good != nil:
		p.bad = a // good stays until it ends
	default:
		p.good, p.bad, p.slept = nil, a, 0
	}
	p.next = a.at.Add(early(a.recheck()))
	p.publish()
	select {
	case <-p.first:
	default:
		close(p.first)
	}
}

// fail applies a check without an answer. The caller holds p.mu.
func (p *Program) fail(err error) {
	p.failure = err
	p.failures++
	p.next = time.Now().Add(p.backoff(err))
	p.publish()
}

// publish makes the status follow from the fields. The caller holds p.mu.
func (p *Program) publish() {
	var warnings []Reason
	unreachable := Reason{CodeUnreachable, "The licensing service has not answered yet."}
	if p.failure != nil {
		unreachable.Detail = "The licensing service cannot be reached."
		if p.good != nil || p.bad != nil {
			warnings = append(warnings, unreachable)
		}
	}
	if p.setBack {
		warnings = append(warnings, Reason{CodeClockChanged, "The clock of this machine was set back while the program was running."})
	}
	var t timeline
	switch {
	case p.good != nil:
		after := unreachable
		if p.bad != nil {
			after = p.bad.verdict.Reasons[0]
			warnings = append(warnings, after)
		}
		t = p.good.timeline(max(0, p.opts.Offline), p.slept, after, warnings)
	case p.bad != nil:
		t = timeline{{status: p.bad.status(warnings)}}
	case p.key == "":
		t = timeline{{status: denied(Reason{CodeNoKey, "No license key is set."})}}
	default:
		t = timeline{{status: denied(unreachable)}}
	}
	for i := range t {
		t[i].status.CheckError = p.failure
	}
	p.show(t)
}

// show makes t the status.
func (p *Program) show(t timeline) {
	for i := range t {
		if !t[i].until.IsZero() {
			t[i].ends = max(1, t[i].until.Sub(p.start))
		}
	}
	p.now.Store(&t)
}

// count returns how many checks have begun.
func (p *Program) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begun
}

// number returns the number of a new check.
func (p *Program) number() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun++
	return p.begun
}
