package licensing

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A trackedStore calls wake after each Update that appended an event or called
// [feed.Wake], and records whether writes fail and whether the store has reported damage.
type trackedStore struct {
	store.Store
	now  func() time.Time
	wake func()

	writes atomic.Pointer[failure] // of writes; nil: none has failed
	damage atomic.Pointer[failure] // nil: none was reported
}

// A failure is an error that [Handler.Health] reports.
type failure struct {
	since, last time.Time
	err         error  // the last
	over        bool   // a write has succeeded since
	route       string // of the request that failed last
}

// failureKept is how long a failed write is reported after another has succeeded, and
// how long a failed request is. On a disk that is almost full, writes fail and succeed
// in turns.
const failureKept = time.Minute

// failing returns the failure of the last writes, or nil.
func (s *trackedStore) failing() *failure {
	f := s.writes.Load()
	if f == nil || f.over && s.now().Sub(f.last) >= failureKept {
		return nil
	}
	return f
}

// Update implements [store.Store].
func (s *trackedStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	var tx trackedTx
	var refused error // what fn returned
	err := s.Store.Update(ctx, func(t store.Tx) error {
		tx = trackedTx{Tx: t} // an earlier attempt was rolled back
		refused = fn(&tx)
		return refused
	})
	switch {
	case err != nil:
		s.failed(err, refused)
	case tx.wrote:
		s.succeeded()
	}
	if err == nil && tx.wakes {
		s.wake()
	}
	return s.seen(err)
}

// failed records that an Update failed, if the store is the cause. If the function
// of the Update ran out of time, that may be its own fault.
func (s *trackedStore) failed(err, refused error) {
	switch feed.StoreErrorKind(err) {
	case "", "conflict":
		return
	case "timeout":
		if refused != nil {
			return
		}
	}
	now := s.now()
	f := &failure{since: now, last: now, err: err}
	if before := s.failing(); before != nil {
		f.since = before.since
	}
	s.writes.Store(f)
}

// succeeded records that a write has succeeded.
func (s *trackedStore) succeeded() {
	if f := s.writes.Load(); f != nil && !f.over {
		s.writes.CompareAndSwap(f, &failure{since: f.since, last: f.last, err: f.err, over: true})
	}
}

// seen records damage that the store reports in err, and returns err.
func (s *trackedStore) seen(err error) error {
	if errors.Is(err, store.ErrDamaged) {
		s.damage.CompareAndSwap(nil, &failure{since: s.now(), err: err})
	}
	return err
}

// retryEvery is how often Run writes after a write has failed.
const retryEvery = 10 * time.Second

// retry writes if the last write failed, so that the end of the failure shows
// without a request.
func (s *trackedStore) retry(ctx context.Context) (feed.Next, error) {
	if f := s.writes.Load(); f != nil && !f.over {
		ctx, cancel := context.WithTimeout(ctx, retryEvery)
		defer cancel()
		_ = s.Update(ctx, func(tx store.Tx) error { // recorded
			const probe = "probe"
			if err := tx.PutEntries(ctx, store.Entry{Kind: probe, Key: probe}); err != nil {
				return err
			}
			return tx.DeleteEntries(ctx, probe, probe)
		})
	}
	return feed.In(retryEvery), nil
}

// ready checks the store. A store that has reported damage is not ready until the
// process starts again.
func (s *trackedStore) ready(ctx context.Context) error {
	if d := s.damage.Load(); d != nil {
		return d.err
	}
	return s.answers(ctx)
}

// answers checks the store by reading a license, an event and an entry that do not
// exist, each by its index. An error that the backend does not classify, such as a
// missing table, is one for which [store.ErrUnavailable] is true, too.
func (s *trackedStore) answers(ctx context.Context) error {
	const none = "ready"
	_, err := s.License(ctx, none)
	if err == nil || errors.Is(err, store.ErrNotFound) {
		_, err = s.Events(ctx, store.EventQuery{Subject: none, Limit: 1})
	}
	if err == nil {
		_, err = s.Entry(ctx, none, none)
	}
	switch {
	case err == nil || errors.Is(err, store.ErrNotFound):
		return nil
	case feed.StoreErrorKind(err) == "" && ctx.Err() == nil:
		return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return err
}

// A trackedTx records whether something was written.
type trackedTx struct {
	store.Tx
	wakes bool
	wrote bool
}

// AppendEvents implements [store.Writer]. Every change of the rules appends an event
// or puts an entry.
func (tx *trackedTx) AppendEvents(ctx context.Context, events ...store.Event) error {
	tx.wakes, tx.wrote = true, true
	return tx.Tx.AppendEvents(ctx, events...)
}

// Wake is for [feed.Wake].
func (tx *trackedTx) Wake() { tx.wakes = true }

// PutEntries implements [store.Writer].
func (tx *trackedTx) PutEntries(ctx context.Context, entries ...store.Entry) error {
	tx.wrote = true
	return tx.Tx.PutEntries(ctx, entries...)
}

// View implements [store.Store].
func (s *trackedStore) View(ctx context.Context, fn func(store.Reader) error) error {
	return s.seen(s.Store.View(ctx, fn))
}

// License implements [store.Reader], as do the methods below.
func (s *trackedStore) License(ctx context.Context, id string) (store.License, error) {
	l, err := s.Store.License(ctx, id)
	return l, s.seen(err)
}

func (s *trackedStore) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	l, err := s.Store.LicenseByKey(ctx, key)
	return l, s.seen(err)
}

func (s *trackedStore) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	all, err := s.Store.Licenses(ctx, q)
	return all, s.seen(err)
}

func (s *trackedStore) FindLicenses(ctx context.Context, q store.LicenseQuery) ([]store.License, store.Position, error) {
	found, next, err := s.Store.FindLicenses(ctx, q)
	return found, next, s.seen(err)
}

func (s *trackedStore) CountLicenses(ctx context.Context, q store.LicenseQuery, edges ...store.Position) ([]int64, error) {
	counts, err := s.Store.CountLicenses(ctx, q, edges...)
	return counts, s.seen(err)
}

func (s *trackedStore) LicenseNames(ctx context.Context, q store.NamesQuery) ([]store.NameCount, error) {
	names, err := s.Store.LicenseNames(ctx, q)
	return names, s.seen(err)
}

func (s *trackedStore) Activation(ctx context.Context, licenseID, fingerprint string) (store.Activation, error) {
	a, err := s.Store.Activation(ctx, licenseID, fingerprint)
	return a, s.seen(err)
}

func (s *trackedStore) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	all, err := s.Store.Activations(ctx, q)
	return all, s.seen(err)
}

func (s *trackedStore) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	all, err := s.Store.Events(ctx, q)
	return all, s.seen(err)
}

func (s *trackedStore) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	e, err := s.Store.Entry(ctx, kind, key)
	return e, s.seen(err)
}

func (s *trackedStore) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	all, err := s.Store.Entries(ctx, q)
	return all, s.seen(err)
}
