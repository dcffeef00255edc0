package catalogcheck

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// exact calls ask until its answer does not lag.
func (p *Process) exact(t *testing.T, ask func() (*license.Indexing, error)) {
	t.Helper()
	for try := 0; ; try++ {
		lag, err := ask()
		if err != nil || lag != nil && (lag.Blocked || try > 2) {
			t.Fatalf("%+v %v", lag, err)
		}
		if lag == nil {
			return
		}
		if err := p.Index(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// Compare compares answers with the licenses. No license may change meanwhile.
func (p *Process) Compare(t *testing.T, dice *rand.Rand) {
	t.Helper()
	var all []license.License
	for l, err := range p.All(t.Context(), license.ListParams{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	p.compareCounts(t, all, dice)
	for range 6 {
		p.compareSearch(t, all, dice)
	}
}

func (p *Process) compareCounts(t *testing.T, all []license.License, dice *rand.Rand) {
	t.Helper()
	status, customers, products := map[license.Status]int64{}, map[string]int64{}, map[string]int64{}
	for _, l := range all {
		status[l.Status]++
		customers[l.CustomerID]++
		products[l.ProductID]++
	}
	var o license.Overview
	p.exact(t, func() (_ *license.Indexing, err error) {
		o, err = p.Overview(t.Context())
		return o.Indexing, err
	})
	maps.DeleteFunc(o.ByStatus, func(_ license.Status, n int64) bool { return n == 0 })
	if o.Total != int64(len(all)) || !maps.Equal(o.ByStatus, status) {
		t.Errorf("%d licenses %v, want %d %v", o.Total, o.ByStatus, len(all), status)
	}
	for _, list := range []struct {
		read func(context.Context, license.NamesParams) (license.IndexedPage[license.NameCount], error)
		want map[string]int64
	}{{p.Customers, customers}, {p.Products, products}} {
		p.compareNames(t, list.read, "", list.want)
		p.compareNames(t, list.read, pick(dice, searches), list.want)
	}
}

// compareNames compares a list of customers or products, or a search for some of
// them, with the numbers of their licenses.
func (p *Process) compareNames(t *testing.T, read func(context.Context, license.NamesParams) (license.IndexedPage[license.NameCount], error), search string, all map[string]int64) {
	t.Helper()
	want, got := maps.Clone(all), map[string]int64{}
	maps.DeleteFunc(want, func(name string, _ int64) bool { return !hasWords([]string{name}, nil, search) })
	for q := (license.NamesParams{Search: search, Limit: 3}); ; {
		var page license.IndexedPage[license.NameCount]
		p.exact(t, func() (_ *license.Indexing, err error) {
			page, err = read(t.Context(), q)
			return page.Indexing, err
		})
		for _, c := range page.Data {
			got[c.Name] += c.N
		}
		if q.Cursor = page.NextCursor; !page.HasMore {
			break
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("names by %q: %v, want %v", search, got, want)
	}
}

func (p *Process) compareSearch(t *testing.T, all []license.License, dice *rand.Rand) {
	t.Helper()
	q := license.ListParams{Search: pick(dice, searches), NewestFirst: dice.IntN(2) == 0, Limit: 1 + dice.IntN(7)}
	switch dice.IntN(5) {
	case 0:
		q.CustomerID = pick(dice, customers)
	case 1:
		q.ProductID = pick(dice, products)
	case 2:
		q.Status = pick(dice, license.Statuses())
	case 3:
		if len(all) > 0 {
			q.Search, q.SearchKeys = strings.ToLower(pick(dice, all).Key[6:11]), true
		}
	}
	var want, got []string
	for _, l := range all {
		if (q.CustomerID == "" || q.CustomerID == l.CustomerID) && (q.ProductID == "" || q.ProductID == l.ProductID) &&
			(q.Status == "" || q.Status == l.Status) && p.matches(t, l, q) {
			want = append(want, l.ID)
		}
	}
	for {
		var page license.IndexedPage[license.License]
		p.exact(t, func() (_ *license.Indexing, err error) {
			page, err = p.List(t.Context(), q)
			return page.Indexing, err
		})
		for _, l := range page.Data {
			got = append(got, l.ID)
		}
		if q.Cursor = page.NextCursor; !page.HasMore {
			break
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		q.Cursor = ""
		t.Errorf("search %+v: %d licenses, want %d\n%v\n%v", q, len(got), len(want), got, want)
	}
}

// matches reports whether a license has all words of a search, in a way that
// shares nothing with the index.
func (p *Process) matches(t *testing.T, l license.License, q license.ListParams) bool {
	t.Helper()
	texts := []string{l.Name, l.CustomerID, l.ProductID}
	for _, value := range l.Metadata {
		texts = append(texts, value)
	}
	activations, err := p.ListActivations(t.Context(), license.ListActivationsParams{LicenseID: l.ID, Ended: true, Limit: 200})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range activations.Data {
		texts = append(texts, a.Fingerprint)
	}
	groups := strings.Split(strings.ToLower(l.Key), "-")
	if !q.SearchKeys {
		groups = nil
	}
	return hasWords(texts, groups, q.Search)
}

// hasWords reports whether each word of a search is a group or the beginning of
// a word of a text.
func hasWords(texts, groups []string, search string) bool {
	separators := strings.NewReplacer("-", " ", "@", " ", ".", " ", "_", " ", "/", " ")
	for _, word := range strings.Fields(separators.Replace(strings.ToLower(search))) {
		found := slices.Contains(groups, word)
		for _, text := range texts {
			text = strings.ToLower(text)
			words := strings.Fields(separators.Replace(text))
			for _, own := range words[:min(16, len(words))] {
				found = found || strings.HasPrefix(own, word)
			}
			if r := []rune(word); r[0] >= 0x1100 { // Chinese and Korean
				found = found || strings.Contains(text, word)
			}
		}
		if !found {
			return false
		}
	}
	return true
}
