package memory

import (
	"cmp"
	"iter"
	"math"
	"math/rand/v2"
	"strings"
)

// A place is where a row stands in its table: rows are ordered by group, then
// by at, then by id. A table uses as many of the three as its order needs.
type place struct {
	group string // such as the license of an activation, or the kind of an entry
	at    int64  // milliseconds of Unix time, or a Seq
	id    string
}

func (p place) compare(q place) int {
	if c := strings.Compare(p.group, q.group); c != 0 {
		return c
	}
	if c := cmp.Compare(p.at, q.at); c != 0 {
		return c
	}
	return strings.Compare(p.id, q.id)
}

// end returns a place before all rows of the group, or behind them all.
func end(group string, behind bool) place {
	if behind {
		return place{group: group, at: math.MaxInt64}
	}
	return place{group: group, at: math.MinInt64}
}

// A tree is a persistent map from places to rows, in order; the nil tree is
// empty. No node changes once another goroutine can see it: with and without
// return a new tree that shares with the old one all but the path they took.
//
// It is a treap: ordered by place from left to right, and by a random weight
// from top to bottom, which keeps it shallow whatever the order of insertion.
type tree[R any] struct {
	place
	row         *R
	weight      uint64
	left, right *tree[R]
}

// get returns the row at p, or nil.
func (t *tree[R]) get(p place) *R {
	for t != nil {
		switch c := p.compare(t.place); {
		case c < 0:
			t = t.left
		case c > 0:
			t = t.right
		default:
			return t.row
		}
	}
	return nil
}

// with returns the tree with row at p, in the place of what was there.
func (t *tree[R]) with(p place, row *R) *tree[R] {
	if t == nil {
		return &tree[R]{place: p, row: row, weight: rand.Uint64()}
	}
	n := *t
	switch c := p.compare(t.place); {
	case c < 0:
		if n.left = t.left.with(p, row); n.left.weight > n.weight {
			top := n.left // new, and so free to change
			n.left, top.right = top.right, &n
			return top
		}
	case c > 0:
		if n.right = t.right.with(p, row); n.right.weight > n.weight {
			top := n.right
			n.right, top.left = top.left, &n
			return top
		}
	default:
		n.row = row
	}
	return &n
}

// without returns the tree with nothing at p.
func (t *tree[R]) without(p place) *tree[R] {
	if t == nil {
		return nil
	}
	n := *t
	switch c := p.compare(t.place); {
	case c < 0:
		n.left = t.left.without(p)
	case c > 0:
		n.right = t.right.without(p)
	default:
		return join(t.left, t.right)
	}
	return &n
}

// join returns the tree of all that is in l and r; all of l is before all of r.
func join[R any](l, r *tree[R]) *tree[R] {
	if l == nil {
		return r
	}
	if r == nil {
		return l
	}
	if l.weight > r.weight {
		n := *l
		n.right = join(l.right, r)
		return &n
	}
	n := *r
	n.left = join(l, r.left)
	return &n
}

// beyond yields the rows of p's group that stand after p in order or, when
// descending, those before p in reverse order.
func (t *tree[R]) beyond(p place, descending bool) iter.Seq[*R] {
	return func(yield func(*R) bool) {
		if descending {
			t.down(p, yield)
		} else {
			t.up(p, yield)
		}
	}
}

// rest yields the rows of all groups that stand after p.
func (t *tree[R]) rest(p place) iter.Seq[*R] {
	return func(yield func(*R) bool) { t.walk(p, yield) }
}

func (t *tree[R]) walk(p place, yield func(*R) bool) bool {
	if t == nil {
		return true
	}
	if t.place.compare(p) > 0 && (!t.left.walk(p, yield) || !yield(t.row)) {
		return false
	}
	return t.right.walk(p, yield)
}

func (t *tree[R]) up(p place, yield func(*R) bool) bool {
	if t == nil {
		return true
	}
	if t.place.compare(p) > 0 {
		if !t.left.up(p, yield) || t.group != p.group || !yield(t.row) {
			return false
		}
	}
	return t.right.up(p, yield)
}

func (t *tree[R]) down(p place, yield func(*R) bool) bool {
	if t == nil {
		return true
	}
	if t.place.compare(p) < 0 {
		if !t.right.down(p, yield) || t.group != p.group || !yield(t.row) {
			return false
		}
	}
	return t.left.down(p, yield)
}
