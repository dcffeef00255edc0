package storetest_test

import (
	"flag"
	"testing"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

var repeats = flag.Bool("repeats", false, "run the suite on the wrappers of stores")

// TestRepeats runs with -repeats only. The tests of store/memory run the suite on
// store/memory itself.
func TestRepeats(t *testing.T) {
	if !*repeats {
		return
	}
	t.Run("Twice", func(t *testing.T) {
		storetest.Run(t, func(*testing.T) store.Store { return storetest.Twice(memory.New()) })
	})
	t.Run("Handles", func(t *testing.T) {
		storetest.Run(t, func(*testing.T) store.Store {
			st := memory.New()
			return storetest.Handles(st, storetest.Twice(st), st)
		})
	})
}

func BenchmarkMemory(b *testing.B) {
	storetest.Benchmark(b, func(*testing.B) store.Store { return memory.New() })
}
