package sqlite

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

// numbers returns the selection of a list that reads the numbers up to last,
// through during, and returns the number 1 only.
func numbers(last int) *selection {
	s := &selection{}
	s.add(`SELECT n FROM (WITH RECURSIVE number (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM number WHERE n < ?)
		SELECT during(n) AS n FROM number)`, last)
	s.and(`n = 1`)
	return s
}

// TestListStopsWhenItsContextEnds ends the context of a list after it has
// found its first row, while it looks for a second one.
func TestListStopsWhenItsContextEnds(t *testing.T) {
	st := open(t)
	for name, read := range map[string]func(ctx context.Context) error{
		"store": func(ctx context.Context) error {
			_, err := list(ctx, st.reader, (*row).integer, numbers(1_000_000))
			return err
		},
		"view": func(ctx context.Context) error {
			return st.View(ctx, func(r store.Reader) error {
				_, err := list(ctx, r.(reader), (*row).integer, numbers(1_000_000))
				return err
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			ctx, end := context.WithCancel(t.Context())
			stop := func(row int64) {
				if row > 2 {
					end()
					runtime.Gosched()
				}
			}
			during.Store(&stop)
			defer during.Store(nil)
			err := read(ctx)
			require.ErrorIs(t, err, context.Canceled)

			// The connection is as good as new.
			during.Store(nil)
			found, err := list(t.Context(), st.reader, (*row).integer, numbers(10))
			is.NoErr(err)
			is.Equal(found, []int64{1})
		})
	}
}

// TestReadsOfOneRowDoNotWaitForLists reads single rows while lists have all the
// connections that they can get.
func TestReadsOfOneRowDoNotWaitForLists(t *testing.T) {
	is := is.New(t)
	st := open(t)
	is.NoErr(st.Update(t.Context(), func(tx store.Tx) error { return add(tx, "a") }))
	var lists sync.WaitGroup
	release := make(chan struct{})
	started := make(chan struct{}, cap(st.lists.room))
	block := func(row int64) {
		if row == 1 {
			started <- struct{}{}
			<-release
		}
	}
	during.Store(&block)
	defer during.Store(nil)
	defer lists.Wait()
	defer close(release)
	for range cap(st.lists.room) {
		lists.Go(func() {
			if _, err := list(t.Context(), st.reader, (*row).integer, numbers(1)); err != nil {
				t.Error(err)
			}
		})
	}
	for range cap(st.lists.room) {
		<-started
	}
	ctx, end := context.WithTimeout(t.Context(), 2*time.Second)
	defer end()
	_, err := st.License(ctx, "a")
	is.NoErr(err)
	_, err = st.LicenseByKey(ctx, "a")
	is.NoErr(err)
	_, err = st.Entry(ctx, "token", "x")
	require.ErrorIs(t, err, store.ErrNotFound)
}

// TestListsDoNotWaitForSearches reads and writes while a search has the connection of
// searches: five searchers wait for it, and nothing else does.
func TestListsDoNotWaitForSearches(t *testing.T) {
	is := is.New(t)
	st, ctx := open(t), t.Context()
	is.NoErr(st.Update(ctx, func(tx store.Tx) error { return add(tx, "a") }))
	c, err := st.searches.take(ctx)
	is.NoErr(err)
	soon, end := context.WithTimeout(ctx, 50*time.Millisecond)
	defer end()
	var searchers sync.WaitGroup
	var searched atomic.Int64
	for range 5 {
		searchers.Go(func() {
			if _, _, err := st.FindLicenses(ctx, store.LicenseQuery{}); err != nil {
				t.Error(err)
			}
			searched.Add(1)
		})
	}
	_, _, err = st.FindLicenses(soon, store.LicenseQuery{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	_, err = st.CountLicenses(soon, store.LicenseQuery{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	for n := range 100 {
		found, err := st.Licenses(ctx, store.LicenseQuery{})
		is.NoErr(err)
		is.Equal(len(found), n+1)
		is.NoErr(st.Update(ctx, func(tx store.Tx) error { return add(tx, fmt.Sprint("b", n)) }))
		_, err = st.License(ctx, fmt.Sprint("b", n))
		is.NoErr(err)
	}
	is.NoErr(st.View(ctx, func(r store.Reader) error {
		_, _, err := r.FindLicenses(ctx, store.LicenseQuery{})
		return err
	}))
	is.Equal(searched.Load(), int64(0))
	st.searches.put(c)
	searchers.Wait()
}
