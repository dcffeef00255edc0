package storetest

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/store"
)

func textCases() []testCase {
	return []testCase{
		{"Text", "Similar", 7, similarStrings},
		{"Text", "Reads", 24, textReads},
		{"Text", "Writes", 24, textWrites},
		{"Text", "LongKind", 24, longKind},
		{"Text", "LargestUpdate", 24, largestUpdate},
	}
}

// The longest strings and documents, in bytes.
const (
	maxID       = 255
	maxString   = 1024
	maxDocument = 1 << 20
)

// maxOf returns the most bytes of a field, except that keys of entries have cases of
// their own.
func maxOf(field string) int {
	switch field {
	case "Kind":
		return store.MaxKind
	case "ID", "LicenseID", "Type", "State":
		return maxID
	case "Text":
		return store.MaxText
	}
	return maxString
}

// notText are strings that rule 24 excludes, each similar to one that textReads
// stores.
var notText = []string{"a\x00b", "ab\x00ab", "ab\x00ab\x00ab", "a\xffb", "ab\x00", "\xffab", "a\xed\xa0\x80b", "ab" + strings.Repeat("x", 4000)}

// lengths writes records whose strings and documents have the maximum length and
// cannot be compressed.
func (k kind[R]) lengths(b *bench) {
	b.add(k.needs...)
	rnd := rand.New(rand.NewPCG(24, uint64(len(k.area))))
	long := func(n int) string {
		var s strings.Builder
		for s.Len() < n {
			r := rune(' ' + 1 + rnd.IntN(0x2fff))
			if s.Len()+utf8.RuneLen(r) > n {
				r = rune('a' + rnd.IntN(26))
			}
			s.WriteRune(r)
		}
		return s.String()
	}
	row := k.plain(1)
	for f, v := range fields(&row, k.fixed) {
		switch {
		case f.Type.Kind() == reflect.String:
			v.SetString(long(maxOf(f.Name)))
		case f.Type == reflect.TypeFor[[]string]():
			v.Set(reflect.ValueOf([]string{long(maxString), long(maxString)}))
		case f.Type == reflect.TypeFor[[]byte]():
			v.SetBytes([]byte(`"` + strings.Repeat(long(1<<10), maxDocument>>10)[:maxDocument-2] + `"`))
		}
	}
	b.ok(b.tryAdd(row), "adding a record whose strings have the maximum length")
	k.check(b, row, "with strings of the maximum length")
}

// textReads reads by strings that no store can hold. All strings of a record are equal,
// so that one with NUL may run into the next part of an index.
func textReads(b *bench) {
	l, a, ev := license(1), activation("ab", 1), event(1)
	l.CustomerID, l.ProductID, l.State, l.Key, l.ID = "ab", "ab", "ab", "ab", "ab"
	l.Text = "ab fraction ½ of a character"
	a.ID, a.Fingerprint, ev.Subject, ev.CustomerID, ev.ProductID = "ab", "ab", "ab", "ab", "ab"
	half := activation(license(0).ID, 2)
	half.Fingerprint = "½"
	rows := []any{license(0), l, a, half, ev}
	for _, kind := range []string{"ab", "kind"} {
		e := entry(kind, 0)
		rows = append(rows, e)
		e.Key, e.Owner = "ab", "ab"
		rows = append(rows, e)
	}
	b.add(rows...)
	texts := slices.Concat(notText, []string{"\xc2", "\xbd", "ab\x00a", "ab\x00" + entry("", 0).Key})
	b.readers(func(how string, r store.Reader) {
		for _, by := range selectors {
			for _, text := range texts {
				n, err := by.find(b.ctx, r, text)
				b.equal(err, nil, "%s %.20q %s", by.by, text, how)
				b.equal(n, 0, "records found by %s %.20q %s", by.by, text, how)
			}
		}
	})
}

// others returns 18 plain rows and bad.
func others[R any](bad R, plain func(n int) R) (rows []R) {
	for n := range 18 {
		rows = append(rows, plain(n))
	}
	return append(rows, bad)
}

