package storetest

import (
	"reflect"
	"slices"

	"github.com/seed-d8a106b4/licensekit/store"
)

// passed changes its arguments after passing them, in the Update and after it.
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

// returned changes the results of every way to read.
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
					k.intact(b, later, rows, "after changing its neighbor in the result of %s %s", way.name, how)
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

// intact compares the slices of a record with the expected ones.
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
