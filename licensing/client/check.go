package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// checkTimeout bounds the requests of one check.
const checkTimeout = 15 * time.Second

// Refresh asks the service now, or reads the license files again, and returns
// nil if the service has answered: Status has the verdict. Concurrent calls share
// one check. The error is [CodeNoKey] without a license key.
func (p *Program) Refresh(ctx context.Context) error {
	switch {
	case p.isFixed():
		return nil
	case p.opts.Trust != nil:
		p.rescan()
		p.poke()
		if p.api == nil || !p.hasKey() {
			return nil
		}
	}
	return p.check(ctx, p.count())
}

// SetKey replaces the license key, once the service has answered that it knows
// the new one; otherwise the old one stays. The license is activated for the
// fingerprint even if the seat was released or evicted, or if the fingerprint has
// changed, so that the user can take a seat by entering the key again. SetKey returns nil if the new key
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
	if a.refused != nil {
		p.follow(a.verdict.License.ID)
	}
	p.updateList(ctx, a, nil)
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
	p.updateList(ctx, a, err)
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

// accept applies an answer. The caller holds p.mu.
func (p *Program) accept(a *answer) {
	p.failure, p.failures, p.setBack = nil, 0, false
	v := a.verdict
	p.seated = p.seated || v.Valid && v.Activation != nil && v.Activation.Status == ActivationLive
	switch {
	case p.opts.Trust != nil:
		p.acceptTrusted(a)
	case v.Valid:
		p.good, p.bad, p.slept = a, nil, 0
	case v.Code == CodeNotFound && p.good != nil:
		p.bad = a // good stays until it ends
	default:
		p.good, p.bad, p.slept = nil, a, 0
	}
	p.next = a.at.Add(early(min(a.recheck(), p.renewal())))
	p.publish()
	p.answered()
}

// answered ends the wait of Open.
func (p *Program) answered() {
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
	wait := p.backoff(err)
	if e, ok := errors.AsType[*untrustedError](err); ok && !e.listed {
		wait = early(time.Hour)
		p.answered()
	}
	p.next = time.Now().Add(wait)
	p.publish()
}

// publish makes the status follow from the fields. The caller holds p.mu.
func (p *Program) publish() {
	if p.opts.Trust != nil {
		p.publishTrusted()
		return
	}
	var warnings []Reason
	unreachable := Reason{Code: CodeUnreachable, Detail: "The licensing service has not answered yet."}
	if p.failure != nil {
		unreachable.Detail = "The licensing service cannot be reached."
		if p.good != nil || p.bad != nil {
			warnings = append(warnings, unreachable)
		}
	}
	if p.setBack {
		warnings = append(warnings, Reason{Code: CodeClockChanged, Detail: "The clock of this machine was set back while the program was running."})
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
		t = timeline{{status: denied(Reason{Code: CodeNoKey, Detail: "No license key is set."})}}
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

// hasKey reports whether the program has a license key.
func (p *Program) hasKey() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.key != ""
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
