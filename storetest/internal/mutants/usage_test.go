package mutants

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest/internal/pick"
)

// usageMutants break what callers of a store may rely on.
var usageMutants = []mutant{
	{2, "returns before a shared commit", newEarly},
	{18, "checks the context of the Update in each call", updating(func(st store.Store, update context.Context, fn func(store.Tx) error) error {
		return st.Update(update, func(tx store.Tx) error {
			return fn(joined{tx, hooked{func(ctx context.Context, _ string, call written) error {
				if err := update.Err(); err != nil {
					return err
				}
				return call(ctx, tx)
			}}})
		})
	})},
	{23, "refuses a key that an undone Update took", func() store.Store {
		return &speculates{Store: memory.New(), pending: map[string]int{}}
	}},
	{24, "finds customers by the valid part of a string", reading(func(r store.Reader) store.Reader { return validPart{r} })},
	{24, "fails an Update that wrote what is not UTF-8", updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
		return st.Update(ctx, func(tx store.Tx) error {
			doomed := false
			err := fn(joined{tx, refusesText{tx, &doomed}})
			if err == nil && doomed {
				return errDoomed
			}
			return err
		})
	})},
	{24, "cuts strings at 1,022 bytes", onEntry(func(e *store.Entry) { e.Owner = e.Owner[:min(len(e.Owner), 1022)] })},
	{25, "accepts a time without an id as a position", reading(func(r store.Reader) store.Reader { return timeWithoutID{r} })},
	{26, "refuses calls from another goroutine", updating(func(st store.Store, ctx context.Context, fn func(store.Tx) error) error {
		own := goroutine()
		return st.Update(ctx, func(tx store.Tx) error {
			return fn(joined{tx, hooked{func(ctx context.Context, _ string, call written) error {
				if goroutine() != own {
					return errors.New("called from another goroutine")
				}
				return call(ctx, tx)
			}}})
		})
	})},
	{27, "waits for Views that began later", func() store.Store { return &waitsForViews{Store: memory.New()} }},
	{27, "returns when no other Update waits", func() store.Store { return &together{Store: memory.New()} }},
	{27, "answers a failed Update when no other waits", func() store.Store { return &together{Store: memory.New(), failed: true} }},
	{27, "hangs after a View that failed", func() store.Store { return &waitsOn{Store: memory.New()} }},
}

// goroutine returns the number of the goroutine.
func goroutine() string {
	text := make([]byte, 64)
	text = text[:runtime.Stack(text, false)]
	return strings.Fields(string(text))[1]
}

// early runs Updates on one store and reads from another, to which they are
// copied when no Update waits. Each Update returns as soon as it has run.
type early struct {
	ahead, shown *memory.Store
	waiting      atomic.Int64
	mu           sync.Mutex
	log          []written
}

func newEarly() store.Store {
	e := &early{ahead: memory.New(), shown: memory.New()}
	return struct {
		store.Reader
		viewer
	}{pick.Reader{From: func() store.Reader { return e.shown }}, e}
}

func (e *early) View(ctx context.Context, fn func(store.Reader) error) error {
	return e.shown.View(ctx, fn)
}

func (e *early) Update(ctx context.Context, fn func(store.Tx) error) error {
	e.waiting.Add(1)
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.waiting.Add(-1) == 0 && len(e.log) > 0 {
			_ = replay(e.shown, e.log)
			e.log = nil
		}
	}()
	return e.ahead.Update(ctx, func(tx store.Tx) error {
		var log []written
		if err := fn(joined{tx, journal(tx, &log)}); err != nil {
			return err
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		e.log = append(e.log, log...)
		return nil
	})
}

// speculates returns ErrExists immediately if another Update that has not ended
// has taken the key.
type speculates struct {
	store.Store
	mu      sync.Mutex
	pending map[string]int
}

func (s *speculates) Update(ctx context.Context, fn func(store.Tx) error) error {
	s.mu.Lock()
	busy := len(s.pending) > 0
	s.mu.Unlock()
	if busy {
		if err := s.guess(ctx, fn); err != nil {
			return err
		}
	}
	var mine []string
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, key := range mine {
			if s.pending[key]--; s.pending[key] == 0 {
				delete(s.pending, key)
			}
		}
	}()
	return s.Store.Update(ctx, func(tx store.Tx) error {
		return fn(joined{tx, notesKeys{tx, func(key string) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.pending[key]++
			mine = append(mine, key)
		}}})
	})
}

