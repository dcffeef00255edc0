package memory

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// TestTreeAgainstMap does the same to a tree and to a map, keeps old trees, and
// checks that every tree still holds what its map held.
func TestTreeAgainstMap(t *testing.T) {
	is := is.New(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	anywhere := func() place {
		return place{group: string('a' + rune(rnd.IntN(3))), at: int64(rnd.IntN(5) - 2), id: string('a' + rune(rnd.IntN(5)))}
	}

	type version struct {
		tree *tree[int]
		rows map[place]int
	}
	var versions []version
	now := version{nil, map[place]int{}}
	for i := range 2000 {
		now.rows = maps.Clone(now.rows)
		if p := anywhere(); rnd.IntN(3) > 0 {
			now.tree, now.rows[p] = now.tree.set(p, &i), i
		} else {
			now.tree = now.tree.set(p, nil)
			delete(now.rows, p)
		}
		if i%20 == 0 {
			versions = append(versions, now)
		}
	}

	for _, v := range versions {
		places := slices.SortedFunc(maps.Keys(v.rows), place.compare)
		for _, p := range places {
			is.Equal(*v.tree.get(p), v.rows[p])
		}
		from, to := anywhere(), anywhere()
		var want, got []int
		for _, p := range places {
			if p.compare(from) >= 0 && p.compare(to) < 0 {
				want = append(want, v.rows[p])
			}
		}
		for row := range v.tree.in(span{from, to}, false) {
			got = append(got, *row)
		}
		is.Equal(got, want) // upward

		got = nil
		for row := range v.tree.in(span{from, to}, true) {
			got = append(got, *row)
		}
		slices.Reverse(got)
		is.Equal(got, want) // downward
	}
}

// TestTreeStaysShallow fills a tree in the worst order.
func TestTreeStaysShallow(t *testing.T) {
	var root *tree[int]
	for i := range 20_000 {
		root = root.set(place{at: int64(i)}, &i)
	}
	var depth func(*tree[int]) int
	depth = func(t *tree[int]) int {
		if t == nil {
			return 0
		}
		return 1 + max(depth(t.left), depth(t.right))
	}
	require.Less(t, depth(root), 100) // 15 would be perfect, 40 is usual
}
