package license_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// search returns the IDs that a text finds, in any number of pages. It reads the
// pages forward and then backward.
func search(t *testing.T, s *license.Service, p api.ListLicensesParams) (ids []string) {
	t.Helper()
	var pages [][]string
	for {
		page, err := s.List(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		var part []string
		for _, l := range page.Data {
			part = append(part, l.ID)
		}
		ids, pages = append(ids, part...), append(pages, part)
		if p.Cursor = page.NextCursor; p.Cursor != "" {
			continue
		}
		var before []string
		for p.Cursor = page.PrevCursor; p.Cursor != ""; p.Cursor = page.PrevCursor {
			if page, err = s.List(t.Context(), p); err != nil {
				t.Fatal(err)
			}
			part = nil
			for _, l := range page.Data {
				part = append(part, l.ID)
			}
			if before = append(part, before...); !page.HasMore || len(part) > p.Limit && p.Limit > 0 {
				t.Fatalf("a previous page of %d with more %t", len(part), page.HasMore)
			}
		}
		if last := len(pages) - 1; len(pages[last]) > 0 && !slices.Equal(append(before, pages[last]...), ids) {
			t.Fatal("the list differs when it is read backward")
		}
		return ids
	}
}

// TestSearchMatchesParts of names, customers, products and metadata values.
func TestSearchMatchesParts(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, func(p *api.CreateLicenseParams) {
		p.Name, p.ProductID, p.CustomerID = "Söhne & Łódź ＰＲＯ, İstanbul", "prod_editor", "Ada.Lovelace@example.com"
		p.Metadata = map[string]string{"order": "2026-0042", "note": "東京都の客 Straße", "zone": "Ωμέγας"}
	})
	f.activate(t, l.Key, "AA:bb:17:host-jupiter")
	f.create(t, func(p *api.CreateLicenseParams) { p.Name, p.ProductID, p.CustomerID = "Other", "x", "bob" })
	find := func(text string) bool { return len(search(t, f.Service, api.ListLicensesParams{Search: text})) == 1 }
	for _, text := range []string{
		"sohne", "SÖHNE", "hne", "lodz", "pro", "istanbul", "İSTANBUL", "ıstan", "lace@EXAM", "editor", "_ed", "0042",
		"京都", "客", "strasse", "STRASSE", "ΩΜΈΓΑΣ", "ωμεγας", "sohne 0042 ada", "&",
	} {
		is.True(find(text)) // text
	}
	for _, text := range []string{"sohne bob", "order", "都東", "jupiter", "proistanbul", "comprod", "´", l.Key[:5]} {
		is.True(!find(text)) // text
	}
	_, err := f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, Metadata: api.ToNull[map[string]*string]()})
	is.NoErr(err)
	is.True(!find("0042") && !find("東京") && find("sohne"))
	is.NoErr(f.Delete(t.Context(), api.DeleteLicenseParams{ID: l.ID}))
	is.True(!find("sohne"))
}

// TestTextIsCutAtACharacter, and has no more bytes than a store takes.
func TestTextIsCutAtACharacter(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	for _, name := range []string{"a", "ab", "abc"} {
		l := f.create(t, func(p *api.CreateLicenseParams) {
			p.Name, p.Metadata = name, map[string]string{"z": "last"}
			for i := range 20 {
				p.Metadata[fmt.Sprint(i)] = strings.Repeat("東", 499)
			}
		})
		row, err := f.store.License(t.Context(), l.ID)
		is.NoErr(err)
		is.True(utf8.ValidString(row.Text))
		require.Greater(t, len(row.Text), store.MaxText-3)
		require.AtMost(t, len(row.Text), store.MaxText)
		require.HasPrefix(t, row.Text, name+"\ncus_ada\nprod_editor\n東")
	}
}

