package catalog

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestPostings compares the pairs that runs hold with a set of pairs, after every
// batch and in the middle of merges.
func TestPostings(t *testing.T) {
	is := is.New(t)
	st := memory.New()
	g := &generation{Kind: "index.1", Version: version}
	dice := rand.New(rand.NewPCG(3, 4))
	want := map[string]bool{}
	write := func(fill func(b *batch) error) {
		t.Helper()
		b := &batch{remove: map[string][]string{}}
		is.NoErr(fill(b))
		is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
			if err := tx.DeleteEntries(t.Context(), g.words(), b.remove[g.words()]...); err != nil {
				return err
			}
			return tx.PutEntries(t.Context(), b.put...)
		}))
	}
	add := func(n int) {
		t.Helper()
		list := map[string]posting{}
		for range n {
			term := strings.Repeat(string(rune('a'+dice.IntN(4))), 1+dice.IntN(3)) + strings.Repeat("x", 100*dice.IntN(2))
			p := posting{term: term, id: fmt.Sprintf("lic_%03d", dice.IntN(300))}
			p.gone = want[p.pair()]
			list[p.pair()] = p
		}
		for pair, p := range list {
			if want[pair] = !p.gone; p.gone {
				delete(want, pair)
			}
		}
		write(func(b *batch) error {
			return g.addPostings(t.Context(), st, slices.SortedFunc(maps.Values(list), posting.compare), b)
		})
	}
	merge := func() (more bool) {
		t.Helper()
		write(func(b *batch) (err error) {
			more, err = g.mergeRuns(t.Context(), st, b)
			return err
		})
		return more
	}
	compare := func() {
		t.Helper()
		all := slices.Sorted(maps.Keys(want))
		for range 2 {
			from := []string{"", "a", "aaxx", "bb ", "c", "zz"}[dice.IntN(6)]
			q := store.EntryQuery{From: from, Before: store.PrefixEnd(from), Descending: dice.IntN(2) == 0, Limit: 1 + dice.IntN(300)}
			if dice.IntN(2) == 0 {
				q.After.ID = from + "x lic_150"
			}
			var expected []string
			for _, pair := range all {
				beyond := q.After.ID == "" || pair != q.After.ID && (pair < q.After.ID) == q.Descending
				if strings.HasPrefix(pair, from) && beyond {
					expected = append(expected, pair)
				}
			}
			if q.Descending {
				slices.Reverse(expected)
			}
			list := newPairReader(Snapshot{st, g}).list(q)
			for range 3 { // pages
				found, err := list.next(t.Context(), q.Limit)
				is.NoErr(err)
				n := min(len(expected), q.Limit)
				is.Equal(found, append([]string(nil), expected[:n]...))
				expected = expected[n:]
			}
		}
	}
	for range 100 {
		add([]int{1, 5, 200, 900}[dice.IntN(4)])
		compare()
		for range dice.IntN(4) {
			merge()
			compare()
		}
	}
	for merge() {
		compare()
	}
	for _, r := range g.Runs[1:] { // older runs are of higher levels
		is.True(r.Into == 0 && !r.Open && r.Level <= g.Runs[0].Level)
	}
	g.beginMerge(0, len(g.Runs))
	for merge() {
		compare()
	}
	is.Equal(len(g.Runs), 1)
	is.Equal(g.Runs[0].Size, len(want))
	is.Equal(g.Runs[0].Gone, 0)
}

// TestBlocks: a block returns its postings, and damaged ones are found.
func TestBlocks(t *testing.T) {
	is := is.New(t)
	list := []posting{{"a", "1", false}, {"a", "2", true}, {"b", strings.Repeat("i", 300), false}, {"b", "j", false}}
	data, n := encodeBlock(list)
	is.Equal(n, len(list))
	found, err := decodeBlock(nil, data)
	is.NoErr(err)
	is.Equal(found, list)
	for i := range data {
		if found, err := decodeBlock(nil, data[:i]); err == nil {
			is.Equal(found, append([]posting(nil), list[:len(found)]...)) // cut between two postings
		} else {
			is.True(errors.Is(err, errBroken))
		}
	}
	was := terms{counted: counted{state: "active", product: "p", customer: "c", created: -5, expires: 1 << 45}, own: []string{"a", "b"}, fingerprints: []string{"b", "c"}}
	again, err := decodeTerms(was.encode())
	is.NoErr(err)
	is.Equal(again, was)
	is.Equal(again.words(), []string{"a", "b", "c"})
	_, err = decodeTerms([]byte{0, 0, 0, 0, 0, 0, 9, 1, 'a'})
	is.True(errors.Is(err, errBroken))
}
