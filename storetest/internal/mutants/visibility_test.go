package mutants

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest/internal/pick"
)

// visibilityMutants break the rules about when reads see writes.
var visibilityMutants = []mutant{
	{2, "remembers that a key found nothing", func() store.Store {
		return &remembersMisses{Store: memory.New(), missed: map[string]error{}}
	}},
	{2, "reads the state before the last Update", func() store.Store {
		return newBehind(func(b *behind) store.Reader { return b.shadow })
	}},
	{2, "lists events late", func() store.Store {
		return newBehind(func(b *behind) store.Reader { return lateEvents{b.Store, b.shadow} })
	}},

	{3, "reads only committed data in an Update", readingInUpdates(func(before, tx store.Reader) store.Reader { return before })},
	{3, "lists only committed activations in an Update", readingInUpdates(func(before, tx store.Reader) store.Reader {
		return seatsBefore{tx, before}
	})},
	{3, "lists only committed data in an Update", readingInUpdates(func(before, tx store.Reader) store.Reader {
		return listsBefore{tx, before}
	})},

	{4, "keeps what a failed Update wrote", updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
		var failed error
		err := st.Update(ctx, func(tx store.Tx) error {
			failed = fn(tx)
			return nil
		})
		return errors.Join(failed, err)
	})},
	{4, "returns another error", updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
		if err := st.Update(ctx, fn); err != nil {
			return fmt.Errorf("rolled back: %v", err)
		}
		return nil
	})},
	{4, "returns nil for a failed Update", updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
		if err := st.Update(ctx, fn); err == nil || err.Error() != "on purpose" { // the error of a case
			return err
		}
		return nil
	})},
	{4, "lets readers see uncommitted writes", newDirty},
	{4, "commits in two steps", newTwoSteps},
	{4, "keeps the entries of a failed Update", updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
		var entries []written
		err := st.Update(ctx, func(tx store.Tx) error {
			entries = nil
			return fn(joined{tx, hooked{func(ctx context.Context, method string, call written) error {
				if method == "PutEntries" {
					entries = append(entries, call)
				}
				return call(ctx, tx)
			}}})
		})
		if err != nil && len(entries) > 0 {
			_ = replay(st, entries)
		}
		return err
	})},
}

type remembersMisses struct {
	store.Store
	mu     sync.Mutex
	missed map[string]error
}

func (s *remembersMisses) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.missed[key]; err != nil && ctx.Err() == nil {
		return store.License{}, err
	}
	l, err := s.Store.LicenseByKey(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		s.missed[key] = err
	}
	return l, err
}

// behind keeps a shadow that is one Update behind.
type behind struct {
	store.Store
	shadow *memory.Store
	mu     sync.Mutex
	last   []written
}

func newBehind(reader func(*behind) store.Reader) store.Store {
	b := &behind{Store: memory.New(), shadow: memory.New()}
	return struct {
		store.Reader
		viewer
	}{reader(b), b}
}

// A viewer is a Store without its Reader.
type viewer interface {
	View(context.Context, func(store.Reader) error) error
	Update(context.Context, func(store.Tx) error) error
}

func (b *behind) Update(ctx context.Context, fn func(store.Tx) error) error {
	var log []written
	err := b.Store.Update(ctx, func(tx store.Tx) error {
		log = nil
		if err := fn(joined{tx, journal(tx, &log)}); err != nil {
			return err
		}
		b.mu.Lock() // inside the Update, so that the shadow follows in order
		defer b.mu.Unlock()
		err := replay(b.shadow, b.last)
		b.last = log
		return err
	})
	return err
}

type lateEvents struct {
	store.Reader
	late store.Reader
}

func (r lateEvents) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	return r.late.Events(ctx, q)
}

// readingInUpdates replaces the reader of a Tx, given a reader of the data
// committed before the Update.
func readingInUpdates(read func(before, tx store.Reader) store.Reader) func() store.Store {
	return updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
		return st.Update(ctx, func(tx store.Tx) error {
			return st.View(context.WithoutCancel(ctx), func(before store.Reader) error {
				return fn(joined{read(before, tx), tx})
			})
		})
	})
}

type seatsBefore struct {
	store.Reader
	before store.Reader
}

func (r seatsBefore) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	return r.before.Activations(ctx, q)
}

type listsBefore struct {
	store.Reader
	before store.Reader
}

func (r listsBefore) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	return r.before.Events(ctx, q)
}

func (r listsBefore) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	return r.before.Entries(ctx, q)
}

// dirty shows readers a second store, to which every write goes immediately, and
// which is rebuilt from the committed data when an Update fails.
type dirty struct {
	inner   *memory.Store
	shown   atomic.Pointer[memory.Store]
	history []written
}

func newDirty() store.Store {
	d := &dirty{inner: memory.New()}
	d.shown.Store(memory.New())
	return struct {
		store.Reader
		viewer
	}{pick.Reader{From: func() store.Reader { return d.shown.Load() }}, d}
}

func (d *dirty) View(ctx context.Context, fn func(store.Reader) error) error {
	return d.shown.Load().View(ctx, fn)
}

func (d *dirty) Update(ctx context.Context, fn func(store.Tx) error) error {
	var log []written
	return d.inner.Update(ctx, func(tx store.Tx) error {
		committed := false
		defer func() {
			if !committed {
				st := memory.New()
				_ = replay(st, d.history)
				d.shown.Store(st)
			}
		}()
		log = nil
		err := fn(joined{tx, hooked{func(ctx context.Context, _ string, call written) error {
			if err := call(ctx, tx); err != nil {
				return err
			}
			log = append(log, call)
			return replay(d.shown.Load(), []written{call})
		}}})
		if err == nil {
			committed = true
			d.history = append(d.history, log...)
		}
		return err
	})
}

var errInSteps = errors.New("to be committed in two steps")

// twoSteps commits the first write of an Update, gives readers time to read, and
// commits the rest.
type twoSteps struct {
	*memory.Store
	turn  chan struct{}
	reads atomic.Int64
}

func newTwoSteps() store.Store {
	s := &twoSteps{Store: memory.New(), turn: make(chan struct{}, 1)}
	return struct {
		store.Reader
		viewer
	}{pick.Reader{From: func() store.Reader { s.reads.Add(1); return s.Store }}, s}
}

func (s *twoSteps) Update(ctx context.Context, fn func(store.Tx) error) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var log []written
	err := s.Store.Update(ctx, func(tx store.Tx) error {
		log = nil
		if err := fn(joined{tx, journal(tx, &log)}); err != nil {
			return err
		}
		if len(log) == 2 {
			return errInSteps
		}
		return nil
	})
	if !errors.Is(err, errInSteps) {
		return err
	}
	if err := replay(s.Store, log[:1]); err != nil {
		return err
	}
	for seen, n := s.reads.Load(), 0; s.reads.Load() < seen+4 && n < 50; n++ {
		time.Sleep(10 * time.Microsecond)
	}
	return replay(s.Store, log[1:])
}
