package storetest

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/store"
)

// bytes writes records whose strings look alike but differ in their bytes.
func (k kind[R]) bytes(b *bench) {
	b.add(k.needs...)
	control := k.plain(1)
	b.add(control, k.plain(2))
	rows := map[string]R{}
	var all []any
	for _, s := range awkward {
		row := k.plain(10)
		k.fill(&row, func(field string) string { return ending(s, maxOf(field)) })
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
			k.fill(&stranger, func(string) string { return s })
			if found, _ := way.rows(b.ctx, r, stranger); exact && len(found) > 0 && !reflect.ValueOf(found[0]).IsZero() {
				b.fail(fmt.Sprintf("%+v", found[0]), "nothing", "%s by %q", way.name, s)
			}
		}
	}
}

// fill sets every string of the record to that for its field.
func (k kind[R]) fill(row *R, of func(field string) string) {
	for f, v := range fields(row, k.fixed) {
		if f.Type == reflect.TypeFor[[]string]() {
			v.Set(reflect.ValueOf([]string{of(f.Name)}))
		} else if f.Type.Kind() == reflect.String {
			v.SetString(of(f.Name))
		}
	}
}

// ending returns the characters at the end of s that have at most n bytes. Long
// strings differ there.
func ending(s string, n int) string {
	for s = s[max(0, len(s)-n):]; s != "" && !utf8.RuneStart(s[0]); {
		s = s[1:]
	}
	return s
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
				v.SetString(ending(s, maxOf(f.Name)))
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

// documents writes JSON that can be written in other ways, and bytes that are none, in a
// record that is added and in one that replaces another.
func (k kind[R]) documents(b *bench) {
	b.add(k.needs...)
	control, replaced, kept := k.plain(1), k.plain(2), string(document(2))
	b.add(control, replaced)
	for i, text := range jsons {
		row := k.plain(10 + i)
		for _, row := range []*R{&row, &replaced} {
			for f, v := range fields(row, k.fixed) {
				if f.Type == reflect.TypeFor[[]byte]() {
					v.SetBytes([]byte(text))
				}
			}
		}
		b.add(row)
		b.update(func(tx store.Tx) error { return k.replace(b.ctx, tx, replaced, replaced) })
		b.readers(func(how string, r store.Reader) {
			for _, way := range k.reads {
				lost := k.lost(b, r, way, control)
				for _, row := range []R{row, replaced} {
					got, found, _ := k.find(b.ctx, r, way, row)
					for f, v := range fields(&got, k.fixed) {
						if found && f.Type == reflect.TypeFor[[]byte]() && !lost[f.Name] && string(v.Bytes()) != text && string(v.Bytes()) != kept { // else rule 9
							b.fail(abridge(v.Bytes()), abridge([]byte(text)), "%s of %s %s", f.Name, way.name, how)
						}
					}
				}
			}
		})
	}
}

func abridge(doc []byte) []byte {
	if len(doc) > 80 {
		return fmt.Appendf(bytes.Clone(doc[:60]), "… (%d bytes)", len(doc))
	}
	return doc
}
