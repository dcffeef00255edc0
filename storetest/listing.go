package storetest

import (
	"context"
	"slices"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A listing is one list of the contract in one order and direction. Its rows
// are identified by their rank: rank 0 comes first. In lists ordered by a time,
// each even rank and the odd rank after it have the same time.
type listing struct {
	area, name string
	needs      []any // rows that must exist first
	noise      []any // rows that must not be listed
	row        func(rank int) any
	// list returns ranks; after is the rank to continue after, or -1.
	list func(ctx context.Context, r store.Reader, after, limit int) ([]int, error)
}

// ranks is above every rank that a case uses.
const ranks = 60

// rankOf is the inverse of id for existing ranks. It returns -1 for other strings.
func rankOf(id func(rank int) string) func(string) int {
	known := map[string]int{}
	for rank := range ranks {
		known[id(rank)] = rank
	}
	return func(id string) int {
		if rank, ok := known[id]; ok {
			return rank
		}
		return -1
	}
}

// cases returns the cases that every listing has.
func (l listing) cases() []testCase {
	return []testCase{
		{l.area, "Order" + l.name, 10, l.order},
		{l.area, "Paging" + l.name, 12, l.paging},
		{l.area, "PagingMeanwhile" + l.name, 12, l.meanwhile},
	}
}

// order writes rows in a different order than that of the list.
func (l listing) order(b *bench) {
	b.add(l.needs...)
	rows := slices.Clone(l.noise)
	var want []int
	for i := range ranks {
		rows = append(rows, l.row(i*17%ranks))
		want = append(want, i)
	}
	b.add(rows...)
	b.readers(func(how string, r store.Reader) {
		got, err := l.list(b.ctx, r, -1, many)
		b.equal(err, nil, "error %s", how)
		b.equal(got, want, "ranks %s", how)
	})
}

// paging reads in pages of many sizes, and from positions with and without a
// row.
func (l listing) paging(b *bench) {
	b.add(l.needs...)
	rows := slices.Clone(l.noise)
	var want []int
	for rank := range ranks {
		if rank%3 > 0 {
			rows = append(rows, l.row(rank))
			want = append(want, rank)
		}
	}
	b.add(rows...)
	b.readers(func(how string, r store.Reader) {
		for _, size := range []int{1, 2, 7, len(want), len(want) + 1} {
			var got []int
			for after := -1; len(got) <= len(want); {
				page, err := l.list(b.ctx, r, after, size)
				if !b.equal(err, nil, "error %s", how) || len(page) == 0 {
					break
				}
				got = append(got, page...)
				after = page[len(page)-1]
			}
			b.equal(got, want, "ranks in pages of %d %s", size, how)
		}
	})
	for after := range ranks {
		behind, _ := slices.BinarySearch(want, after+1)
		got, err := l.list(b.ctx, b.Store, after, many)
		b.equal(err, nil, "error")
		b.equal(slices.Concat(got), slices.Concat(want[behind:]), "ranks after rank %d", after)
	}
}

// meanwhile adds and removes rows between the pages: at the position, before it
// and after it.
func (l listing) meanwhile(b *bench) {
	b.add(l.needs...)
	rows := slices.Clone(l.noise)
	there, was := map[int]bool{}, map[int]bool{}
	add := func(rank int) {
		if rank >= 0 && rank < ranks && !was[rank] {
			b.add(l.row(rank))
			there[rank], was[rank] = true, true
		}
	}
	drop := func(rank int) {
		if there[rank] {
			b.update(func(tx store.Tx) error { return remove(b.ctx, tx, l.row(rank)) })
			delete(there, rank)
		}
	}
	for rank := range ranks {
		if rank%4 > 0 {
			rows = append(rows, l.row(rank))
			there[rank], was[rank] = true, true
		}
	}
	b.add(rows...)
	for after, turn := -1, 0; ; turn++ {
		var want []int
		for rank := after + 1; rank < ranks && len(want) < 3; rank++ {
			if there[rank] {
				want = append(want, rank)
			}
		}
		got, err := l.list(b.ctx, b.Store, after, 3)
		if !b.equal(err, nil, "error") || !b.equal(got, want, "page after rank %d", after) || len(got) == 0 {
			return
		}
		after = got[len(got)-1]
		switch turn % 3 {
		case 0:
			drop(after)
			drop(after + 1)
			add(after - 1)
		case 1:
			add(after + 1)
			add(after + 2)
			drop(after - 2)
		case 2:
			drop(after)
			add(after - 3)
			add(after + 4)
			drop(after + 3)
		}
	}
}
