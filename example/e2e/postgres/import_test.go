package postgres_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

// TestSmallUpdatesBesideImports: an Update of one record waits for about one of the
// large ones that run, not for all.
func TestSmallUpdatesBesideImports(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	db := open(t, "pgx", sharedDSN(t))
	st := newStore(t, db, newSchema(t, db))
	load := func(name string) (time.Duration, error) {
		begun := time.Now()
		err := st.Update(ctx, func(tx store.Tx) error {
			rows := make([]store.License, 5000)
			for i := range rows {
				id := fmt.Sprintf("%s_%04d", name, i)
				rows[i] = store.License{ID: id, Key: id, Document: []byte(`{"name":"n"}`)}
			}
			return tx.CreateLicenses(ctx, rows...)
		})
		return time.Since(begun), err
	}
	alone, err := load("alone")
	is.NoErr(err)

	var imports sync.WaitGroup
	ended, stop := context.WithCancel(ctx)
	begun := time.Now()
	for n := range 8 {
		imports.Go(func() {
			if _, err := load(fmt.Sprint(n)); err != nil {
				t.Error(err)
			}
		})
	}
	go func() {
		imports.Wait()
		stop()
	}()
	var waits []time.Duration
	for ended.Err() == nil {
		small := time.Now()
		is.NoErr(st.Update(ctx, func(tx store.Tx) error { return raise(ctx, tx, "kind", "count") }))
		waits = append(waits, time.Since(small))
	}
	all := time.Since(begun)
	t.Logf("an import takes %v, eight %v; %d small Updates beside them took at most %v", alone, all, len(waits), slices.Max(waits))
	require.Greater(t, len(waits), 3*8)
	require.Less(t, slices.Max(waits), all/2)
}
