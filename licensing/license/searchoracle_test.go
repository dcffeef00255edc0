package license_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// A narrowStore examines few licenses in a call of FindLicenses, and takes a while
// for it.
type narrowStore struct {
	store.Store
	window int
	took   time.Duration
	calls  int

	examined int // at most, by all calls
}

func (s *narrowStore) FindLicenses(ctx context.Context, q store.LicenseQuery) (found []store.License, next store.Position, err error) {
	s.calls++
	s.examined += store.Examined(q.Examine)
	time.Sleep(s.took)
	texts, limit := q.Text, q.Limit
	q.Text, q.Limit = nil, s.window
	part := q.KeyPart
	q.KeyPart, q.Examine = "", 0
	rows, err := s.Store.Licenses(ctx, q)
	for _, row := range rows {
		if strings.Contains(row.Key, part) && !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(row.Text, text) }) {
			found = append(found, row)
		}
		if len(found) == limit {
			return found, q.Position(row), err
		}
	}
	if len(rows) == s.window {
		next = q.Position(rows[len(rows)-1])
	}
	return found, next, err
}

// A shop changes licenses at random and knows what a search must find.
type shop struct {
	*license.Service
	t     *testing.T
	clock *time.Time
	dice  *rand.Rand
}

var shopWords = []string{"anna", "Ännchen", "Söhne", "LTD", "smørrebrød", "東京都", "ﬁsh", "a", "b", "an", "x1", "Straße"}

func (s *shop) words(n int) string {
	var list []string
	for range 1 + s.dice.IntN(n) {
		list = append(list, shopWords[s.dice.IntN(len(shopWords))])
	}
	return strings.Join(list, []string{" ", "-", ""}[s.dice.IntN(3)])
}

func (s *shop) all() (list []api.License) {
	for l, err := range s.All(s.t.Context(), api.ListLicensesParams{}) {
		is.New(s.t).NoErr(err)
		list = append(list, l)
	}
	return list
}

// change changes one license.
func (s *shop) change(all []api.License) {
	s.t.Helper()
	is, ctx := is.New(s.t), s.t.Context()
	*s.clock = s.clock.Add(time.Millisecond)
	metadata := map[string]string{"note": s.words(3), "contact": s.words(2)}
	if s.dice.IntN(20) == 0 {
		for i := range 20 { // a word at the edge of what is searched
			metadata[fmt.Sprint("long", i)] = strings.Repeat("é ", 95+s.dice.IntN(30)) + s.words(1)
		}
	}
	if len(all) < 10 || s.dice.IntN(3) == 0 {
		end := s.clock.Add(time.Duration(s.dice.IntN(100)-20) * time.Millisecond)
		_, err := s.Create(ctx, api.CreateLicenseParams{Name: s.words(3), ProductID: "p" + fmt.Sprint(s.dice.IntN(3)), CustomerID: s.words(1), Metadata: metadata, ExpiresAt: &end})
		is.NoErr(err)
		return
	}
	id := all[s.dice.IntN(len(all))].ID
	var err error
	switch s.dice.IntN(6) {
	case 0:
		err = s.Delete(ctx, api.DeleteLicenseParams{ID: id})
	case 1:
		_, err = s.Rekey(ctx, api.RekeyLicenseParams{ID: id})
	case 2:
		_, err = s.Suspend(ctx, api.ChangeStateParams{ID: id})
	case 3:
		patch := map[string]*string{}
		for name, value := range metadata {
			patch[name] = &value
		}
		_, err = s.Update(ctx, api.UpdateLicenseParams{ID: id, Metadata: api.To(patch)})
	case 4:
		importAll(s.t, s.Service, fmt.Sprintf(`{"key":"imported-key-%d","name":%q,"product_id":"p1","customer_id":"c"}`, s.dice.Int(), s.words(3)))
	default:
		_, err = s.Update(ctx, api.UpdateLicenseParams{ID: id, Name: ptr(s.words(3)), CustomerID: ptr(s.words(1))})
	}
	if err != nil {
		is.True(strings.Contains(err.Error(), "suspend") || strings.Contains(err.Error(), "not exist") || strings.Contains(err.Error(), "found")) // deleted or suspended before
	}
}

// wanted reports whether p selects a license.
func wanted(p api.ListLicensesParams, products []string, l api.License) bool {
	return (p.Search == "" || license.Matches(l, p.Search)) && (p.KeyPart == "" || strings.Contains(l.Key, p.KeyPart)) &&
		(p.ProductID == "" || p.ProductID == l.ProductID) && (p.Status == "" || p.Status == l.Status) &&
		(p.CustomerID == "" || p.CustomerID == l.CustomerID) && (products == nil || slices.Contains(products, l.ProductID))
}

