package memory

import (
	"cmp"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A place is where a row stands in a tree: rows are ordered by group, then by at,
// then by id. A tree uses as many of the three as its order needs.
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

// A span is the part of a tree from one place to another. It includes the first
// of the two, and not the second.
type span struct{ from, to place }

// group returns the span of all rows of a group.
func group(name string) span {
	return span{place{group: name, at: math.MinInt64}, place{group: name, at: math.MaxInt64}}
}

// beginning returns the span of all rows whose group begins with prefix.
func beginning(prefix string) span {
	s := span{place{group: prefix, at: math.MinInt64}, place{group: store.PrefixEnd(prefix), at: math.MinInt64}}
	if s.to.group == "" {
		s.to.group = "\xff" // above all text
	}
	return s
}

// since returns the part of s that begins at p.
func (s span) since(p place) span {
	if p.compare(s.from) > 0 {
		s.from = p
	}
	return s
}

// before returns the part of s that ends before p.
func (s span) before(p place) span {
	if p.compare(s.to) < 0 {
		s.to = p
	}
	return s
}

// after returns the part of s that a list shows after the row at p.
func (s span) after(p place, descending bool) span {
	if descending {
		return s.before(p)
	}
	p.id += "\x00" // the next place
	return s.since(p)
}

// A tree is a persistent map from places to rows, in order; the nil tree is
// empty. A node does not change once another goroutine can see it: set returns a
// new tree that shares all nodes with the old one except those on the path to p.
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

// set returns the tree with row at p in place of what was there, or with nothing
// at p if row is nil.
func (t *tree[R]) set(p place, row *R) *tree[R] {
	if row == nil {
		return t.without(p)
	}
	return t.with(p, row)
}

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

// in yields the rows in s in their order, or in reverse.
func (t *tree[R]) in(s span, descending bool) iter.Seq[*R] {
	return func(yield func(*R) bool) { t.walk(s, descending, yield) }
}

func (t *tree[R]) walk(s span, descending bool, yield func(*R) bool) bool {
	switch {
	case t == nil:
		return true
	case t.place.compare(s.from) < 0:
		return t.right.walk(s, descending, yield)
	case t.place.compare(s.to) >= 0:
		return t.left.walk(s, descending, yield)
	}
	first, last := t.left, t.right
	if descending {
		first, last = last, first
	}
	return first.walk(s, descending, yield) && yield(t.row) && last.walk(s, descending, yield)
}

// pick yields the rows in s that have one of the ids in a group.
func (t *tree[R]) pick(name string, ids []string, s span, descending bool) iter.Seq[*R] {
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	if descending {
		slices.Reverse(ids)
	}
	return func(yield func(*R) bool) {
		for _, id := range ids {
			p := place{group: name, id: id}
			if p.compare(s.from) < 0 || p.compare(s.to) >= 0 {
				continue
			}
			if row := t.get(p); row != nil && !yield(row) {
				return
			}
		}
	}
}
