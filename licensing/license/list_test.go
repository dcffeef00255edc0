package license_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// pages reads a whole list page by page, forward and then backward, and returns
// its ids.
func pages(t *testing.T, s *license.Service, p api.ListLicensesParams) []string {
	t.Helper()
	var ids []string
	first := p.Cursor == ""
	for {
		page, err := s.List(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range page.Data {
			ids = append(ids, l.ID)
		}
		if page.NextCursor == "" {
			if first && len(ids) > 0 && !slices.Equal(backward(t, s, p, page), ids) {
				t.Fatal("the list differs when it is read backward")
			}
			return ids
		}
		if len(page.Data) != p.Limit {
			t.Fatalf("a page of %d with more to come, want %d", len(page.Data), p.Limit)
		}
		p.Cursor = page.NextCursor
	}
}

// backward reads a list from its last page to its first and returns the ids in
// the order of the list.
func backward(t *testing.T, s *license.Service, p api.ListLicensesParams, page api.ListPage) (ids []string) {
	t.Helper()
	for {
		var part []string
		for _, l := range page.Data {
			part = append(part, l.ID)
		}
		ids = append(part, ids...)
		if page.PrevCursor == "" {
			return ids
		}
		p.Cursor = page.PrevCursor
		var err error
		if page, err = s.List(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if len(page.Data) != p.Limit || !page.HasMore || page.NextCursor == "" {
			t.Fatalf("a previous page of %d with more %t, want %d", len(page.Data), page.HasMore, p.Limit)
		}
	}
}

// populate creates n licenses of all sorts over time.
func populate(t *testing.T, f *fixture, n int) []api.License {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	var all []api.License
	for i := range n {
		f.now = f.now.Add(time.Millisecond)
		all = append(all, f.create(t, func(p *api.CreateLicenseParams) {
			p.Name = fmt.Sprintf("License %d", i)
			p.ProductID = fmt.Sprintf("prod_%d", random.IntN(4))
			p.CustomerID = fmt.Sprintf("cus_%d", random.IntN(5))
			if hours := random.IntN(9) - 4; hours != 0 {
				p.ExpiresAt = ptr(start.Add(time.Duration(hours) * time.Hour))
			}
			if hours := random.IntN(9) - 6; hours != 0 && p.ExpiresAt == nil {
				p.StartsAt = ptr(start.Add(time.Duration(hours) * time.Hour))
			}
		}))
	}
	return all
}

// TestListAgainstTheFilter compares every kind of list, read in small pages,
// with what the filter says of each license on its own.
func TestListAgainstTheFilter(t *testing.T) {
	f := newFixture(t)
	all := populate(t, f, 120)
	f.now = start.Add(30 * time.Minute)
	for i, l := range all {
		read, err := f.Get(t.Context(), l.ID)
		if err != nil {
			t.Fatal(err)
		}
		all[i] = read
	}
	windows := [][2]time.Time{{}, {start.Add(2 * time.Hour), {}}, {{}, start.Add(-time.Hour)}, {start.Add(-2 * time.Hour), start.Add(3 * time.Hour)}}
	for _, status := range append(slices.Clone(statuses), "") {
		for _, customer := range []string{"", "cus_1"} {
			for _, product := range []string{"", "prod_2"} {
				for _, limited := range [][]string{nil, {}, {"prod_2"}, {"prod_3", "prod_1", "prod_3", "prod_9"}} {
					for _, window := range windows {
						for _, newest := range []bool{false, true} {
							p := api.ListLicensesParams{CustomerID: customer, ProductID: product, Status: status, ExpiresAfter: window[0], ExpiresBefore: window[1], NewestFirst: newest, Limit: 7}
							var want []string
							for _, l := range all {
								if (status == "" || l.Status == status) && (customer == "" || l.CustomerID == customer) &&
									(product == "" || l.ProductID == product) && (limited == nil || slices.Contains(limited, l.ProductID)) &&
									(window[0].IsZero() || l.ExpiresAt != nil && !l.ExpiresAt.Before(window[0])) &&
									(window[1].IsZero() || l.ExpiresAt != nil && l.ExpiresAt.Before(window[1])) {
									want = append(want, l.ID)
								}
							}
							got := pages(t, f.As(license.Caller{Products: limited}), p)
							slices.Sort(got)
							if !slices.Equal(got, want) {
								t.Errorf("%+v limited to %v: got %d licenses, want %d", p, limited, len(got), len(want))
							}
						}
					}
				}
			}
		}
	}
}

func TestListOrder(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	all := populate(t, f, 60)
	expires := func(id string) time.Time {
		l := all[slices.IndexFunc(all, func(l api.License) bool { return l.ID == id })]
		return *l.ExpiresAt
	}
	limited := f.As(license.Caller{Products: []string{"prod_0", "prod_1", "prod_2", "prod_3"}})

	oldest := pages(t, f.Service, api.ListLicensesParams{Limit: 9})
	is.True(slices.IsSorted(oldest))
	is.Equal(pages(t, limited, api.ListLicensesParams{Limit: 9}), oldest) // merged lists keep the order
	newest := pages(t, f.Service, api.ListLicensesParams{Limit: 9, NewestFirst: true})
	slices.Reverse(newest)
	is.Equal(newest, oldest)

	soonest := pages(t, f.Service, api.ListLicensesParams{Limit: 9, ExpiresAfter: start})
	is.True(slices.IsSortedFunc(soonest, func(a, b string) int { return expires(a).Compare(expires(b)) }))
	is.Equal(pages(t, limited, api.ListLicensesParams{Limit: 9, ExpiresAfter: start}), soonest)
}

func TestListPagesWhileOthersComeAndGo(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	all := populate(t, f, 40)
	first, err := f.List(t.Context(), api.ListLicensesParams{Limit: 10})
	is.NoErr(err)
	is.NoErr(f.Delete(t.Context(), api.DeleteLicenseParams{ID: first.Data[9].ID})) // the cursor's own place
	is.NoErr(f.Delete(t.Context(), api.DeleteLicenseParams{ID: all[20].ID}))
	f.now = f.now.Add(time.Second)
	added := f.create(t)
	rest := pages(t, f.Service, api.ListLicensesParams{Limit: 10, Cursor: first.NextCursor})
	var want []string
	for i, l := range all[10:] {
		if i != 10 {
			want = append(want, l.ID)
		}
	}
	is.Equal(rest, append(want, added.ID))
}

func TestListPinsTheInstant(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	for range 20 {
		f.create(t, func(p *api.CreateLicenseParams) { p.ExpiresAt = ptr(start.Add(time.Hour)) })
	}
	p := api.ListLicensesParams{Status: api.LicenseActive, Limit: 15}
	page, err := f.List(t.Context(), p)
	is.NoErr(err)
	f.now = f.now.Add(2 * time.Hour) // all of them expire between two pages
	p.Cursor = page.NextCursor
	page, err = f.List(t.Context(), p)
	is.NoErr(err)
	is.Equal(len(page.Data), 5)
	is.Equal(page.Data[0].Status, api.LicenseActive)
	page, err = f.List(t.Context(), api.ListLicensesParams{Status: api.LicenseActive})
	is.NoErr(err)
	is.Equal(len(page.Data), 0)
}

func TestListCursors(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	populate(t, f, 60)
	p := api.ListLicensesParams{Limit: 3, CustomerID: "cus_1"}
	page, err := f.List(t.Context(), p)
	is.NoErr(err)
	p.Cursor = page.NextCursor
	good := p.Cursor

	for name, change := range map[string]func(*api.ListLicensesParams){
		"customer":  func(p *api.ListLicensesParams) { p.CustomerID = "cus_2" },
		"product":   func(p *api.ListLicensesParams) { p.ProductID = "prod_1" },
		"status":    func(p *api.ListLicensesParams) { p.Status = api.LicenseActive },
		"window":    func(p *api.ListLicensesParams) { p.ExpiresAfter = start },
		"search":    func(p *api.ListLicensesParams) { p.Search = "license" },
		"key part":  func(p *api.ListLicensesParams) { p.KeyPart = "license" },
		"direction": func(p *api.ListLicensesParams) { p.NewestFirst = true },
		"garbage":   func(p *api.ListLicensesParams) { p.Cursor = "garbage" },
		"cut":       func(p *api.ListLicensesParams) { p.Cursor = good[:len(good)-1] },
		"longer":    func(p *api.ListLicensesParams) { p.Cursor = good + "AA" },
		"spaces":    func(p *api.ListLicensesParams) { p.Cursor = good[:8] + "\n" + good[8:] },
		"version":   func(p *api.ListLicensesParams) { p.Cursor = "B" + good[1:] },
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			p := p
			change(&p)
			_, err := f.List(t.Context(), p)
			is.Equal(fields(t, err), map[string]string{"cursor": "invalid_format"})
		})
	}
	_, err = f.As(license.Caller{Products: []string{"prod_1"}}).List(t.Context(), p)
	is.Equal(fields(t, err), map[string]string{"cursor": "invalid_format"}) // another product limit
	p.Limit = 2
	_, err = f.List(t.Context(), p) // the size of a page may change
	is.NoErr(err)
}

