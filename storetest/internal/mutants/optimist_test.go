package mutants

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest/internal/pick"
)

// optimistMutants run the function of an Update without a lock, and write what it has
// written if what it has read is unchanged.
var optimistMutants = []mutant{
	{5, "does not check what a failed Update has read", func() store.Store { return &optimist{Store: memory.New(), trustsFailures: true} }},
	{5, "checks what was read before it has the write lock", func() store.Store { return &optimist{Store: memory.New(), early: true} }},
	{5, "compares a version that a row can have again", func() store.Store { return &optimist{Store: memory.New(), repeats: true} }},
}

// An optimist runs Updates that only get entries, put entries and append events so. It
// runs all others, and Updates that have met others, one after another.
type optimist struct {
	store.Store
	trustsFailures, early, repeats bool
}

// An attempt is one run of a function.
type attempt struct {
	joined
	s      *optimist
	found  map[[2]string]string // entries, as they were found
	log    []written
	honest bool // it must run in another way
	over   bool
}

func (s *optimist) Update(ctx context.Context, fn func(store.Tx) error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var dead store.Reader
	_ = s.View(ctx, func(r store.Reader) error {
		dead = r
		return nil
	})
	a := &attempt{s: s, found: map[[2]string]string{}}
	a.Reader = pick.Reader{From: func() store.Reader {
		if a.over {
			return dead
		}
		a.honest = true
		return s.Store
	}}
	a.Writer = hooked{func(ctx context.Context, method string, call written) error {
		switch {
		case a.over:
			return store.ErrTxDone
		case ctx.Err() != nil:
			return ctx.Err()
		case method != "PutEntries" && method != "AppendEvents":
			a.honest = true
			return errHonest
		}
		a.log = append(a.log, call)
		return nil
	}}
	err := a.run(fn)
	switch {
	case a.honest:
	case err != nil && s.trustsFailures:
		return err
	case err != nil || len(a.log) == 0:
		if s.View(context.WithoutCancel(ctx), a.check) == nil {
			return err
		}
	case s.early:
		if s.View(context.WithoutCancel(ctx), a.check) == nil {
			runtime.Gosched()
			if replay(s.Store, a.log) == nil {
				return nil
			}
		}
	default:
		if s.Store.Update(context.WithoutCancel(ctx), func(tx store.Tx) error {
			failed := a.check(tx)
			for _, call := range a.log {
				if failed == nil {
					failed = call(context.Background(), tx)
				}
			}
			return failed
		}) == nil {
			return nil
		}
	}
	return s.Store.Update(ctx, fn)
}

// run calls the function. One that panics runs in another way.
func (a *attempt) run(fn func(store.Tx) error) (err error) {
	returned := false
	defer func() {
		if a.over = true; !returned && recover() != nil {
			a.honest = true
		}
	}()
	err = fn(a)
	returned = true
	return err
}

func (a *attempt) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	if a.over {
		return store.Entry{}, store.ErrTxDone
	}
	e, err := a.s.Entry(ctx, kind, key)
	if err == nil || errors.Is(err, store.ErrNotFound) {
		a.honest = a.honest || len(a.log) > 0 // its own writes
		if _, again := a.found[[2]string{kind, key}]; !again {
			a.found[[2]string{kind, key}] = a.state(e, err)
		}
		runtime.Gosched()
	}
	return e, err
}

// state returns what must not change of an entry.
func (a *attempt) state(e store.Entry, err error) string {
	if a.s.repeats {
		return fmt.Sprint(len(e.Data), err == nil)
	}
	return fmt.Sprintf("%+v %v", e, err == nil)
}

// check returns an error if what was read has changed.
func (a *attempt) check(r store.Reader) error {
	for at, was := range a.found {
		if e, err := r.Entry(context.Background(), at[0], at[1]); a.state(e, err) != was {
			return store.ErrConflict
		}
	}
	return nil
}
