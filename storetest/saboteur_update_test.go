package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// updateSaboteurs break what holds for Updates and Views as such.
var updateSaboteurs = []saboteur{
	{2, "remembers that a key led nowhere", func() store.Store {
		return &remembersMisses{Store: memory.New(), missed: map[string]error{}}
	}},
	{2, "reads what was there before the last Update", func() store.Store {
		return newBehind(func(b *behind) store.Reader { return b.shadow })
	}},
	{2, "lists events late", func() store.Store {
		return newBehind(func(b *behind) store.Reader { return lateEvents{b.Store, b.shadow} })
	}},

	{3, "reads in an Update what was committed before it", readingInUpdates(func(before, tx store.Reader) store.Reader { return before })},
	{3, "counts in an Update what was committed before it", readingInUpdates(func(before, tx store.Reader) store.Reader {
		return countsBefore{tx, before}
	})},
	{3, "lists in an Update what was committed before it", readingInUpdates(func(before, tx store.Reader) store.Reader {
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
		if err := st.Update(ctx, fn); !errors.Is(err, errOnPurpose) {
			return err
		}
		return nil
	})},
	{4, "lets readers see what is being written", newDirty},
	{4, "commits in two steps", newTwoSteps},
	{4, "keeps the tallies of a failed Update", updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
		var tallies []written
		err := st.Update(ctx, func(tx store.Tx) error {
			tallies = nil
			return fn(joined{tx, hooked{func(ctx context.Context, method string, call written) error {
				if method == "AddTally" {
					tallies = append(tallies, call)
				}
				return call(ctx, tx)
			}}})
		})
		if err != nil && len(tallies) > 0 {
			_ = replay(st, tallies)
		}
		return err
	})},

	{5, "runs Updates on a snapshot", func() store.Store { return &onSnapshot{Store: memory.New()} }},
	{5, "trusts a count", func() store.Store {
		return &onSnapshot{Store: memory.New(), trusted: map[string]bool{"CountActivations": true}}
	}},
	{5, "trusts lists", func() store.Store {
		return &onSnapshot{Store: memory.New(), trusted: map[string]bool{
			"CountActivations": true, "Licenses": true, "Activations": true, "Entries": true, "Deliveries": true, "Tallies": true,
		}}
	}},
	{5, "trusts gets", func() store.Store {
		return &onSnapshot{Store: memory.New(), trusted: map[string]bool{"License": true, "Entry": true, "Delivery": true, "Activation": true}}
	}},

	{6, "reads in a View what is committed by then", func() store.Store { return liveViews{memory.New()} }},
	{6, "reads lists in halves", func() store.Store { return &halves{Store: memory.New()} }},

	{15, "dooms an Update that met a sentinel", updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
		var doomed bool
		err := st.Update(ctx, func(tx store.Tx) error {
			doomed = false
			if err := fn(joined{tx, doom(tx, &doomed)}); err != nil {
				return err
			}
			if doomed {
				return errDoomed
			}
			return nil
		})
		return err
	})},
	{15, "fails every call after a sentinel", updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
		return st.Update(ctx, func(tx store.Tx) error {
			doomed := false
			return fn(joined{tx, hooked{func(ctx context.Context, _ string, call written) error {
				if doomed {
					return errDoomed
				}
				err := call(ctx, tx)
				doomed = errors.Is(err, store.ErrExists) || errors.Is(err, store.ErrNotFound)
				return err
			}}})
		})
	})},
	{15, "drops what an Update wrote that met a sentinel", updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
		var doomed bool
		err := st.Update(ctx, func(tx store.Tx) error {
			doomed = false
			if err := fn(joined{tx, doom(tx, &doomed)}); err != nil {
				return err
			}
			if doomed {
				return errDoomed
			}
			return nil
		})
		if errors.Is(err, errDoomed) {
			return nil
		}
		return err
	})},

	{16, "names another error when it is over", writing(func(tx store.Tx) store.Writer {
		return hooked{func(ctx context.Context, _ string, call written) error {
			err := call(ctx, tx)
			if errors.Is(err, store.ErrTxDone) {
				return errors.New("closed")
			}
			return err
		}}
	})},
	{16, "reads on after a View", func() store.Store { return livesOn{memory.New()} }},
	{16, "writes after an Update", func() store.Store {
		st := memory.New()
		return spoiled{st, st, func(r store.Reader) store.Reader { return r }, func(tx store.Tx) store.Writer {
			return hooked{func(ctx context.Context, _ string, call written) error {
				err := call(ctx, tx)
				if errors.Is(err, store.ErrTxDone) {
					_ = replay(st, []written{call})
				}
				return err
			}}
		}}
	}},

	{17, "makes an error of a panic", updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		return st.Update(ctx, fn)
	})},
	{17, "keeps what a panicking Update wrote", updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
		var log []written
		returned := false
		defer func() {
			if !returned {
				_ = replay(st, log)
			}
		}()
		err := st.Update(ctx, func(tx store.Tx) error {
			log = nil
			return fn(joined{tx, journal(tx, &log)})
		})
		returned = true
		return err
	})},
	{17, "keeps its turn after a panic", func() store.Store {
		return &keepsTurn{Store: memory.New(), turn: make(chan struct{}, 1), after: func(p any) bool { return p != nil }}
	}},
	{17, "keeps its turn after Goexit", func() store.Store {
		return &keepsTurn{Store: memory.New(), turn: make(chan struct{}, 1), after: func(p any) bool { return p == nil }}
	}},
	{17, "survives Goexit", updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) (err error) {
		err = errors.New("goroutine ended")
		var p any
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() { p = recover() }()
			err = st.Update(ctx, fn)
		}()
		<-done
		if p != nil {
			panic(p)
		}
		return err
	})},
	{17, "undoes a neighbour too", func() store.Store { return &undoesNeighbour{Store: memory.New()} }},

	{18, "waits on when the context has ended", updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return st.Update(context.WithoutCancel(ctx), fn)
	})},
	{18, "reads on when the context has ended", reading(func(r store.Reader) store.Reader { return tirelessReader{r} })},
	{18, "writes on when the context has ended", writing(func(tx store.Tx) store.Writer {
		return hooked{func(ctx context.Context, method string, call written) error {
			if method == "PutDelivery" {
				ctx = context.WithoutCancel(ctx)
			}
			return call(ctx, tx)
		}}
	})},
	{18, "does not commit when the context has ended", updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
		return st.Update(ctx, func(tx store.Tx) error {
			if err := fn(tx); err != nil {
				return err
			}
			return ctx.Err()
		})
	})},
	{18, "commits and says that the context has ended", updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
		if err := st.Update(ctx, fn); err != nil {
			return err
		}
		return ctx.Err()
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
		b.mu.Lock() // within the turn, so that the shadow follows in order
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

// readingInUpdates replaces the reader of a Tx, given one of what was
// committed before.
func readingInUpdates(read func(before, tx store.Reader) store.Reader) func() store.Store {
	return updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
		return st.Update(ctx, func(tx store.Tx) error {
			return st.View(context.WithoutCancel(ctx), func(before store.Reader) error {
				return fn(joined{read(before, tx), tx})
			})
		})
	})
}