func TestListByIDs(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	all := populate(t, f, 30)
	want := []string{all[3].ID, all[7].ID, all[20].ID}
	p := api.ListLicensesParams{IDs: []string{all[20].ID, "lic_none", all[3].ID, all[7].ID}, Search: "ignored", Limit: 2}
	is.Equal(pages(t, f.Service, p), want)
	p.ProductID, p.ExpiresAfter = all[7].ProductID, start.AddDate(-1, 0, 0) // filters apply, the order stays
	got := pages(t, f.Service, p)
	for _, l := range []api.License{all[3], all[7], all[20]} {
		is.Equal(slices.Contains(got, l.ID), l.ProductID == p.ProductID && l.ExpiresAt != nil)
	}
	is.Equal(pages(t, f.Service, api.ListLicensesParams{IDs: []string{}, Limit: 2}), nil)
	_, err := f.List(t.Context(), api.ListLicensesParams{IDs: make([]string, 1001)})
	is.Equal(fields(t, err), map[string]string{"ids": "out_of_range"})

	first, err := f.List(t.Context(), api.ListLicensesParams{IDs: want, Limit: 2})
	is.NoErr(err)
	_, err = f.List(t.Context(), api.ListLicensesParams{IDs: want[:2], Limit: 2, Cursor: first.NextCursor})
	is.Equal(fields(t, err), map[string]string{"cursor": "invalid_format"}) // a cursor of another list
}

