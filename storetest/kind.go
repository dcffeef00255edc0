package storetest

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A kind is one of the records of the contract with every way to read it, for
// the rules that hold for all fields of all records.
type kind[R any] struct {
	area     string
	needs    []any             // rows that must be there first
	plain    func(n int) R     // the n-th plain record, every field set
	identity []string          // the fields that tell what a replacement replaces
	unique   []string          // further fields that must differ between records
	fixed    []string          // fields that a case may not choose: a licence that exists, a Seq
	kept     []string          // fields that a replacement leaves as they are
	same     func(a, b R) bool // whether they have one identity
	replace  func(ctx context.Context, tx store.Tx, old, row R) error
	reads    []read[R]
	// ids lists the field that sorts the records, in ascending order. Both
	// are unset for kinds that no string sorts.
	sortedBy string
	ids      func(ctx context.Context, r store.Reader) ([]string, error)
}

// A read is one way to read a record.
type read[R any] struct {
	name string
	// rows returns what is found by want's fields: one row for a get, and
	// all that match for a list.
	rows func(ctx context.Context, r store.Reader, want R) ([]R, error)
	// exact says that nothing but want may be found if all strings differ.
	exact bool
}

// get makes the rows of a read from the answer of a get.
func get[R any](row R, err error) ([]R, error) {
	if err != nil {
		return nil, err
	}
	return []R{row}, nil
}