type countsBefore struct {
	store.Reader
	before store.Reader
}

func (r countsBefore) CountActivations(ctx context.Context, q store.ActivationQuery) (int, error) {
	return r.before.CountActivations(ctx, q)
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

// dirty shows readers a second store, to which every write goes at once, and
// which is made anew from all that was committed when an Update fails.
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
	}{readingFrom{func() store.Reader { return d.shown.Load() }}, d}
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

// twoSteps commits the first write of an Update, lets readers have a look, and
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
	}{readingFrom{func() store.Reader { s.reads.Add(1); return s.Store }}, s}
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
			return errAgain
		}
		return nil
	})
	if !errors.Is(err, errAgain) {
		return err
	}
	if err := replay(s.Store, log[:1]); err != nil {
		return err
	}
	for seen, n := s.reads.Load(), 0; s.reads.Load() < seen+4 && n < 1000; n++ {
		time.Sleep(10 * time.Microsecond)
	}
	return replay(s.Store, log[1:])
}

// onSnapshot runs an Update on a snapshot, at the same time as others, and
// commits what it wrote on top of what they have committed meanwhile. It does
// so if the Update reads first and writes then, and reads by trusted methods
// only; otherwise it runs it again in an honest way.
type onSnapshot struct {
	store.Store
	trusted map[string]bool // nil: all
}

var errHonest = errors.New("must be run in an honest way")

func (s *onSnapshot) Update(ctx context.Context, fn func(store.Tx) error) error {
	var log []written
	honest := false
	err := s.Store.View(ctx, func(r store.Reader) error {
		over := false
		defer func() { over = true }()
		distrust := func() store.Reader {
			if len(log) > 0 && !over {
				honest = true
			}
			return r
		}
		var reader store.Reader = readingFrom{distrust}
		if s.trusted != nil {
			reader = selective{reader, s.trusted, &honest}
		}
		return fn(joined{reader, hooked{func(ctx context.Context, method string, call written) error {
			if over {
				return store.ErrTxDone
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if honest = honest || method == "AppendEvent" || method == "DeleteEvents"; honest {
				return errHonest
			}
			log = append(log, call)
			return nil
		}}})
	})
	if err == nil && !honest && len(log) > 0 && replay(s.Store, log) == nil {
		return nil
	}
	return s.Store.Update(ctx, fn)
}

// selective sets honest when a method is called that is not trusted.
type selective struct {
	store.Reader
	trusted map[string]bool
	honest  *bool
}

func (r selective) check(method string) { *r.honest = *r.honest || !r.trusted[method] }

func (r selective) License(ctx context.Context, id string) (store.License, error) {
	r.check("License")
	return r.Reader.License(ctx, id)
}

func (r selective) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	r.check("LicenseByKey")
	return r.Reader.LicenseByKey(ctx, key)
}