func TestListRefuses(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	_, err := f.List(t.Context(), api.ListLicensesParams{Limit: 201})
	is.Equal(fields(t, err), map[string]string{"limit": "out_of_range"})
	_, err = f.List(t.Context(), api.ListLicensesParams{Limit: -1, Status: "ended", Search: "\x00", CustomerID: " "})
	is.Equal(fields(t, err), map[string]string{"limit": "out_of_range", "status": "unknown", "search": "invalid_characters", "customer_id": "invalid_format"})
}

func TestSearch(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	a := f.create(t, func(p *api.CreateLicenseParams) { p.Name, p.CustomerID = "Éditeur PRO, Zürich", "ada@example.com" })
	f.now = f.now.Add(time.Millisecond)
	b := f.create(t, func(p *api.CreateLicenseParams) {
		p.Name, p.CustomerID, p.Key = "Editor Pro", "cus_bob", "IMPORTED/key:0001"
	})
	search := func(s *license.Service, text string) []string {
		return pages(t, s, api.ListLicensesParams{Search: text, Limit: 10})
	}
	is.Equal(search(f.Service, "pro"), []string{a.ID, b.ID})
	is.Equal(search(f.Service, "zürich ÉDITEUR"), []string{a.ID}) // all words, in any case and order
	is.Equal(search(f.Service, "pro zurich"), []string{a.ID})
	is.Equal(search(f.Service, "ada@example.com"), []string{a.ID})
	is.Equal(search(f.Service, a.ID), []string{a.ID})
	is.Equal(search(f.Service, strings.ToLower(strings.ReplaceAll(a.Key, "-", " "))), []string{a.ID})
	is.Equal(search(f.Service, b.Key), []string{b.ID})
	is.Equal(search(f.Service, "imported/key:0001"), nil) // a brought key is exact
	is.Equal(search(f.Service, "!?"), nil)                // no word: nothing, rather than everything
	is.Equal(pages(t, f.Service, api.ListLicensesParams{Search: a.ID, CustomerID: "cus_bob", Limit: 10}), nil)

	limited := f.As(license.Caller{Products: []string{"prod_other"}})
	is.Equal(search(limited, a.ID), nil)
	is.Equal(search(limited, a.Key), nil)
	is.Equal(search(limited, "pro"), nil)

	_, err := f.Update(t.Context(), api.UpdateLicenseParams{ID: a.ID, Name: ptr("Renamed")})
	is.NoErr(err)
	is.Equal(search(f.Service, "renamed"), []string{a.ID})
	is.Equal(search(f.Service, "zürich"), nil)
}