var errGuessed = errors.New("no guess")

// guess runs fn up to its first call, which fails unless it creates a license.
func (s *speculates) guess(ctx context.Context, fn func(store.Tx) error) (taken error) {
	var dead store.Reader
	_ = s.Store.View(ctx, func(r store.Reader) error {
		dead = r
		return nil
	})
	if dead == nil {
		return nil
	}
	refuse := hooked{func(context.Context, string, written) error { return errGuessed }}
	_ = fn(joined{dead, creates{refuse, func(l store.License) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.pending[l.Key] == 0 {
			return errGuessed
		}
		taken = fmt.Errorf("key of license %s: %w", l.ID, store.ErrExists)
		return taken
	}}})
	return taken
}

type creates struct {
	store.Writer
	create func(store.License) error
}

func (w creates) CreateLicenses(_ context.Context, licenses ...store.License) error {
	for _, l := range licenses {
		if err := w.create(l); err != nil {
			return err
		}
	}
	return nil
}

type notesKeys struct {
	store.Writer
	note func(key string)
}

func (w notesKeys) CreateLicenses(ctx context.Context, licenses ...store.License) error {
	err := w.Writer.CreateLicenses(ctx, licenses...)
	for _, l := range licenses {
		if err == nil {
			w.note(l.Key)
		}
	}
	return err
}

type validPart struct{ store.Reader }

func (r validPart) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	q.CustomerID = strings.ToValidUTF8(q.CustomerID, "")
	return r.Reader.Licenses(ctx, q)
}

type refusesText struct {
	store.Writer
	doomed *bool
}

func (w refusesText) PutEntries(ctx context.Context, entries ...store.Entry) error {
	for _, e := range entries {
		if !utf8.ValidString(e.Owner) {
			*w.doomed = true
			return errors.New("not UTF-8")
		}
	}
	return w.Writer.PutEntries(ctx, entries...)
}

type timeWithoutID struct{ store.Reader }

func (r timeWithoutID) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	if q.Order == store.ByID && q.After.ID == "" && !q.After.Time.IsZero() && q.Descending {
		return nil, ctx.Err()
	}
	return r.Reader.Licenses(ctx, q)
}

// waitsForViews returns from an Update when no View is running.
type waitsForViews struct {
	store.Store
	views atomic.Int64
}

func (s *waitsForViews) View(ctx context.Context, fn func(store.Reader) error) error {
	s.views.Add(1)
	defer s.views.Add(-1)
	return s.Store.View(ctx, fn)
}

func (s *waitsForViews) Update(ctx context.Context, fn func(store.Tx) error) error {
	err := s.Store.Update(ctx, fn)
	for s.views.Load() > 0 && ctx.Err() == nil {
		time.Sleep(100 * time.Microsecond)
	}
	return err
}

// together returns from Updates that were done, or from Updates that failed, when no
// other Update is in progress.
type together struct {
	store.Store
	failed     bool
	inProgress atomic.Int64
}

func (s *together) Update(ctx context.Context, fn func(store.Tx) error) error {
	err := s.run(ctx, fn)
	for (err != nil) == s.failed && s.inProgress.Load() > 0 && ctx.Err() == nil {
		time.Sleep(100 * time.Microsecond)
	}
	return err
}

func (s *together) run(ctx context.Context, fn func(store.Tx) error) error {
	s.inProgress.Add(1)
	defer s.inProgress.Add(-1) // also when fn panics
	return s.Store.Update(ctx, fn)
}

// waitsOn lets no Update begin after a View that failed.
type waitsOn struct {
	store.Store
	stuck atomic.Bool
}

func (s *waitsOn) View(ctx context.Context, fn func(store.Reader) error) error {
	err := s.Store.View(ctx, fn)
	if err != nil && ctx.Err() == nil {
		s.stuck.Store(true)
	}
	return err
}

func (s *waitsOn) Update(ctx context.Context, fn func(store.Tx) error) error {
	if s.stuck.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Store.Update(ctx, fn)
}
