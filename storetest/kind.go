package storetest

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A kind is one record type of the contract with every way to read it, for the
// rules that apply to all fields of all records.
type kind[R any] struct {
	area     string
	needs    []any             // rows that must exist first
	plain    func(n int) R     // the n-th plain record, every field set
	identity []string          // the fields that identify the record to replace
	unique   []string          // further fields that must differ between records
	fixed    []string          // fields that a case cannot choose: an existing license, a Seq
	kept     []string          // fields that a replacement does not change
	same     func(a, b R) bool // whether a and b have the same identity
	replace  func(ctx context.Context, tx store.Tx, old, row R) error
	reads    []read[R]
	// sortedBy is the string field that sorts the records, and ids lists its
	// values in ascending order. Both are unset if no string sorts them.
	sortedBy string
	ids      func(ctx context.Context, r store.Reader) ([]string, error)
}

// A read is one way to read a record.
type read[R any] struct {
	name string
	// rows returns the rows found by want's fields: one row for a get, and
	// all matching rows for a list.
	rows func(ctx context.Context, r store.Reader, want R) ([]R, error)
	// exact means that only want may be found if all strings differ.
	exact bool
}

// field names what the read searches by, for a failure message: the field, which
// is new if the record was replaced, or the list.
func (way read[R]) field(when string) string {
	_, field, ok := strings.Cut(way.name, " by ")
	switch {
	case !ok:
		return "place in the list"
	case strings.Contains(when, "replaced"):
		return "new " + field
	}
	return field
}

// get converts the result of a get to the rows of a read.
func get[R any](row R, err error) ([]R, error) {
	if err != nil {
		return nil, err
	}
	return []R{row}, nil
}

// cases returns the cases that every record type has.
func (k kind[R]) cases() []testCase {
	list := []testCase{
		{k.area, "Whole", 9, k.whole},
		{k.area, "Bytes", 7, k.bytes},
		{k.area, "Documents", 7, k.documents},
		{k.area, "Times", 8, k.times},
		{k.area, "Lengths", 24, k.lengths},
		{k.area, "Unlike", 24, k.unlike},
		{k.area, "OwnershipOfArguments", 13, k.passed},
		{k.area, "OwnershipOfResults", 13, k.returned},
	}
	if k.ids != nil {
		list = append(list, testCase{k.area, "ByteOrder", 7, k.byteOrder})
	}
	return list
}

// find reads want in one way, and returns the row with its identity.
func (k kind[R]) find(ctx context.Context, r store.Reader, way read[R], want R) (row R, found bool, err error) {
	rows, err := way.rows(ctx, r, want)
	row, found = k.pick(rows, want)
	return row, found, err
}

// pick returns the row with want's identity.
func (k kind[R]) pick(rows []R, want R) (row R, found bool) {
	for _, row := range rows {
		if k.same(row, want) {
			return row, true
		}
	}
	return row, false
}

// check reads want in every way and records a failure for each field that
// differs from want.
func (k kind[R]) check(b *bench, want R, when string) {
	b.readers(func(how string, r store.Reader) {
		for _, way := range k.reads {
			got, found, err := k.find(b.ctx, r, way, want)
			if err != nil {
				b.fail(err, "the record", "%s %s, %s", way.name, how, when)
				continue
			}
			if !found {
				b.fail("not found by its "+way.field(when), "the record", "%s %s, %s", way.name, how, when)
				continue
			}
			for _, f := range differences(got, want, k.fixed) {
				b.fail(f.got, f.want, "%s of %s %s, %s", f.name, way.name, how, when)
			}
		}
	})
}

// whole writes records with every field set, and replaces them.
func (k kind[R]) whole(b *bench) {
	first, other := k.plain(1), k.plain(2)
	b.add(k.needs...)
	b.add(first, other)
	k.check(b, first, "after it was added")
	k.check(b, other, "after it was added")

	next := k.plain(3)
	carry(&next, first, slices.Concat(k.identity, k.kept))
	b.update(func(tx store.Tx) error { return k.replace(b.ctx, tx, first, next) })
	k.check(b, next, "after it was replaced")
	k.check(b, other, "after another was replaced")

	var bare R
	carry(&bare, next, slices.Concat(k.identity, k.unique, k.kept))
	b.update(func(tx store.Tx) error { return k.replace(b.ctx, tx, next, bare) })
	k.check(b, bare, "after it was replaced by one with no fields set")
}

// times writes instants into every time field of a record.
func (k kind[R]) times(b *bench) {
	b.add(k.needs...)
	control := k.plain(1)
	b.add(control)
	west := time.FixedZone("west", -11*3600)
	for i, instant := range []time.Time{
		{},
		time.Time{}.In(elsewhere),
		time.Time{}.Add(time.Millisecond - 1),
		time.Time{}.Add(time.Millisecond),
		time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC),
		time.Unix(0, 0),
		time.Unix(0, -1e6),
		time.Unix(0, -1),
		time.Unix(-1e9, 999_999),
		time.UnixMilli(1).UTC(),
		time.Date(1970, 1, 1, 0, 0, 0, 0, west),
		time.Date(1999, 12, 31, 23, 59, 59, 999e6, elsewhere),
		time.Date(2026, 2, 28, 12, 30, 15, 123e6, west),
		time.Date(2038, 1, 19, 3, 14, 8, 1e6, time.UTC),
		time.Date(2262, 4, 12, 0, 0, 0, 0, time.UTC), // beyond nanoseconds in 64 bits
		time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC),
		time.Now().Truncate(time.Millisecond),
	} {
		row := k.plain(10 + i)
		for f, v := range fields(&row, k.fixed) {
			if f.Type == reflect.TypeFor[time.Time]() {
				v.Set(reflect.ValueOf(instant))
			}
		}
		b.add(row)
		instant = instant.Truncate(time.Millisecond) // counted from the year 1, and so down
		b.readers(func(how string, r store.Reader) {
			for _, way := range k.reads {
				lost := k.lost(b, r, way, control)
				got, found, _ := k.find(b.ctx, r, way, row)
				for f, v := range fields(&got, k.fixed) {
					if !found || lost[f.Name] || f.Type != reflect.TypeFor[time.Time]() {
						continue // rule 9
					}
					t := v.Interface().(time.Time)
					if !t.Equal(instant) || t.IsZero() != instant.IsZero() {
						b.fail(t, instant, "%s of %s %s", f.Name, way.name, how)
					} else if t.Location() != time.UTC {
						b.fail(t.Location(), time.UTC, "zone of %s of %s %s", f.Name, way.name, how)
					}
				}
			}
		})
	}
}

// lost returns the fields of a plain record that are not returned at all, which
// another rule covers.
func (k kind[R]) lost(b *bench, r store.Reader, way read[R], plain R) map[string]bool {
	lost := map[string]bool{}
	got, found, err := k.find(b.ctx, r, way, plain)
	for f, v := range fields(&got, k.fixed) {
		lost[f.Name] = err != nil || !found || v.IsZero()
	}
	return lost
}