// compare compares a random search, in both directions, and the counts.
func (s *shop) compare(all []api.License) {
	s.t.Helper()
	is := is.New(s.t)
	p := api.ListLicensesParams{Search: s.words(2), NewestFirst: s.dice.IntN(2) == 0, Limit: 1 + s.dice.IntN(6)}
	if text := []rune(p.Search); s.dice.IntN(2) == 0 {
		p.Search = string(text[s.dice.IntN(len(text)):])
	}
	switch s.dice.IntN(6) {
	case 0:
		p.ProductID = "p1"
	case 1:
		p.Status = api.LicenseActive
	case 2:
		p.Search, p.KeyPart = "", all[0].Key[s.dice.IntN(20):][:2]
	case 3:
		p.Search = ""
	case 4:
		p.CustomerID = all[0].CustomerID
	}
	var products []string
	if s.dice.IntN(3) == 0 {
		products = []string{"p0", "p2"}[s.dice.IntN(2):]
	}
	if strings.TrimSpace(p.Search) == "" {
		p.Search = ""
	}
	as := s.As(license.Caller{Products: products})
	var want []string
	status := map[api.LicenseStatus]int64{}
	for _, l := range all {
		if wanted(p, products, l) {
			want = append(want, l.ID)
			status[l.Status]++
		}
	}
	if p.NewestFirst {
		slices.Reverse(want)
	}
	got := search(s.t, as, p)
	if !slices.Equal(got, want) {
		s.t.Fatalf("%+v of %q: %d, want %d", p, products, len(got), len(want))
	}
	c, err := as.Count(s.t.Context(), p)
	is.NoErr(err)
	is.Equal(c.Total, int64(len(want)))
	is.True(!c.AtLeast)
	for _, x := range statuses {
		is.Equal(c.ByStatus[x], status[x]) // x
	}
}

// chain reads the pages of a search in one direction with edits between them, and
// compares what was found with the licenses that matched all the time and at some
// time.
func (s *shop) chain() {
	s.t.Helper()
	p := api.ListLicensesParams{Search: s.words(1), NewestFirst: s.dice.IntN(2) == 0, Limit: 1 + s.dice.IntN(4)}
	always, sometimes, found := map[string]int{}, map[string]bool{}, map[string]int{}
	pages := 0
	for {
		all := s.all()
		for _, l := range all {
			if license.Matches(l, p.Search) {
				always[l.ID]++
				sometimes[l.ID] = true
			}
		}
		page, err := s.List(s.t.Context(), p)
		is.New(s.t).NoErr(err)
		pages++
		for _, l := range page.Data {
			found[l.ID]++
		}
		if p.Cursor = page.NextCursor; p.Cursor == "" {
			break
		}
		s.change(all)
	}
	for id, n := range always {
		if n == pages && found[id] != 1 {
			s.t.Errorf("%+v: found %s %d times", p, id, found[id])
		}
	}
	for id, n := range found {
		if !sometimes[id] || n > 1 && always[id] == pages {
			s.t.Errorf("%+v: found %s, which does not match", p, id)
		}
	}
}

// TestSearchAgainstTheOracle compares searches and counts with all licenses, while
// these change at random.
func TestSearchAgainstTheOracle(t *testing.T) {
	for name, st := range map[string]store.Store{
		"memory": storetest.Twice(memory.New()),
		"narrow": &narrowStore{Store: memory.New(), window: 15},
	} {
		t.Run(name, func(t *testing.T) { // no search runs out of time, however busy the machine is
			synctest.Test(t, func(t *testing.T) { searchAtRandom(t, st, uint64(len(name))) })
		})
	}
	t.Run("sqlite", func(t *testing.T) {
		file, err := sqlite.Open(filepath.Join(t.TempDir(), "test.db"))
		is.New(t).NoErr(err)
		defer file.Close()
		searchAtRandom(t, file, 6)
	})
}

func searchAtRandom(t *testing.T, st store.Store, seed uint64) {
	clock := start
	s := &shop{license.New(st, license.Options{Now: func() time.Time { return clock }}), t, &clock, rand.New(rand.NewPCG(1, seed))}
	for range min(4, 1+*numHistories/10) {
		for range 30 {
			s.change(s.all())
		}
		for range 15 {
			s.compare(s.all())
		}
		for range 4 {
			s.chain()
		}
	}
}
