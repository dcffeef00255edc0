package storetest_test

import (
	"sync"
	"testing"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return memory.New() })
}

func TestMemoryTwice(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return storetest.Twice(memory.New()) })
}

func TestMemoryByHandles(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store {
		st := memory.New()
		return storetest.Handles(st, storetest.Twice(st), st)
	})
}

// TestDurable takes a map of stores by directory for something durable.
func TestDurable(t *testing.T) {
	var stores sync.Map
	storetest.RunDurable(t, func(t *testing.T, dir string) store.Store {
		st, _ := stores.LoadOrStore(dir, memory.New())
		return keeping{st.(store.Store)}
	})
}

// keeping is a store that forgets nothing when it is closed.
type keeping struct{ store.Store }

func (keeping) Close() error { return nil }
