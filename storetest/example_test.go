package storetest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// What a backend's author writes, with another New.
func ExampleRun() {
	TestStore := func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) store.Store { return memory.New() })
	}

	_ = TestStore // go test calls it
}

// A function that counts outside of its Tx counts attempts.
func ExampleTwice() {
	ctx := context.Background()
	st := storetest.Twice(memory.New())
	attempts := 0
	err := st.Update(ctx, func(tx store.Tx) error {
		attempts++
		return tx.PutEntries(ctx, store.Entry{Kind: "greeting", Key: "hello"})
	})
	found, _ := st.Entries(ctx, store.EntryQuery{Kind: "greeting"})
	fmt.Println(err, attempts, len(found))
	// Output: <nil> 2 1
}

// What a backend's author writes to measure it, with another New.
func ExampleBenchmark() {
	BenchmarkStore := func(b *testing.B) {
		storetest.Benchmark(b, func(b *testing.B) store.Store { return memory.New() })
	}

	_ = BenchmarkStore // go test -bench calls it
}
