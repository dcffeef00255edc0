package storetest_test

import (
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

func BenchmarkMemory(b *testing.B) {
	storetest.Benchmark(b, func(*testing.B) store.Store { return memory.New() })
}
