package license_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestSearchIsBounded: a page takes 250 ms at most, says how far it has come, and
// continues in both directions without leaving out or repeating a license.
func TestSearchIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := &narrowStore{Store: memory.New(), window: 10}
		now := start
		s := license.New(st, license.Options{Now: func() time.Time { return now }})
		var created, rare []license.License
		for i := range 100 {
			now = now.Add(time.Hour)
			p := plain()
			if p.Name = fmt.Sprint("Common ", i); i%49 == 1 { // 1, 50 and 99
				p.Name = "Rare"
			}
			l, err := s.Create(t.Context(), p)
			is.NoErr(err)
			if created = append(created, l); i%49 == 1 {
				rare = append(rare, l)
			}
		}
		is.NoErr(s.Fold(t.Context()))
		st.took = 100 * time.Millisecond
		p := license.ListParams{Search: "rare", NewestFirst: true, Limit: 10}
		read := func(cursor string) license.ListPage {
			p := p
			p.Cursor = cursor
			began := time.Now()
			page, err := s.List(t.Context(), p)
			is.NoErr(err)
			require.AtMost(t, time.Since(began), 300*time.Millisecond)
			return page
		}
		first := read("") // 30 of them
		is.Equal(len(first.Data), 1)
		is.Equal(first.Data[0].ID, rare[2].ID)
		is.True(first.HasMore)
		is.Equal(first.SearchedTo, created[70].CreatedAt)
		second := read(first.NextCursor)
		is.Equal(len(second.Data), 1)
		third := read(second.NextCursor)
		is.Equal(len(third.Data), 0)
		fourth := read(third.NextCursor)
		is.Equal(fourth.Data[0].ID, rare[0].ID)
		is.True(!fourth.HasMore && fourth.SearchedTo.IsZero())

		back := read(fourth.PrevCursor)
		is.Equal(len(back.Data), 0) // it stopped after 30
		is.True(back.HasMore && !back.SearchedTo.IsZero())
		is.Equal(read(back.NextCursor).Data, fourth.Data)
		is.Equal(read(back.PrevCursor).Data, second.Data)
		is.Equal(len(read(third.PrevCursor).Data), 0)
		is.Equal(read(read(third.PrevCursor).PrevCursor).Data, second.Data)

		n, err := s.Count(t.Context(), p) // 20 of them
		is.NoErr(err)
		is.True(n.AtLeast && n.Total == 1)
		part := license.ListParams{KeyPart: rare[2].Key[:12], NewestFirst: true}
		n, err = s.Count(t.Context(), part)
		is.NoErr(err)
		is.True(n.AtLeast) // of 20 of them
		n, err = s.As(license.Caller{MaskKeys: true}).Count(t.Context(), part)
		is.NoErr(err)
		is.True(!n.AtLeast) // it is not what was counted for a caller who sees keys
		names, err := s.Customers(t.Context(), license.NamesParams{Search: "ada"})
		is.NoErr(err)
		is.Equal(names.Data, []license.NameCount{{"cus_ada", 100}})
		list := 0
		for range s.All(t.Context(), p) {
			list++
		}
		is.Equal(list, 3) // an iteration does not stop at a page without licenses

		one := inner.Of(s).ForRequest()
		began := time.Now()
		for _, p := range []license.ListParams{{Search: "rare none"}, {KeyPart: "NONE"}, {Search: "none", NewestFirst: true}} {
			page, err := one.List(t.Context(), p)
			is.NoErr(err)
			is.True(page.HasMore)
		}
		is.Equal(time.Since(began), 500*time.Millisecond) // of 300, 100 and 100
	})
}

// TestOneSearchAtATime: others wait, and stop waiting when their contexts end. One
// inside Atomically, which has the write lock, does not wait.
func TestOneSearchAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		st := &narrowStore{Store: memory.New(), window: 10, took: time.Second}
		s := license.New(st, license.Options{})
		_, err := s.Create(t.Context(), plain())
		is.NoErr(err)
		p := license.ListParams{Search: "ada"}
		began := time.Now()
		for range 3 {
			go func() {
				page, err := s.As(license.Caller{Actor: "other"}).List(t.Context(), p)
				is.NoErr(err)
				is.Equal(len(page.Data), 1)
			}()
		}
		time.Sleep(time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err = s.List(ctx, p)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		is.NoErr(s.Atomically(t.Context(), func(s *license.Service) error {
			page, err := s.List(t.Context(), p)
			is.Equal(len(page.Data), 1)
			return err
		}))
		require.Less(t, time.Since(began), time.Second)
		_, err = s.List(t.Context(), p)
		is.NoErr(err)
		is.Equal(time.Since(began), 4*time.Second)
	})
}

// A countedStore takes a second for each count.
type countedStore struct {
	store.Store
	counts *int
}

type countedReader struct {
	store.Reader
	counts *int
}

func (s countedStore) View(ctx context.Context, fn func(store.Reader) error) error {
	return s.Store.View(ctx, func(r store.Reader) error { return fn(countedReader{r, s.counts}) })
}

func (r countedReader) CountLicenses(ctx context.Context, q store.LicenseQuery, edges ...store.Position) ([]int64, error) {
	*r.counts++
	time.Sleep(time.Second)
	return r.Reader.CountLicenses(ctx, q, edges...)
}

// TestCountsAreKept for 20 times what they cost, until a change of this process.
func TestCountsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		counts := 0
		st := memory.New()
		s := license.New(countedStore{st, &counts}, license.Options{})
		other := license.New(st, license.Options{})
		create := func(s *license.Service) license.License {
			l, err := s.Create(t.Context(), plain())
			is.NoErr(err)
			return l
		}
		read := func() int64 {
			c, err := s.As(license.Caller{Actor: "operator"}).Count(t.Context(), license.ListParams{Status: license.StatusSuspended})
			is.NoErr(err)
			c.ByStatus[license.StatusActive]++ // a copy
			return c.Total
		}
		suspend := func(s *license.Service, id string) {
			_, err := s.Suspend(t.Context(), license.MoveParams{ID: id})
			is.NoErr(err)
		}
		a, b := create(s), create(s)
		is.Equal(read(), int64(0))
		is.Equal(read(), int64(0))
		is.Equal(counts, 1)
		suspend(other, a.ID)
		time.Sleep(19 * time.Second)
		is.Equal(read(), int64(0)) // another process has changed it
		time.Sleep(2 * time.Second)
		is.Equal(read(), int64(1))
		suspend(s, b.ID)
		is.Equal(read(), int64(2))
		is.Equal(counts, 3)

		go func() { // a change during a count
			time.Sleep(500 * time.Millisecond)
			is.NoErr(s.Delete(t.Context(), license.DeleteParams{ID: b.ID}))
		}()
		is.NoErr(s.Delete(t.Context(), license.DeleteParams{ID: a.ID}))
		read()
		is.Equal(read(), int64(0))
		_, err := s.As(license.Caller{Products: []string{"x"}}).Count(t.Context(), license.ListParams{Status: license.StatusSuspended})
		is.NoErr(err)
		is.Equal(counts, 6) // of another product limit
		is.Equal(read(), int64(0))
		is.Equal(counts, 6)
	})
}