// TestSearchByPartsOfKeys: as people type them or, of keys from another system,
// exactly, and only if the caller may see keys.
func TestSearchByPartsOfKeys(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	const key = "A0B1C-D2E3F-G4H5J-K6M7N-P8Q9R"
	l := f.create(t, func(p *api.CreateLicenseParams) { p.Key = key })
	f.now = f.now.Add(time.Millisecond)
	other := f.create(t, func(p *api.CreateLicenseParams) { p.Key = "imported-key-abc-0001" })
	find := func(text string) []string {
		p := api.ListLicensesParams{KeyPart: text, Limit: 1}
		ids := search(t, f.Service, p)
		c, err := f.Count(t.Context(), p)
		is.NoErr(err)
		is.Equal(c.Total, int64(len(ids)))
		masked := f.As(license.Caller{MaskKeys: true}) // also right after a caller who sees keys
		is.Equal(search(t, masked, p), nil)
		c, err = masked.Count(t.Context(), p)
		is.NoErr(err)
		is.Equal(c.Total, int64(0))
		return ids
	}
	for _, text := range []string{"d2e3f", "D2E3F", "aOBLC", "A0B1C-D2E3F", "a0b1c d2", "2e3", "g4"} {
		is.Equal(find(text), []string{l.ID}) // text
	}
	is.Equal(find("abc"), []string{other.ID}) // which also reads as a part of a generated key
	is.Equal(find("key-ab"), []string{other.ID})
	is.Equal(find("1"), []string{l.ID, other.ID})
	for _, text := range []string{"d2e3fx", "KEY-AB", "d2e3f0"} {
		is.Equal(find(text), nil) // text
	}
	is.Equal(search(t, f.Service, api.ListLicensesParams{Search: "ada", KeyPart: "d2e3f"}), []string{l.ID})
	is.Equal(search(t, f.Service, api.ListLicensesParams{Search: "bob", KeyPart: "d2e3f"}), nil)
	_, err := f.Rekey(t.Context(), api.RekeyLicenseParams{ID: l.ID})
	is.NoErr(err)
	is.Equal(find("d2e3f"), nil)
}

// TestSearchPages: in both directions, each license comes once.
func TestSearchPages(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	var want []string
	for i := range 130 {
		f.now = f.now.Add(time.Millisecond)
		l := f.create(t, func(p *api.CreateLicenseParams) {
			p.Name, p.CustomerID = fmt.Sprintf("Anna annabel %d", i), "anno"
			if i%3 == 0 {
				p.Name = "Annika"
			}
		})
		want = append(want, l.ID)
	}
	for _, limit := range []int{1, 7, 130, 200} {
		is.Equal(search(t, f.Service, api.ListLicensesParams{Search: "ann", Limit: limit}), want)
	}
	newest := search(t, f.Service, api.ListLicensesParams{Search: "ann", NewestFirst: true, Limit: 9})
	slices.Reverse(newest)
	is.Equal(newest, want)
	is.Equal(len(search(t, f.Service, api.ListLicensesParams{Search: "ann", CustomerID: "anno", Limit: 9})), 130)
	is.Equal(len(search(t, f.Service, api.ListLicensesParams{Search: "annika ann"})), 44)

	// The page before the second one is the first one, and its next one is the second.
	for _, p := range []api.ListLicensesParams{{Search: "ann", Limit: 5}, {Search: "annika ann", Limit: 5, NewestFirst: true}, {Search: "ann", CustomerID: "anno", Limit: 5}} {
		read := func(cursor string) api.ListPage {
			p := p
			p.Cursor = cursor
			page, err := f.List(t.Context(), p)
			is.NoErr(err)
			return page
		}
		first := read("")
		is.Equal(first.PrevCursor, "")
		second := read(first.NextCursor)
		again := read(second.PrevCursor)
		is.Equal(again.Data, first.Data)
		is.Equal(again.PrevCursor, "")
		is.Equal(read(again.NextCursor), second)
		third := read(second.NextCursor)
		is.Equal(read(third.PrevCursor).Data, second.Data)
		is.Equal(read(read(third.PrevCursor).PrevCursor).Data, first.Data)
	}

	page, err := f.List(t.Context(), api.ListLicensesParams{Search: "ann", Limit: 5})
	is.NoErr(err)
	for _, p := range []api.ListLicensesParams{{Search: "anna", Limit: 5}, {Search: "ann", Status: api.LicenseActive}, {Search: "ann", KeyPart: "A"}, {}} {
		p.Cursor = page.NextCursor
		_, err = f.List(t.Context(), p)
		require.ErrorIs(t, err, api.ErrInvalid) // a cursor of another search
	}
}

