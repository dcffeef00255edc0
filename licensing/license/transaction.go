package license

import (
	"context"
	"errors"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A transaction is a running Update and the instant it takes place at.
type transaction struct {
	store.Tx
	now    time.Time
	failed error // if set, the Update must not commit, whatever its function returns

	// products are the visible products that calls inside Atomically or
	// Once were about; "" means all products.
	products map[string]bool

	wrote bool                            // a license
	then  func(context.Context, *Service) // runs after the commit, outside the Update; nil: nothing
}

// Atomically runs fn in one Update: all calls that fn makes on the Service
// it receives take effect at one instant or, if fn returns an error, not at
// all.
//
// fn may run more than once before Atomically returns, with earlier attempts
// undone. It must have no side effects except overwriting variables, and
// must not use another Service on the same store. Options.BeforeCreate runs
// within each Create of fn, so it holds the write lock. An Atomically or Once
// inside fn joins the outer one: if it fails, the whole Update fails.
func (s *Service) Atomically(ctx context.Context, fn func(*Service) error) error {
	if s.tx != nil {
		err := fn(s)
		s.tx.fail(err)
		return err
	}
	var last *transaction
	err := s.st.Update(ctx, func(tx store.Tx) error {
		last = &transaction{Tx: tx, now: s.clock()}
		if err := fn(s.in(last)); err != nil {
			return err
		}
		return last.failed
	})
	s.ended(ctx, last, err)
	return err
}

// in returns a Service whose calls are part of a running Update.
func (s *Service) in(tx *transaction) *Service {
	in := *s
	in.tx = tx
	return &in
}

// joined returns the store of s: see [internals.Store].
func (s *Service) joined() store.Store {
	if s.tx != nil {
		return joinedStore{s.tx.Tx, s}
	}
	return s.st
}

// A joinedStore is the store of a Service inside an Update.
type joinedStore struct {
	store.Tx
	s *Service
}

// View implements [store.Store].
func (j joinedStore) View(_ context.Context, fn func(store.Reader) error) error { return fn(j.Tx) }

// Update implements [store.Store].
func (j joinedStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	return j.s.write(ctx, func(tx *transaction) error { return fn(tx.Tx) })
}

// write runs fn in the current Update, or in a new one.
//
// Inside Atomically or Once, the caller may continue after an error. A rule
// error occurs before anything is written; any other error may leave partial
// writes, so the whole Update must fail.
func (s *Service) write(ctx context.Context, fn func(*transaction) error) error {
	if s.tx != nil {
		err := fn(s.tx)
		if !isRule(err) {
			s.tx.fail(err)
		}
		return err
	}
	var last *transaction
	err := s.st.Update(ctx, func(tx store.Tx) error {
		last = &transaction{Tx: tx, now: s.clock()}
		return fn(last)
	})
	s.ended(ctx, last, err)
	return err
}

// ended does what follows an Update that has returned err.
func (s *Service) ended(ctx context.Context, tx *transaction, err error) {
	if tx != nil && tx.wrote {
		s.changed()
	}
	if err == nil && tx != nil && tx.then != nil {
		tx.then(ctx, s)
	}
}

// CreateLicenses implements [store.Writer].
func (tx *transaction) CreateLicenses(ctx context.Context, licenses ...store.License) error {
	tx.wrote = true
	return tx.Tx.CreateLicenses(ctx, licenses...)
}

// UpdateLicense implements [store.Writer].
func (tx *transaction) UpdateLicense(ctx context.Context, l store.License) error {
	tx.wrote = true
	return tx.Tx.UpdateLicense(ctx, l)
}

// DeleteLicense implements [store.Writer].
func (tx *transaction) DeleteLicense(ctx context.Context, id string) error {
	tx.wrote = true
	return tx.Tx.DeleteLicense(ctx, id)
}

// read runs fn on one snapshot: that of the current Update, or a new one.
func (s *Service) read(ctx context.Context, fn func(store.Reader) error) error {
	if s.tx != nil {
		return fn(s.tx)
	}
	return s.st.View(ctx, fn)
}

// readOnce runs fn, which reads only once and so needs no snapshot.
func (s *Service) readOnce(_ context.Context, fn func(store.Reader) error) error {
	return fn(s.reader())
}

// reader is for a single read.
func (s *Service) reader() store.Reader {
	if s.tx != nil {
		return s.tx
	}
	return s.st
}

// now returns the instant a call takes place at.
func (s *Service) now() time.Time {
	if s.tx != nil {
		return s.tx.now
	}
	return s.clock()
}

func (s *Service) clock() time.Time { return toMillis(s.opts.Now()) }

// toMillis returns t as stores and JSON represent it.
func toMillis(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// removeEntry deletes an entry if there is one.
func (tx *transaction) removeEntry(ctx context.Context, kind, key string) error {
	err := tx.DeleteEntries(ctx, kind, key)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// note records that a call was about a product.
func (tx *transaction) note(productID string) {
	if tx.products == nil {
		tx.products = make(map[string]bool)
	}
	tx.products[productID] = true
}

func (tx *transaction) fail(err error) {
	if tx.failed == nil {
		tx.failed = err
	}
}

// isRule reports whether err is a rule error, after which nothing has been
// written.
func isRule(err error) bool {
	for _, rule := range rules {
		if errors.Is(err, rule) {
			return true
		}
	}
	return false
}