// textWrites writes strings that stores may refuse. A store that refuses them
// must leave the Update usable.
func textWrites(b *bench) {
	b.add(license(1))
	for i, text := range notText {
		l, a, e, ev := license(100+i), activation(license(1).ID, 100+i), entry("call", 100+i), event(100+i)
		l.Key, a.Fingerprint, e.Owner, ev.Actor = text+l.Key, text+a.Fingerprint, text, text
		for _, write := range []func(tx store.Tx) error{
			func(tx store.Tx) error { return put(b.ctx, tx, l) },
			func(tx store.Tx) error { return put(b.ctx, tx, a) },
			func(tx store.Tx) error { return put(b.ctx, tx, e) },
			func(tx store.Tx) error { return put(b.ctx, tx, ev) },
			// After others in the same call, more than a backend writes in one statement.
			func(tx store.Tx) error {
				return tx.CreateLicenses(b.ctx, others(l, func(n int) store.License { return license(1000 + 20*i + n) })...)
			},
			func(tx store.Tx) error {
				return tx.PutActivations(b.ctx, others(a, func(n int) store.Activation { return activation(license(1).ID, 1000+20*i+n) })...)
			},
			func(tx store.Tx) error {
				return tx.PutEntries(b.ctx, others(e, func(n int) store.Entry { return entry("call", 1000+20*i+n) })...)
			},
			func(tx store.Tx) error {
				return tx.AppendEvents(b.ctx, others(ev, func(n int) store.Event { return event(1000 + 20*i + n) })...)
			},
		} {
			control := entry("control", 1)
			control.Owner = "before"
			b.add(control)
			before := b.dump()
			control.Owner = "after"
			var refused error
			err := b.try(func(tx store.Tx) error {
				refused = write(tx)
				return put(b.ctx, tx, control)
			})
			if errors.Is(refused, store.ErrExists) { // the store has taken the record when it came alone
				refused = nil
			}
			b.equal(err, nil, "Update that continued after writing %.10q (the call returned: %v)", text, refused)
			got, err := b.Entry(b.ctx, control.Kind, control.Key)
			b.ok(err, "Entry")
			b.equal(got.Owner, "after", "Owner of an entry written after writing %.10q (the call returned: %v)", text, refused)
			if refused == nil {
				continue
			}
			b.same(b.dump(), before, "writing %.10q was refused", text)
			for _, sentinel := range []error{store.ErrNotFound, store.ErrExists, store.ErrTxDone} {
				if errors.Is(refused, sentinel) {
					b.fail(refused, "no sentinel", "writing %.10q", text)
				}
			}
		}
	}
}

// unlike adds records in which one string is no text: each comes back unchanged or not at
// all.
func (k kind[R]) unlike(b *bench) {
	b.add(k.needs...)
	n := 100
	for _, text := range notText {
		for f := range fields(new(R), k.fixed) {
			row := k.plain(n)
			if n++; f.Type.Kind() != reflect.String {
				continue
			}
			reflect.ValueOf(&row).Elem().FieldByIndex(f.Index).SetString(text + word(f.Name, n))
			_ = b.tryAdd(row) // a store may refuse it
			for _, way := range k.reads {
				found, _ := way.rows(b.ctx, b.Store, row)
				for _, got := range found {
					if d := differences(got, row, k.fixed); len(d) == 1 { // in another record, all differ
						b.fail(d[0].got, d[0].want, "%s of %s, written with a string that is no text", d[0].name, way.name)
					}
				}
			}
		}
	}
}

// longKind puts an entry whose kind is too long, after another in the same call.
func longKind(b *bench) {
	b.add(entry("call", 1))
	before := b.dump()
	long := entry(strings.Repeat("k", store.MaxKind+1), 1)
	control := entry("control", 1)
	var refused error
	err := b.try(func(tx store.Tx) error {
		refused = tx.PutEntries(b.ctx, entry("call", 2), long)
		return put(b.ctx, tx, control)
	})
	if refused == nil {
		b.fail("no error", "an error", "PutEntries with a kind of %d bytes", store.MaxKind+1)
	}
	b.equal(err, nil, "Update that continued after PutEntries with a kind of %d bytes", store.MaxKind+1)
	b.same(b.dump(), before, "PutEntries with a kind of %d bytes", store.MaxKind+1)
	_, err = b.Entry(b.ctx, control.Kind, control.Key)
	b.equal(err, nil, "Entry written after PutEntries with a kind of %d bytes", store.MaxKind+1)
}

// largestUpdate writes as much as an Update may.
func largestUpdate(b *bench) {
	if testing.Short() {
		return
	}
	const records, documents = 5000, 15 // the rest of 16 MiB is for what is small
	b.update(func(tx store.Tx) error {
		rows := make([]store.Entry, records)
		for n := range rows {
			if rows[n] = entry("kind", n); n < documents {
				rows[n].Data = bytes.Repeat([]byte{'x'}, maxDocument)
			}
		}
		return tx.PutEntries(b.ctx, rows...)
	})
	for _, n := range []int{0, documents - 1, documents, records - 1} {
		e, err := b.Entry(b.ctx, "kind", word("key", n))
		b.equal(err, nil, "Entry %d of the largest Update", n)
		b.equal(len(e.Data) == maxDocument, n < documents, "length of the data of entry %d of the largest Update is 1 MiB", n)
	}
}
