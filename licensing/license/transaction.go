package license

import (
	"context"
	"errors"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A transaction is an Update under way, with the instant it takes place at.
type transaction struct {
	store.Tx
	now    time.Time
	doomed error // why the Update must not commit whatever its function says
	hooks  *hooks

	// products are those that calls inside Atomically or Once dealt with, as
	// far as the caller sees them; "" stands for all products.
	products map[string]bool
}

// Atomically joins the calls that fn makes on the Service it is given: all of
// them take effect at one instant, or, if fn returns an error, none does.
//
// fn may run more than once before Atomically returns, with the earlier
// attempt undone, so it must have no other effect than overwriting variables,
// and it must not use any other Service on the same store. An Atomically or
// Once inside fn joins this one: if it fails, so does the whole.
func (s *Service) Atomically(ctx context.Context, fn func(*Service) error) error {
	if s.tx != nil {
		err := fn(s)
		s.tx.doom(err)
		return err
	}
	h := new(hooks)
	for {
		err := s.st.Update(ctx, func(tx store.Tx) error {
			h.next, h.pending = 0, nil
			in := *s
			in.tx = &transaction{Tx: tx, now: s.clock(), hooks: h}
			err := fn(&in)
			switch {
			case h.pending != nil:
				return errHookPending
			case err != nil:
				return err
			}
			return in.tx.doomed
		})
		if h.pending == nil || !errors.Is(err, errHookPending) {
			return err
		}
		if err := h.run(ctx, s); err != nil {
			return err
		}
	}
}

// In returns a Service whose calls are part of the Update that tx belongs to,
// for code that writes other records in the same Update. It is good for as
// long as tx is, and if one of its calls fails, the function of that Update
// must return the error.
func (s *Service) In(tx store.Tx) *Service {
	in := *s
	in.tx = &transaction{Tx: tx, now: s.clock()}
	return &in
}

// update runs fn in the Update that s is in, or in one of its own.
//
// Within a longer Update the caller may go on after an error. An error of the
// rules comes before anything is written; any other may have come halfway, and
// then the whole Update must go.
func (s *Service) update(ctx context.Context, fn func(*transaction) error) error {
	if s.tx != nil {
		err := fn(s.tx)
		if !isRule(err) {
			s.tx.doom(err)
		}
		return err
	}
	return s.st.Update(ctx, func(tx store.Tx) error {
		return fn(&transaction{Tx: tx, now: s.clock()})
	})
}

// view runs fn on one snapshot: that of the Update s is in, or its own.
func (s *Service) view(ctx context.Context, fn func(store.Reader) error) error {
	if s.tx != nil {
		return fn(s.tx)
	}
	return s.st.View(ctx, fn)
}

// glance runs fn, which reads once, and so needs no snapshot.
func (s *Service) glance(_ context.Context, fn func(store.Reader) error) error { return fn(s.reader()) }

// reader is for a single read.
func (s *Service) reader() store.Reader {
	if s.tx != nil {
		return s.tx
	}
	return s.st
}

// now is the instant a call takes place at.
func (s *Service) now() time.Time {
	if s.tx != nil {
		return s.tx.now
	}
	return s.clock()
}

func (s *Service) clock() time.Time { return toMillis(s.opts.Now()) }

// toMillis returns t as the store and the wire keep it.
func toMillis(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// note adds a product to those that calls dealt with.
func (tx *transaction) note(productID string) {
	if tx.products == nil {
		tx.products = make(map[string]bool)
	}
	tx.products[productID] = true
}

func (tx *transaction) doom(err error) {
	if tx.doomed == nil {
		tx.doomed = err
	}
}

// isRule reports whether err says that a rule was broken, and so that nothing
// was written.
func isRule(err error) bool {
	for _, rule := range rules {
		if errors.Is(err, rule) {
			return true
		}
	}
	return false
}
