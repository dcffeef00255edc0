package mutants

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest/internal/pick"
)

// endingMutants break the rules about how an Update ends.
var endingMutants = []mutant{
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

	{16, "returns another error than ErrTxDone", writing(func(tx store.Tx) store.Writer {
		return hooked{func(ctx context.Context, _ string, call written) error {
			err := call(ctx, tx)
			if errors.Is(err, store.ErrTxDone) {
				return errors.New("closed")
			}
			return err
		}}
	})},
	{16, "reads after the end of a View", func() store.Store { return livesOn{memory.New()} }},
	{16, "writes after the end of an Update", func() store.Store {
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

	{17, "turns a panic into an error", updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) (err error) {
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
	{17, "keeps the write lock after a panic", func() store.Store {
		return &keepsLock{Store: memory.New(), turn: make(chan struct{}, 1), after: func(p any) bool { return p != nil }}
	}},
	{17, "keeps the write lock after Goexit", func() store.Store {
		return &keepsLock{Store: memory.New(), turn: make(chan struct{}, 1), after: func(p any) bool { return p == nil }}
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
	{17, "undoes a neighbor too", func() store.Store { return &undoesNeighbor{Store: memory.New()} }},

	{18, "waits after the context has ended", updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return st.Update(context.WithoutCancel(ctx), fn)
	})},
	{18, "reads after the context has ended", reading(func(r store.Reader) store.Reader { return tirelessReader{r} })},
	{18, "writes after the context has ended", writing(func(tx store.Tx) store.Writer {
		return hooked{func(ctx context.Context, method string, call written) error {
			if method == "PutEntries" {
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
	{18, "fails a View whose context has ended", func() store.Store { return viewsFail{memory.New()} }},
	{18, "returns the cause of a context", updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
		err := st.Update(ctx, fn)
		if err != nil && errors.Is(err, ctx.Err()) {
			return context.Cause(ctx)
		}
		return err
	})},
	{18, "runs the function of an Update after it gave up its wait", func() store.Store { return &runsLater{memory.New(), make(chan struct{}, 1)} }},
	{29, "returns ErrUnknownOutcome with every error", updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
		if err := st.Update(ctx, fn); err != nil {
			return errors.Join(err, store.ErrUnknownOutcome)
		}
		return nil
	})},
	{18, "commits and returns the context's error", updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
		if err := st.Update(ctx, fn); err != nil {
			return err
		}
		return ctx.Err()
	})},
}

type viewsFail struct{ store.Store }

func (s viewsFail) View(ctx context.Context, fn func(store.Reader) error) error {
	if err := s.Store.View(ctx, fn); err != nil {
		return err
	}
	return ctx.Err()
}

// runsLater has its own write lock.
type runsLater struct {
	store.Store
	turn chan struct{}
}

func (s *runsLater) Update(ctx context.Context, fn func(store.Tx) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
		return s.Store.Update(ctx, fn)
	case <-ctx.Done():
		go func() {
			s.turn <- struct{}{}
			defer func() { <-s.turn }()
			_ = s.Store.Update(context.WithoutCancel(ctx), fn)
		}()
		return ctx.Err()
	}
}

// livesOn reads from the store itself once a View is over.
type livesOn struct{ store.Store }

func (s livesOn) View(ctx context.Context, fn func(store.Reader) error) error {
	return s.Store.View(ctx, func(r store.Reader) error {
		var over atomic.Bool
		defer over.Store(true)
		return fn(pick.Reader{From: func() store.Reader {
			if over.Load() {
				return s.Store
			}
			return r
		}})
	})
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

// keepsLock has its own write lock, and does not release it after an Update that
// ended in a way for which after returns true.
type keepsLock struct {
	store.Store
	turn  chan struct{}
	after func(panicked any) bool
}

func (s *keepsLock) Update(ctx context.Context, fn func(store.Tx) error) error {
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

// undoesNeighbor commits Updates in pairs, and drops both if one panics.
type undoesNeighbor struct {
	store.Store
	mu   sync.Mutex
	last []store.Entry // what the last Update put
}

func (s *undoesNeighbor) Update(ctx context.Context, fn func(store.Tx) error) error {
	var put []store.Entry
	returned := false
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !returned {
			for _, e := range s.last {
				_ = s.Store.Update(context.Background(), func(tx store.Tx) error {
					return tx.DeleteEntries(context.Background(), e.Kind, e.Key)
				})
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
	put *[]store.Entry
}

func (w noting) PutEntries(ctx context.Context, entries ...store.Entry) error {
	*w.put = append(*w.put, entries...)
	return w.Writer.PutEntries(ctx, entries...)
}

type tirelessReader struct{ store.Reader }

func (r tirelessReader) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	return r.Reader.Entries(context.WithoutCancel(ctx), q)
}