func (r selective) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	r.check("Licenses")
	return r.Reader.Licenses(ctx, q)
}

func (r selective) Activation(ctx context.Context, licenseID, fingerprint string) (store.Activation, error) {
	r.check("Activation")
	return r.Reader.Activation(ctx, licenseID, fingerprint)
}

func (r selective) CountActivations(ctx context.Context, q store.ActivationQuery) (int, error) {
	r.check("CountActivations")
	return r.Reader.CountActivations(ctx, q)
}

func (r selective) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	r.check("Entry")
	return r.Reader.Entry(ctx, kind, key)
}

func (r selective) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	r.check("Entries")
	return r.Reader.Entries(ctx, q)
}

func (r selective) Delivery(ctx context.Context, id string) (store.Delivery, error) {
	r.check("Delivery")
	return r.Reader.Delivery(ctx, id)
}

func (r selective) Deliveries(ctx context.Context, q store.DeliveryQuery) ([]store.Delivery, error) {
	r.check("Deliveries")
	return r.Reader.Deliveries(ctx, q)
}

func (r selective) Tallies(ctx context.Context, q store.TallyQuery) ([]store.Tally, error) {
	r.check("Tallies")
	return r.Reader.Tallies(ctx, q)
}

// liveViews reads in a View from the store itself.
type liveViews struct{ store.Store }

func (s liveViews) View(ctx context.Context, fn func(store.Reader) error) error {
	return s.Store.View(ctx, func(r store.Reader) error {
		var over atomic.Bool
		defer over.Store(true)
		return fn(readingFrom{func() store.Reader {
			if over.Load() {
				return r
			}
			return s.Store
		}})
	})
}

// livesOn reads from the store itself once a View is over.
type livesOn struct{ store.Store }

func (s livesOn) View(ctx context.Context, fn func(store.Reader) error) error {
	return s.Store.View(ctx, func(r store.Reader) error {
		var over atomic.Bool
		defer over.Store(true)
		return fn(readingFrom{func() store.Reader {
			if over.Load() {
				return s.Store
			}
			return r
		}})
	})
}

// halves reads the second half of a list of licences after the next Update,
// if one comes soon.
type halves struct {
	store.Store
	updates atomic.Int64
}

func (s *halves) Update(ctx context.Context, fn func(store.Tx) error) error {
	defer s.updates.Add(1)
	return s.Store.Update(ctx, fn)
}

func (s *halves) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	first, err := s.Store.Licenses(ctx, q)
	if len(first) != 2 {
		return first, err
	}
	for seen, n := s.updates.Load(), 0; s.updates.Load() == seen && n < 100; n++ {
		runtime.Gosched()
	}
	then, err := s.Store.Licenses(ctx, q)
	if len(then) != 2 {
		return then, err
	}
	return []store.License{first[0], then[1]}, err
}

var errDoomed = errors.New("the transaction is aborted")

// doom sets doomed when a call returns a sentinel.
func doom(tx store.Tx, doomed *bool) store.Writer {
	return hooked{func(ctx context.Context, _ string, call written) error {
		err := call(ctx, tx)
		if errors.Is(err, store.ErrExists) || errors.Is(err, store.ErrNotFound) {
			*doomed = true
		}
		return err
	}}
}

// keepsTurn has turns of its own, and does not give one back after an Update
// that ended in the way for which after returns true.
type keepsTurn struct {
	store.Store
	turn  chan struct{}
	after func(panicked any) bool
}

func (s *keepsTurn) Update(ctx context.Context, fn func(store.Tx) error) error {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	returned := false
	defer func() {
		p := recover()
		if returned || !s.after(p) {
			<-s.turn
		}
		if p != nil {
			panic(p)
		}
	}()
	err := s.Store.Update(ctx, fn)
	returned = true
	return err
}

// undoesNeighbour commits Updates by two, and drops both if one panics.
type undoesNeighbour struct {
	store.Store
	mu   sync.Mutex
	last []any // identities of entries that the last Update put
}

func (s *undoesNeighbour) Update(ctx context.Context, fn func(store.Tx) error) error {
	var put []any
	returned := false
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !returned {
			for _, e := range s.last {
				_ = s.Store.Update(context.Background(), func(tx store.Tx) error { return remove(context.Background(), tx, e) })
			}
		}
		s.last = put
	}()
	err := s.Store.Update(ctx, func(tx store.Tx) error {
		put = nil
		return fn(joined{tx, noting{tx, &put}})
	})
	returned = true
	return err
}

type noting struct {
	store.Writer
	put *[]any
}

func (w noting) PutEntry(ctx context.Context, e store.Entry) error {
	*w.put = append(*w.put, e)
	return w.Writer.PutEntry(ctx, e)
}

type tirelessReader struct{ store.Reader }

func (r tirelessReader) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	return r.Reader.Entries(context.WithoutCancel(ctx), q)
}
