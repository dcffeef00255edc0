package call

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A transaction is a running Update and the instant it takes place at.
type Tx struct {
	store.Tx
	Now    time.Time
	failed error // if set, the Update must not commit, whatever its function returns

	// products are the visible products that calls inside Atomically or
	// Once were about; "" means all products.
	products map[string]bool

	kept  map[string]any               // what was made of the entries of a kind
	wrote bool                         // a license
	Then  func(context.Context, *Call) // runs after the commit, outside the Update; nil: nothing
}

// Joined returns the store of the call. Inside Atomically or Once, its calls are part
// of their Update, which fails if an inner Update fails with an error that is not one
// of the rules: anything else may leave partial writes.
func (s *Call) Joined() store.Store {
	if s.Tx != nil {
		return joinedStore{s.Tx.Tx, s}
	}
	return s.Store
}

// A joinedStore is the store of a call inside an Update.
type joinedStore struct {
	store.Tx
	s *Call
}

// View implements [store.Store].
func (j joinedStore) View(_ context.Context, fn func(store.Reader) error) error { return fn(j.Tx) }

// Update implements [store.Store].
func (j joinedStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	return j.s.Write(ctx, func(tx *Tx) error { return fn(tx.Tx) })
}

// Write runs fn in the current Update, or in a new one.
//
// Inside Atomically or Once, the caller may continue after an error. A rule
// error occurs before anything is written; any other error may leave partial
// writes, so the whole Update must fail.
func (s *Call) Write(ctx context.Context, fn func(*Tx) error) error {
	if s.Tx != nil {
		err := fn(s.Tx)
		if !isRule(err) {
			s.Tx.Fail(err)
		}
		return err
	}
	return s.Begin(ctx, fn)
}

// Begin runs fn in a new Update, which fails if a call in it did.
func (s *Call) Begin(ctx context.Context, fn func(*Tx) error) error {
	var last *Tx
	err := s.Store.Update(ctx, func(tx store.Tx) error {
		last = &Tx{Tx: tx, Now: s.Clock()}
		if err := fn(last); err != nil {
			return err
		}
		return last.failed
	})
	s.ended(ctx, last, err)
	return err
}

// ended does what follows an Update that has returned err.
func (s *Call) ended(ctx context.Context, tx *Tx, err error) {
	if tx != nil && tx.wrote {
		s.Changed()
	}
	if err == nil && tx != nil && tx.Then != nil {
		tx.Then(ctx, s)
	}
}

// CreateLicenses implements [store.Writer].
func (tx *Tx) CreateLicenses(ctx context.Context, licenses ...store.License) error {
	tx.wrote = true
	return tx.Tx.CreateLicenses(ctx, licenses...)
}

// UpdateLicense implements [store.Writer].
func (tx *Tx) UpdateLicense(ctx context.Context, l store.License) error {
	tx.wrote = true
	return tx.Tx.UpdateLicense(ctx, l)
}

// DeleteLicense implements [store.Writer].
func (tx *Tx) DeleteLicense(ctx context.Context, id string) error {
	tx.wrote = true
	return tx.Tx.DeleteLicense(ctx, id)
}

// Kept returns what [Tx.Keep] keeps; nil: nothing, or an entry of the kind was written since.
func (tx *Tx) Kept(kind string) any { return tx.kept[kind] }

// Keep keeps, for the rest of the Update, what was made of the entries of a kind.
func (tx *Tx) Keep(kind string, v any) {
	if tx.kept == nil {
		tx.kept = map[string]any{}
	}
	tx.kept[kind] = v
}

// PutEntries implements [store.Writer].
func (tx *Tx) PutEntries(ctx context.Context, entries ...store.Entry) error {
	for i := range entries {
		delete(tx.kept, entries[i].Kind)
	}
	return tx.Tx.PutEntries(ctx, entries...)
}

// DeleteEntries implements [store.Writer].
func (tx *Tx) DeleteEntries(ctx context.Context, kind string, keys ...string) error {
	delete(tx.kept, kind)
	return tx.Tx.DeleteEntries(ctx, kind, keys...)
}

// Read runs fn on one snapshot: that of the current Update, or a new one.
func (s *Call) Read(ctx context.Context, fn func(store.Reader) error) error {
	if s.Tx != nil {
		return fn(s.Tx)
	}
	return s.Store.View(ctx, fn)
}

// View returns what fn reads on one snapshot. An error says what was read, and no value is
// returned with it.
func View[T any](ctx context.Context, s *Call, what string, fn func(store.Reader) (T, error)) (v T, err error) {
	err = s.Read(ctx, func(r store.Reader) (err error) {
		v, err = fn(r)
		return err
	})
	return result(v, what, err)
}

// Do returns what fn does in the current Update, or in a new one: its result in the attempt
// that was committed. An error says what was done, and no value is returned with it.
func Do[T any](ctx context.Context, s *Call, what string, fn func(*Tx) (T, error)) (v T, err error) {
	err = s.Write(ctx, func(tx *Tx) (err error) {
		v, err = fn(tx)
		return err
	})
	return result(v, what, err)
}

func result[T any](v T, what string, err error) (T, error) {
	if err != nil {
		return *new(T), fmt.Errorf("%s: %w", what, err)
	}
	return v, nil
}

// ReadOnce runs fn, which reads only once and so needs no snapshot.
func (s *Call) ReadOnce(_ context.Context, fn func(store.Reader) error) error {
	return fn(s.Reader())
}

// Reader is for a single read.
func (s *Call) Reader() store.Reader {
	if s.Tx != nil {
		return s.Tx
	}
	return s.Store
}

// Now returns the instant a call takes place at.
func (s *Call) Now() time.Time {
	if s.Tx != nil {
		return s.Tx.Now
	}
	return s.Clock()
}

func (s *Call) Clock() time.Time { return ToMillis(s.Opts.Now()) }

// ToMillis returns t as stores and JSON represent it.
func ToMillis(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// note records that a call was about a product.
func (tx *Tx) note(productID string) {
	if tx.products == nil {
		tx.products = make(map[string]bool)
	}
	tx.products[productID] = true
}

func (tx *Tx) Fail(err error) {
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
