package license_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// search returns the IDs that a text finds, in any number of pages. It reads the
// pages forward and then backward.
func search(t *testing.T, s *license.Service, p license.ListParams) (ids []string) {
	t.Helper()
	var pages [][]string
	for {
		page, err := s.List(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if page.Indexing != nil {
			t.Fatalf("lags: %+v", *page.Indexing)
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

func TestSearchMatchesBeginningsOfWords(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	l := f.create(t, func(p *license.CreateParams) {
		p.Name, p.ProductID, p.CustomerID = "Éditeur Pro, Zürich", "prod_editor", "ada@example.com"
		p.Metadata = map[string]string{"order": "2026-0042", "note": "東京都の客 Łódź"}
	})
	f.activate(t, l.Key, "AA:bb:17:host-jupiter")
	f.create(t, func(p *license.CreateParams) { p.Name, p.ProductID, p.CustomerID = "Other", "x", "bob" })
	find := func(text string) bool { return len(search(t, f.Service, license.ListParams{Search: text})) == 1 }
	for _, text := range []string{
		"édi", "ÉDITEUR", "pro", "zür é", "ed", "exam", "ada@exam", "prod_ed", // prod_editor is the words prod and editor
		"2026-00", "0042", "łód", "jup", "aa:bb:17", "host-jupiter éditeur 0042",
		"東京", "京都", "の客", "東京都", "客", "都", "京都の 2026",
	} {
		is.True(find(text)) // text
	}
	for _, text := range []string{"diteur", "uter", "éditeurs", "042", "東都", "都東", "客東", "pro jupp", "order", "note"} {
		is.True(!find(text)) // text
	}
	_, err := f.Deactivate(t.Context(), license.DeactivateParams{Key: l.Key, Fingerprint: "AA:bb:17:host-jupiter"})
	is.NoErr(err)
	is.True(find("jupiter")) // which license had that device
	_, err = f.Update(t.Context(), license.UpdateParams{ID: l.ID, Metadata: license.ToNull[map[string]*string]()})
	is.NoErr(err)
	is.True(!find("0042") && !find("東京") && find("zür"))
	is.NoErr(f.Delete(t.Context(), license.DeleteParams{ID: l.ID}))
	is.True(!find("zür") && !find("jupiter"))
}

// TestSearchByGroupsOfKeys: a group matches as a whole, as people type it, and
// only if the caller may see keys.
func TestSearchByGroupsOfKeys(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	const key = "A0B1C-D2E3F-G4H5J-K6M7N-P8Q9R"
	l := f.create(t, func(p *license.CreateParams) { p.Key = key })
	f.create(t)
	find := func(text string, keys bool) bool {
		return slices.Equal(search(t, f.Service, license.ListParams{Search: text, SearchKeys: keys}), []string{l.ID})
	}
	for _, text := range []string{"d2e3f", "D2E3F", "aOBLC", "A0B1C-D2E3F", "k6m7n lic", "A0B1C g4h5j ada"} {
		is.True(find(text, true)) // text
		is.True(!find(text, false))
	}
	for _, text := range []string{"d2e3", "d2e3fx", "2e3f", "d2e3f xyz"} {
		is.True(!find(text, true)) // text
		is.True(!find(text, false))
	}
	_, err := f.Rekey(t.Context(), license.RekeyParams{ID: l.ID})
	is.NoErr(err)
	is.True(!find("d2e3f", true))
}

// TestSearchPages: in both directions, each license comes once, although several
// of its words match, and a page examines a bounded number of candidates.
func TestSearchPages(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	var want []string
	for i := range 130 {
		f.now = f.now.Add(time.Millisecond)
		l := f.create(t, func(p *license.CreateParams) {
			p.Name, p.CustomerID = fmt.Sprintf("Anna annabel %d", i), "anno"
			if i%3 == 0 {
				p.Name = "Annika"
			}
		})
		want = append(want, l.ID)
	}
	is.NoErr(f.Index(t.Context()))
	slices.Sort(want)
	for _, newest := range []bool{false, true} {
		for _, limit := range []int{1, 7, 130, 200} {
			got := search(t, f.Service, license.ListParams{Search: "ann", NewestFirst: newest, Limit: limit})
			slices.Sort(got)
			is.Equal(got, want)
		}
	}
	is.Equal(len(search(t, f.Service, license.ListParams{Search: "ann", CustomerID: "anno", Limit: 9})), 130)
	is.Equal(len(search(t, f.Service, license.ListParams{Search: "annika ann"})), 44)
	exact := search(t, f.Service, license.ListParams{Search: "annika", NewestFirst: true})
	is.True(slices.IsSortedFunc(exact, func(a, b string) int { return strings.Compare(b, a) })) // newest first

	// The page before the second one is the first one, and its next one is the second.
	for _, p := range []license.ListParams{{Search: "ann", Limit: 5}, {Search: "annika ann", Limit: 5, NewestFirst: true}, {Search: "ann", CustomerID: "anno", Limit: 5}} {
		read := func(cursor string) license.IndexedPage[license.License] {
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

	page, err := f.List(t.Context(), license.ListParams{Search: "ann", Limit: 5})
	is.NoErr(err)
	for _, p := range []license.ListParams{{Search: "anna", Limit: 5}, {Search: "ann", Status: license.StatusActive}, {}} {
		p.Cursor = page.NextCursor
		_, err = f.List(t.Context(), p)
		is.True(errors.Is(err, license.ErrInvalid)) // a cursor of another search
	}
	_, err = f.List(t.Context(), license.ListParams{Search: "ann", Cursor: page.NextCursor[:len(page.NextCursor)-60]})
	is.True(errors.Is(err, license.ErrInvalid))
}

// TestSearchExaminesABoundedNumber of candidates for a page, which is short then.
func TestSearchExaminesABoundedNumber(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	var rows strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&rows, `{"key":"imported-key-%04d","name":"Common number %d","product_id":"p","customer_id":"c%d"}`+"\n", i, i, i)
	}
	importAll(t, f.Service, rows.String())
	f.now = f.now.Add(time.Millisecond)
	last := f.create(t, func(p *license.CreateParams) { p.Name, p.ProductID = "Common", "wanted" })
	is.NoErr(f.Index(t.Context()))
	reads := &boundedStore{Store: f.store}
	s := license.New(reads, license.Options{Now: func() time.Time { return f.now }})
	limited := s.As(license.Caller{Products: []string{"wanted"}})
	p := license.ListParams{Search: "comm", Limit: 10}
	page, err := limited.List(t.Context(), p)
	is.NoErr(err)
	is.Equal(len(page.Data), 0)
	is.True(page.HasMore && reads.licenses <= 2000)
	is.Equal(search(t, limited, p), []string{last.ID})

	// Before the only license, there is a page without matches that continues in
	// both directions, and before that the first page.
	p.Cursor = page.NextCursor
	found, err := limited.List(t.Context(), p)
	is.NoErr(err)
	is.Equal(len(found.Data), 1)
	p.Cursor = found.PrevCursor
	before, err := limited.List(t.Context(), p)
	is.NoErr(err)
	is.True(len(before.Data) == 0 && before.HasMore)
	p.Cursor = before.NextCursor
	again, err := limited.List(t.Context(), p)
	is.NoErr(err)
	is.Equal(again.Data, found.Data)
	p.Cursor = before.PrevCursor
	start, err := limited.List(t.Context(), p)
	is.NoErr(err)
	is.Equal(start, page)
}

// TestSearchCostDependsOnThePage: a page reads about as many licenses as it
// shows, also if all words of the search are common and the licenses that match
// are not the first ones of the first word.
func TestSearchCostDependsOnThePage(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	var rows strings.Builder
	for i := range 2400 {
		name := "Common"
		if i >= 2000 {
			name = "Common seventh"
		}
		fmt.Fprintf(&rows, `{"key":"imported-key-%04d","name":"%s","product_id":"p","customer_id":"c"}`+"\n", i, name)
	}
	importAll(t, f.Service, rows.String())
	is.NoErr(f.Index(t.Context()))
	for _, text := range []string{"com", "com sev", "sev com", "com c sev p"} {
		reads := &boundedStore{Store: f.store}
		s := license.New(reads, license.Options{Now: func() time.Time { return f.now }})
		page, err := s.List(t.Context(), license.ListParams{Search: text, Limit: 10})
		is.NoErr(err)
		is.Equal(len(page.Data), 10)  // text
		is.Equal(reads.licenses, 11)  // text
		is.True(reads.entries <= 900) // text
	}
}
