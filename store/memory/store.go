package memory

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A Store keeps everything in memory. It is safe for concurrent use: reads and
// Views never wait, Updates wait for one another. [New] makes one.
type Store struct {
	reader
	state atomic.Pointer[state] // what is committed; nil once closed
	turn  chan struct{}         // holds one value while an Update runs
}

var _ store.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store {
	s := &Store{turn: make(chan struct{}, 1)}
	s.reader = reader{s.committed}
	s.state.Store(&state{})
	return s
}

// Close waits for the Update that is running, if one is, and forgets
// everything. Every later call returns [store.ErrUnavailable]; a View that
// has begun may finish. Closing again does nothing. It always returns nil.
func (s *Store) Close() error {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	s.state.Store(nil)
	return nil
}

// View calls fn with a Reader on what is committed now. It never makes an
// Update wait.
func (s *Store) View(ctx context.Context, fn func(store.Reader) error) error {
	now, err := s.committed(ctx)
	if err != nil {
		return err
	}
	var over atomic.Bool
	defer over.Store(true)
	return fn(reader{until(&over, now)})
}

// Update waits for the write lock, calls fn once, and commits what it wrote if it
// returns nil. The wait ends with ctx.
func (s *Store) Update(ctx context.Context, fn func(store.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return fmt.Errorf("memory: waiting for other updates: %w", ctx.Err())
	}
	now := s.state.Load()
	if now == nil {
		return fmt.Errorf("memory: closed: %w", store.ErrUnavailable)
	}

	next := *now
	var over atomic.Bool
	defer over.Store(true) // also when fn panics
	if err := fn(tx{reader{until(&over, &next)}}); err != nil {
		return err
	}
	over.Store(true)
	s.state.Store(&next)
	return nil
}

// committed returns the state that the next read outside of Update and View
// is to see.
func (s *Store) committed(ctx context.Context) (*state, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	now := s.state.Load()
	if now == nil {
		return nil, fmt.Errorf("memory: closed: %w", store.ErrUnavailable)
	}
	return now, nil
}

// until returns a function that returns s until over is set.
func until(over *atomic.Bool, s *state) func(context.Context) (*state, error) {
	return func(ctx context.Context) (*state, error) {
		if over.Load() {
			return nil, fmt.Errorf("memory: %w", store.ErrTxDone)
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("memory: %w", err)
		}
		return s, nil
	}
}