// cases returns the cases that every kind of record has.
func (k kind[R]) cases() []testCase {
	list := []testCase{
		{k.area, "Whole", 9, k.whole},
		{k.area, "Bytes", 7, k.bytes},
		{k.area, "Documents", 7, k.documents},
		{k.area, "Times", 8, k.times},
		{k.area, "OwnershipOfWhatIsPassed", 13, k.passed},
		{k.area, "OwnershipOfWhatIsReturned", 13, k.returned},
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

// check reads want in every way and notes fields that are not as in want.
func (k kind[R]) check(b *bench, want R, when string) {
	b.readers(func(how string, r store.Reader) {
		for _, way := range k.reads {
			got, found, err := k.find(b.ctx, r, way, want)
			if err != nil || !found {
				b.fail(err, "the record", "%s %s, %s", way.name, how, when)
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
	k.check(b, first, "as it was added")
	k.check(b, other, "as it was added")

	next := k.plain(3)
	carry(&next, first, slices.Concat(k.identity, k.kept))
	b.update(func(tx store.Tx) error { return k.replace(b.ctx, tx, first, next) })
	k.check(b, next, "after it was replaced")
	k.check(b, other, "after another was replaced")

	var bare R
	carry(&bare, next, slices.Concat(k.identity, k.unique, k.kept))
	b.update(func(tx store.Tx) error { return k.replace(b.ctx, tx, next, bare) })
	k.check(b, bare, "after it was replaced by one with nothing set")

	for i, extreme := range []int64{1<<63 - 1, -1 << 63, -1} {
		row := k.plain(10 + i)
		for f, v := range fields(&row, k.fixed) {
			if f.Type.Kind() == reflect.Int64 {
				v.SetInt(extreme)
			}
		}
		b.add(row)
		k.check(b, row, fmt.Sprintf("with numbers of %d", extreme))
	}
}

// times writes instants into every time of a record.
func (k kind[R]) times(b *bench) {
	b.add(k.needs...)
	control := k.plain(1)
	b.add(control)
	west := time.FixedZone("west", -11*3600)
	for i, instant := range []time.Time{
		{},
		time.Time{}.In(elsewhere),
		time.Unix(0, 0),
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

// lost returns the fields of a plain record that do not come back at all,
// which is another rule's affair.
func (k kind[R]) lost(b *bench, r store.Reader, way read[R], plain R) map[string]bool {
	lost := map[string]bool{}
	got, found, err := k.find(b.ctx, r, way, plain)
	for f, v := range fields(&got, k.fixed) {
		lost[f.Name] = err != nil || !found || v.IsZero()
	}
	return lost
}

// bytes writes records whose strings are alike but for their bytes.
func (k kind[R]) bytes(b *bench) {
	b.add(k.needs...)
	control := k.plain(1)
	b.add(control, k.plain(2))
	rows := map[string]R{}
	var all []any
	for _, s := range awkward {
		row := k.plain(10)
		k.fill(&row, s)
		rows[s] = row
		all = append(all, row)
	}
	b.add(all...)

	r := store.Reader(b.Store)
	for _, way := range k.reads {
		lost := k.lost(b, r, way, control)
		plain, err := way.rows(b.ctx, r, control)
		exact := way.exact && err == nil && len(plain) == 1 // else it does not filter at all
		for _, s := range awkward {
			want, found := rows[s], plain
			if way.exact {
				found, _ = way.rows(b.ctx, r, want)
			}
			if exact && len(found) != 1 {
				b.fail(fmt.Sprintf("%d records", len(found)), "1 record", "%s by %q", way.name, s)
			}
			got, ok := k.pick(found, want)
			if !ok {
				b.fail("no record", "the record", "%s with %q", way.name, s)
				continue
			}
			for _, f := range differences(got, want, k.fixed) {
				if textual := f.typ.Kind() == reflect.String || f.typ == reflect.TypeFor[[]string](); textual && !lost[f.name] {
					b.fail(f.got, f.want, "%s of %s", f.name, way.name)
				}
			}
		}
		for _, s := range strangers {
			stranger := k.plain(10)
			k.fill(&stranger, s)
			if found, _ := way.rows(b.ctx, r, stranger); exact && len(found) > 0 && !reflect.ValueOf(found[0]).IsZero() {
				b.fail(fmt.Sprintf("%+v", found[0]), "nothing", "%s by %q", way.name, s)
			}
		}
	}
}

// fill sets every string of the record to s.
func (k kind[R]) fill(row *R, s string) {
	for f, v := range fields(row, k.fixed) {
		if f.Type == reflect.TypeFor[[]string]() {
			v.Set(reflect.ValueOf([]string{s}))
		} else if f.Type.Kind() == reflect.String {
			v.SetString(s)
		}
	}
}

// byteOrder writes records that are sorted by awkward strings.
func (k kind[R]) byteOrder(b *bench) {
	b.add(k.needs...)
	plain := []string{"order_2", "order_3", "order_1"}
	var rows []any
	for _, s := range slices.Concat(plain, awkward) {
		row := k.plain(10)
		for f, v := range fields(&row, k.fixed) {
			if f.Name == k.sortedBy || slices.Contains(k.unique, f.Name) {
				v.SetString(s)
			}
		}
		rows = append(rows, row)
	}
	b.add(rows...)
	b.readers(func(how string, r store.Reader) {
		got, err := k.ids(b.ctx, r)
		control := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return !slices.Contains(plain, s) })
		if err == nil && slices.IsSorted(control) { // else it is a matter of rule 10
			b.equal(got, slices.Sorted(slices.Values(got)), "order %s", how)
		}
	})
}

// documents writes JSON that can be written in other ways.
func (k kind[R]) documents(b *bench) {
	b.add(k.needs...)
	control := k.plain(1)
	b.add(control)
	for i, text := range jsons {
		row := k.plain(10 + i)
		for f, v := range fields(&row, k.fixed) {
			if f.Type == reflect.TypeFor[[]byte]() {
				v.SetBytes([]byte(text))
			}
		}
		b.add(row)
		b.readers(func(how string, r store.Reader) {
			for _, way := range k.reads {
				lost := k.lost(b, r, way, control)
				got, found, _ := k.find(b.ctx, r, way, row)
				for f, v := range fields(&got, k.fixed) {
					if found && f.Type == reflect.TypeFor[[]byte]() && !lost[f.Name] && string(v.Bytes()) != text {
						b.fail(abridge(v.Bytes()), abridge([]byte(text)), "%s of %s %s", f.Name, way.name, how)
					}
				}
			}
		})
	}
}

// passed changes what it has passed to the store, at once and after the Update.
func (k kind[R]) passed(b *bench) {
	b.add(k.needs...)
	early, late := k.plain(1), k.plain(2)
	var passed R
	b.update(func(tx store.Tx) error {
		row := k.plain(1)
		if err := put(b.ctx, tx, row); err != nil {
			return err
		}
		scribble(&row)
		passed = k.plain(2)
		return put(b.ctx, tx, passed)
	})
	scribble(&passed)
	k.unscathed(b, early, "after changing what was passed, within the Update")
	k.unscathed(b, late, "after changing what was passed, when the Update had returned")

	next := k.plain(3)
	carry(&next, early, slices.Concat(k.identity, k.kept))
	b.update(func(tx store.Tx) error {
		row := copied(next)
		if err := k.replace(b.ctx, tx, early, row); err != nil {
			return err
		}
		scribble(&row)
		return nil
	})
	k.unscathed(b, next, "after changing what was passed as a replacement")
}

// returned changes what it was given by the store, in every way there is.
func (k kind[R]) returned(b *bench) {
	b.add(k.needs...)
	rows := []R{k.plain(1), k.plain(2)}
	b.add(rows[0], rows[1])
	b.readers(func(how string, r store.Reader) {
		for _, way := range k.reads {
			found, err := way.rows(b.ctx, r, rows[0])
			if err != nil {
				continue
			}
			for i := range found {
				scribble(&found[i])
				for _, later := range found[i+1:] { // they may share memory
					k.intact(b, later, rows, "after changing its neighbour in the answer of %s %s", way.name, how)
				}
			}
			for _, again := range k.reads {
				if got, ok, err := k.find(b.ctx, r, again, rows[0]); err == nil && ok {
					k.intact(b, got, rows, "of %s %s, after changing what %s returned", again.name, how, way.name)
				}
			}
		}
	})
	for _, row := range rows {
		k.unscathed(b, row, "after changing what was returned")
	}
}

// unscathed reads want in every way and compares its slices.
func (k kind[R]) unscathed(b *bench, want R, when string) {
	b.readers(func(how string, r store.Reader) {
		for _, way := range k.reads {
			if got, ok, err := k.find(b.ctx, r, way, want); err == nil && ok {
				k.intact(b, got, []R{want}, "of %s %s, %s", way.name, how, when)
			}
		}
	})
}

// intact compares the slices of a record with those of the one that it is.
func (k kind[R]) intact(b *bench, got R, rows []R, what string, args ...any) {
	for _, want := range rows {
		if !k.same(got, want) {
			continue
		}
		for _, f := range differences(got, want, k.fixed) {
			if f.typ.Kind() == reflect.Slice {
				b.fail(f.got, f.want, "%s "+what, append([]any{f.name}, args...)...)
			}
		}
	}
}

func abridge(doc []byte) []byte {
	if len(doc) > 80 {
		return fmt.Appendf(bytes.Clone(doc[:60]), "… (%d bytes)", len(doc))
	}
	return doc
}
