package catalog_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/catalog"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// find returns the IDs that a search for a text finds, page by page.
func (f *fixture) find(t *testing.T, text string, descending bool) (ids []string) {
	t.Helper()
	for after := ""; ; {
		var page catalog.Page
		lag, err := f.Answer(t.Context(), nil, func(in catalog.Snapshot) (err error) {
			page, _, err = in.Find(t.Context(), catalog.Search{
				Text: text, Keys: true, Where: store.LicenseQuery{Limit: 1000, Descending: descending}, After: after,
				Sees: func(store.License) bool { return true },
			})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if lag != nil {
			continue // until it caught up
		}
		for _, l := range page.Licenses {
			ids = append(ids, l.ID)
		}
		if after = page.Next; after == "" {
			return ids
		}
	}
}

// TestRuns compares the groups of many keys with all licenses, while runs are
// merged, keys are replaced and licenses are deleted. All keys begin
// with one of two groups.
func TestRuns(t *testing.T) {
	is := is.New(t)
	f := newFixture(memory.New())
	dice := rand.New(rand.NewPCG(1, 2))
	licenses := map[string]license.License{}
	newKey := func() string {
		key := []string{"PR024", []string{"A0000", "B0000"}[dice.IntN(2)]}
		for range 3 {
			key = append(key, fmt.Sprintf("%05d", dice.IntN(100_000)))
		}
		return strings.Join(key, "-")
	}
	compare := func() {
		t.Helper()
		if dice.IntN(2) == 0 {
			is.NoErr(f.Catalog.Index(t.Context())) // merge all runs
		}
		want := map[string][]string{"99999": nil}
		for _, l := range licenses {
			for i, group := range strings.Split(l.Key, "-") {
				if i < 2 || dice.IntN(400) == 0 {
					want[group] = nil
				}
			}
		}
		for group := range want {
			for id, l := range licenses {
				if slices.Contains(strings.Split(l.Key, "-"), group) {
					want[group] = append(want[group], id)
				}
			}
			slices.Sort(want[group])
			is.Equal(f.find(t, group, false), want[group]) // group
			if len(want[group]) < 2 {
				continue
			}
			slices.Reverse(want[group])
			is.Equal(f.find(t, group, true), want[group])
		}
	}
	add := func(n int) {
		t.Helper()
		var rows strings.Builder
		for range n {
			fmt.Fprintf(&rows, `{"key":"%s","name":"n","product_id":"p","customer_id":"c"}`+"\n", newKey())
		}
		f.now = f.now.Add(time.Second)
		is.NoErr(f.Import(t.Context(), strings.NewReader(rows.String()), func(r license.ImportResult) error {
			l, err := f.Get(t.Context(), r.ID)
			licenses[l.ID] = l
			return err
		}))
	}
	for _, n := range []int{1, 30, 300, 400, 1} {
		add(n)
		compare()
		for id, l := range licenses {
			switch dice.IntN(8) {
			case 0:
				is.NoErr(f.Delete(t.Context(), license.DeleteParams{ID: id}))
				delete(licenses, id)
			case 1:
				l, err := f.Rekey(t.Context(), license.RekeyParams{ID: l.ID})
				is.NoErr(err)
				licenses[id] = l
			}
		}
		compare()
	}
	for range 40 {
		add(25)
		is.NoErr(f.Catalog.Index(t.Context()))
	}
	state, err := f.store.Entry(t.Context(), "catalog", "licenses")
	is.NoErr(err)
	is.True(bytes.Count(state.Data, []byte(`"n":`)) < 12) // runs
	compare()
	entries, err := f.store.Entries(t.Context(), store.EntryQuery{Kind: "index.1.word"})
	is.NoErr(err)
	is.True(len(entries) > 200 && len(entries) < 1_000)
	for _, e := range entries {
		is.True(len(e.Key)+len(e.Data) < 1_000) // larger ones are slow to find
	}
	for id := range licenses {
		is.NoErr(f.Delete(t.Context(), license.DeleteParams{ID: id}))
	}
	is.NoErr(f.Catalog.Clean(t.Context()))
	kinds := f.kinds(t)
	is.Equal(kinds["index.1.word"]+kinds["index.1.license"], 0)
}