// TestProductLimit: licenses of other products do not exist for a caller.
func TestProductLimit(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	mine := f.create(t, func(p *api.CreateLicenseParams) { p.ProductID = "prod_mine" })
	other := f.create(t, func(p *api.CreateLicenseParams) { p.ProductID = "prod_other" })
	s := f.As(license.Caller{Products: []string{"prod_mine"}})

	_, err := s.Get(t.Context(), mine.ID)
	is.NoErr(err)
	_, err = s.Get(t.Context(), other.ID)
	require.ErrorIs(t, err, api.ErrNotFound)
	_, err = s.Update(t.Context(), api.UpdateLicenseParams{ID: other.ID, Name: ptr("x")})
	require.ErrorIs(t, err, api.ErrNotFound)
	_, err = s.Update(t.Context(), api.UpdateLicenseParams{Match: &api.Match{ProductID: other.ProductID, CustomerID: other.CustomerID}, Name: ptr("x")})
	require.ErrorIs(t, err, api.ErrNotFound)
	require.ErrorIs(t, s.Delete(t.Context(), api.DeleteLicenseParams{ID: other.ID}), api.ErrNotFound)
	_, err = s.Create(t.Context(), api.CreateLicenseParams{Name: "x", ProductID: "prod_other", CustomerID: "cus_ada"})
	require.ErrorIs(t, err, api.ErrProductForbidden)
	_, err = s.Update(t.Context(), api.UpdateLicenseParams{ID: mine.ID, ProductID: ptr("prod_other")})
	require.ErrorIs(t, err, api.ErrProductForbidden)
	is.Equal(pages(t, s, api.ListLicensesParams{Limit: 10}), []string{mine.ID})
	is.Equal(pages(t, s, api.ListLicensesParams{Limit: 10, ProductID: "prod_other"}), nil)
	is.Equal(len(f.events(t, other.ID)), 1)
}

// TestPagesLeadOnAfterDeletions of all licenses before or after a position, in lists
// of each order and in searches.
//
// Fault: a page without licenses and cursors.
func TestPagesLeadOnAfterDeletions(t *testing.T) {
	for name, p := range map[string]api.ListLicensesParams{
		"by creation":     {},
		"newest first":    {NewestFirst: true},
		"by expiry":       {Status: api.LicenseExpired},
		"search":          {Search: "common"},
		"search customer": {Search: "common", CustomerID: "cus_ada"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			f := newFixture(t)
			for i := range 6 {
				f.now = f.now.Add(time.Second)
				f.create(t, func(p *api.CreateLicenseParams) {
					p.Name, p.ExpiresAt = fmt.Sprint("Common ", i), ptr(f.now.Add(time.Millisecond))
				})
			}
			f.now = f.now.Add(time.Hour)
			p.Limit = 2
			read := func(cursor string) api.ListPage {
				t.Helper()
				p := p
				p.Cursor = cursor
				page, err := f.List(t.Context(), p)
				is.NoErr(err)
				return page
			}
			remove := func(list []api.License) {
				t.Helper()
				for _, l := range list {
					is.NoErr(f.Delete(t.Context(), api.DeleteLicenseParams{ID: l.ID}))
				}
			}
			first := read("")
			second := read(first.NextCursor)
			third := read(second.NextCursor)
			is.Equal(len(third.Data), 2)

			remove(third.Data) // at the end
			end := read(second.NextCursor)
			is.Equal(len(end.Data), 0)
			is.Equal(end.NextCursor, "")
			last := read(end.PrevCursor)
			is.Equal(last.Data, second.Data)
			is.Equal(read(last.PrevCursor).Data, first.Data)

			remove(first.Data) // at the beginning
			begin := read(second.PrevCursor)
			is.Equal(begin.Data, second.Data) // the first page now
			is.Equal(begin.PrevCursor, "")

			remove(second.Data)
			for _, cursor := range []string{second.PrevCursor, second.NextCursor, end.PrevCursor} {
				page := read(cursor)
				is.Equal(len(page.Data), 0)
				is.Equal(page.NextCursor, "")
				if page.PrevCursor != "" { // to an empty first page
					is.Equal(read(page.PrevCursor).PrevCursor, "")
				}
			}
		})
	}
}
