package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// maxMet is how often an Update may meet others before it runs under the lock.
const maxMet = 10

// errAgain is the result of an attempt after which the function runs again. It never
// leaves Update.
var errAgain = errors.New("again")

// Update runs fn, and writes what it has written if what it has read still holds.
// Otherwise fn runs again: after the Updates that it has met and, when it has met
// others ten times, under the lock.
func (s *Store) Update(ctx context.Context, fn func(store.Tx) error) error {
	if err := s.ready(ctx); err != nil {
		return about(err, "update")
	}
	var met []place
	careful, succeeded := false, false
	for n, lost := 0, 0; ; {
		a := s.attempt(met, careful)
		if succeeded { // since then, the answer is that of a commit
			ctx = context.WithoutCancel(ctx)
		}
		if err := a.inTurn(ctx, n >= maxMet, fn); err != errAgain {
			return err
		}
		succeeded = succeeded || a.succeeded
		if a.err == nil || errors.Is(a.err, errGaveWay) {
			n++
			met = append(slices.Clone(met), a.met...)
			slices.SortFunc(met, place.compare)
			met = slices.Compact(met)
			careful = careful || slices.ContainsFunc(a.met, func(p place) bool { return a.presumed[p] })
			if n < maxMet+attempts {
				continue
			}
		} else if lost++; lost < attempts {
			time.Sleep(time.Duration(lost-1) * 5 * time.Millisecond)
			continue
		}
		return about(cmp.Or(a.err, errGaveWay), "update")
	}
}

// inTurn runs fn when it is the attempt's turn at the places where the Update has met
// others.
func (a *attempt) inTurn(ctx context.Context, locked bool, fn func(store.Tx) error) error {
	leave, err := a.s.batches.enter(ctx, a.entered)
	if err != nil {
		return about(err, "waiting for other updates")
	}
	defer leave() // also when fn panics
	if locked {
		if err := a.promote(ctx); err != nil {
			return a.end(ctx, err)
		}
	}
	return a.run(ctx, fn)
}

// run calls fn and ends the attempt. If fn panics because of reads that do not hold, it
// runs again.
func (a *attempt) run(ctx context.Context, fn func(store.Tx) error) (err error) {
	returned := false
	defer func() {
		if returned {
			return
		}
		p := recover()
		a.finish()
		if p == nil { // runtime.Goexit
			a.close()
		} else if err = a.end(ctx, errors.New("panic")); err != errAgain {
			panic(p)
		}
	}()
	err = fn(a)
	returned, a.succeeded = true, err == nil
	a.finish()
	return a.end(ctx, err)
}

// end writes what the attempt has written, or checks what it has read, after fn has
// returned result.
func (a *attempt) end(ctx context.Context, result error) error {
	if a.err == nil && a.conn != nil && result == nil && len(a.order) > 0 {
		a.flush(context.WithoutCancel(ctx))
	}
	switch {
	case a.err != nil:
		a.close()
		if retriable(a.err) {
			return errAgain
		}
		if result == nil {
			result = about(a.err, "update")
		}
		return result
	case a.conn != nil && (result != nil || !a.wrote):
		a.close()
		return result
	case a.conn != nil:
		a.result = a.commit()
	case result != nil || len(a.order) == 0:
		return a.check(ctx, result)
	default:
		if a.result = a.encode(); a.result == nil && a.s.batches.join(a) {
			a.s.lead(a.batch)
		}
		if a.batch != nil {
			<-a.batch.done
		}
	}
	if retriable(a.result) {
		a.err = a.result
	}
	if a.err != nil || a.met != nil {
		return errAgain
	}
	return about(a.result, "update")
}

// check returns result if what the attempt has read holds on one snapshot. One
// statement reads one snapshot.
func (a *attempt) check(ctx context.Context, result error) error {
	if len(a.presumed) == 0 && a.statements < 2 {
		return result
	}
	a.own, a.order, a.events = nil, nil, nil
	met, err := a.call(context.WithoutCancel(ctx), callCheck, 0)
	if err != nil {
		return about(err, "update")
	}
	if a.met = met; met != nil {
		return errAgain
	}
	return result
}