// TestSearchIsBounded: a page examines 10,000 licenses at most, says how far it has come, and
// continues in both directions without leaving out or repeating a license.
func TestSearchIsBounded(t *testing.T) {
	is := is.New(t)
	st := &narrowStore{Store: memory.New(), window: 10} // of 1,000 that it may examine
	now := start
	s := license.New(st, license.Options{Now: func() time.Time { return now }})
	var created, rare []api.License
	for i := range 400 {
		now = now.Add(time.Hour)
		p := plain()
		if p.Name = fmt.Sprint("Common ", i); i == 1 || i == 150 || i == 399 {
			p.Name = "Rare"
		}
		l, err := s.Create(t.Context(), p)
		is.NoErr(err)
		if created = append(created, l); p.Name == "Rare" {
			rare = append(rare, l)
		}
	}
	p := api.ListLicensesParams{Search: "rare", NewestFirst: true, Limit: 10}
	read := func(cursor string) api.ListPage {
		p := p
		p.Cursor, st.examined = cursor, 0
		page, err := s.List(t.Context(), p)
		is.NoErr(err)
		require.AtMost(t, st.examined, store.MaxExamined)
		return page
	}
	first := read("") // 100 of them, by 10 calls
	is.Equal(st.examined, store.MaxExamined)
	is.Equal(len(first.Data), 1)
	is.Equal(first.Data[0].ID, rare[2].ID)
	is.True(first.HasMore)
	is.Equal(first.SearchedTo, created[300].CreatedAt)
	second := read(first.NextCursor)
	is.Equal(len(second.Data), 0)
	third := read(second.NextCursor)
	is.Equal(third.Data[0].ID, rare[1].ID)
	is.Equal(read(third.PrevCursor).HasMore, true)
	fourth := read(third.NextCursor)
	is.Equal(fourth.Data[0].ID, rare[0].ID)
	is.True(fourth.HasMore && !fourth.SearchedTo.IsZero()) // the last call does not know that it was the last
	p.Cursor = fourth.NextCursor
	last, err := s.List(t.Context(), p)
	is.NoErr(err)
	is.True(!last.HasMore && last.SearchedTo.IsZero() && len(last.Data) == 0)
	back := read(last.PrevCursor)
	is.Equal(back.Data, fourth.Data)
	is.Equal(len(read(back.PrevCursor).Data), 1)
	is.Equal(read(read(read(third.PrevCursor).PrevCursor).PrevCursor).Data, first.Data) // from its first match
	p.Cursor = ""

	st.examined = 0
	page, err := s.List(t.Context(), api.ListLicensesParams{Search: "common", PlanID: "none"})
	is.NoErr(err)
	is.True(page.HasMore)
	is.Equal(st.examined, store.MaxExamined) // by all batches

	n, err := s.Count(t.Context(), p)
	is.NoErr(err)
	is.True(n.AtLeast && n.Total == 1)
	part := api.ListLicensesParams{KeyPart: rare[2].Key[:12], NewestFirst: true}
	n, err = s.Count(t.Context(), part)
	is.NoErr(err)
	is.True(n.AtLeast)
	n, err = s.As(license.Caller{MaskKeys: true}).Count(t.Context(), part)
	is.NoErr(err)
	is.True(!n.AtLeast) // it is not what was counted for a caller who sees keys
	names, err := s.Customers(t.Context(), api.NamesParams{Search: "ada"})
	is.NoErr(err)
	is.Equal(names.Data, []api.NameCount{{Name: "cus_ada", N: 400}})
	list := 0
	for range s.All(t.Context(), p) {
		list++
	}
	is.Equal(list, 3) // an iteration does not stop at a page without licenses

	one := inner.Of(s).ForRequest()
	st.examined = 0
	for _, p := range []api.ListLicensesParams{{Search: "rare none"}, {KeyPart: "NONE"}, {Search: "none", NewestFirst: true}} {
		page, err := one.List(t.Context(), p)
		is.NoErr(err)
		is.True(page.HasMore)
	}
	is.Equal(st.examined, store.MaxExamined+2) // together; each examines something
	names, err = one.Customers(t.Context(), api.NamesParams{Search: "ad"})
	is.NoErr(err)
	is.Equal(len(names.Data), 1)
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
		p := api.ListLicensesParams{Search: "ada"}
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

// TestCountsAreKept for 60 times what they cost, until a change of this process.
func TestCountsAreKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		counts := 0
		st := memory.New()
		s := license.New(countedStore{st, &counts}, license.Options{})
		other := license.New(st, license.Options{})
		create := func(s *license.Service) api.License {
			l, err := s.Create(t.Context(), plain())
			is.NoErr(err)
			return l
		}
		read := func() int64 {
			c, err := s.As(license.Caller{Actor: "operator"}).Count(t.Context(), api.ListLicensesParams{Status: api.LicenseSuspended})
			is.NoErr(err)
			c.ByStatus[api.LicenseActive]++ // a copy
			return c.Total
		}
		suspend := func(s *license.Service, id string) {
			_, err := s.Suspend(t.Context(), api.ChangeStateParams{ID: id})
			is.NoErr(err)
		}
		a, b := create(s), create(s)
		is.Equal(read(), int64(0))
		is.Equal(read(), int64(0))
		is.Equal(counts, 1)
		suspend(other, a.ID)
		time.Sleep(59 * time.Second)
		is.Equal(read(), int64(0)) // another process has changed it
		time.Sleep(2 * time.Second)
		is.Equal(read(), int64(1))
		suspend(s, b.ID)
		is.Equal(read(), int64(2))
		is.Equal(counts, 3)

		go func() { // a change during a count
			time.Sleep(500 * time.Millisecond)
			is.NoErr(s.Delete(t.Context(), api.DeleteLicenseParams{ID: b.ID}))
		}()
		is.NoErr(s.Delete(t.Context(), api.DeleteLicenseParams{ID: a.ID}))
		read()
		is.Equal(read(), int64(0))
		_, err := s.As(license.Caller{Products: []string{"x"}}).Count(t.Context(), api.ListLicensesParams{Status: api.LicenseSuspended})
		is.NoErr(err)
		is.Equal(counts, 6) // of another product limit
		is.Equal(read(), int64(0))
		is.Equal(counts, 6)
	})
}

// A lossyStore loses the answer to each Update that it has committed.
type lossyStore struct{ store.Store }

func (s lossyStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	return cmp.Or(s.Store.Update(ctx, fn), errors.New("connection lost"))
}

// TestCountsAfterALostAnswer: an Update that has failed for its caller may have changed
// the licenses all the same.
// Fault: only an Update without an error drops the counts.
func TestCountsAfterALostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		counts := 0
		s := license.New(countedStore{lossyStore{memory.New()}, &counts}, license.Options{})
		total := func() int64 {
			c, err := s.Count(t.Context(), api.ListLicensesParams{Status: api.LicenseActive})
			is.NoErr(err)
			return c.Total
		}
		is.Equal(total(), int64(0))
		_, err := s.Create(t.Context(), plain())
		is.True(err != nil)
		is.Equal(total(), int64(1))
	})
}
