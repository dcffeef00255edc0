package mutants

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A disk keeps the calls that committed Updates made, and opens stores by
// making them again.
type disk struct {
	calls []diskCall
	// lose, unless nil, makes the disk lose data when a store is closed.
	lose func([]diskCall) []diskCall
}

type diskCall struct {
	update int // counts Updates
	method string
	call   written
}

// durableMutants break the rules about closing and reopening.
var durableMutants = []struct {
	rule int
	does string
	lose func([]diskCall) []diskCall
}{
	{1, "loses the last Update", func(calls []diskCall) []diskCall {
		return slices.DeleteFunc(calls, func(c diskCall) bool { return c.update == calls[len(calls)-1].update })
	}},
	{1, "loses everything", func(calls []diskCall) []diskCall { return nil }},
	{1, "loses entries", without("PutEntries")},
	{1, "loses deletions", without("DeleteEntries")},
	{20, "counts Seqs from one again", func(calls []diskCall) []diskCall {
		i := slices.IndexFunc(calls, func(c diskCall) bool { return c.method == "DeleteEvents" })
		return slices.Concat(without("AppendEvents")(calls[:i+1]), calls[i+1:])
	}},
}

func without(method string) func([]diskCall) []diskCall {
	return func(calls []diskCall) []diskCall {
		return slices.DeleteFunc(slices.Clone(calls), func(c diskCall) bool { return c.method == method })
	}
}

func (d *disk) open() store.Store {
	st := memory.New()
	for _, c := range d.calls {
		_ = replay(st, []written{c.call})
	}
	return &diskStore{st, d, 0}
}

type diskStore struct {
	*memory.Store
	*disk
	updates int
}

func (s *diskStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	var log []diskCall
	return s.Store.Update(ctx, func(tx store.Tx) error {
		log = nil
		s.updates++
		err := fn(joined{tx, hooked{func(ctx context.Context, method string, call written) error {
			err := call(ctx, tx)
			if err == nil {
				log = append(log, diskCall{s.updates, method, call})
			}
			return err
		}}})
		if err == nil {
			s.calls = append(s.calls, log...)
		}
		return err
	})
}

func (s *diskStore) Close() error {
	if s.lose != nil && len(s.calls) > 0 {
		s.calls = s.lose(s.calls)
	}
	return s.Store.Close()
}

// A closesEarly saves what it has committed when Close is called, and acknowledges
// Updates until they end.
type closesEarly struct{ *diskStore }

func (s closesEarly) Close() error {
	saved := s.committed()
	for range 30 {
		if s.committed() > saved { // an Update that comes during Close
			break
		}
		time.Sleep(time.Millisecond)
	}
	err := s.diskStore.Close()
	s.calls = s.calls[:saved]
	return err
}

// committed returns the number of calls of committed Updates.
func (s *diskStore) committed() (n int) {
	_ = s.Store.Update(context.Background(), func(store.Tx) error {
		n = len(s.calls)
		return nil
	})
	return n
}

// A meetsClose is wrong about Updates that run when Close begins: it loses what it has
// acknowledged or, if it refuses, keeps what it has not.
type meetsClose struct {
	*diskStore
	refuses bool
	closing *atomic.Bool
	lost    *atomic.Int64 // the number of such an Update
}

func (s meetsClose) Update(ctx context.Context, fn func(store.Tx) error) error {
	met := false
	err := s.diskStore.Update(ctx, func(tx store.Tx) error {
		was := s.closing.Load()
		err := fn(tx)
		if met = s.closing.Load() && !was; met && !s.refuses {
			s.lost.Store(int64(s.updates))
		}
		return err
	})
	if met && s.refuses && err == nil {
		return store.ErrUnavailable
	}
	return err
}

func (s meetsClose) Close() error {
	s.closing.Store(true)
	err := s.diskStore.Close()
	s.calls = slices.DeleteFunc(s.calls, func(c diskCall) bool { return int64(c.update) == s.lost.Load() })
	return err
}

// A staysOpen is read after it was closed.
type staysOpen struct {
	*diskStore
	closed *atomic.Bool
}

func (s staysOpen) Close() error {
	s.closed.Store(true)
	return nil
}

func (s staysOpen) Update(ctx context.Context, fn func(store.Tx) error) error {
	if s.closed.Load() {
		return store.ErrUnavailable
	}
	return s.diskStore.Update(ctx, fn)
}

// onDisk opens directories as disks.
func onDisk(lose func([]diskCall) []diskCall) func(*testing.T, string) store.Store {
	var mu sync.Mutex
	disks := map[string]*disk{}
	return func(_ *testing.T, dir string) store.Store {
		mu.Lock()
		defer mu.Unlock()
		if disks[dir] == nil {
			disks[dir] = &disk{lose: lose}
		}
		return disks[dir].open()
	}
}
