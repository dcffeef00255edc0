package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A refusal is a call that must return a sentinel.
type refusal struct {
	name string
	want error
	call func(ctx context.Context, tx store.Tx) error
}

// fixture holds the records that cause the refusals.
func fixture() []any {
	one, two := license(1), license(2)
	return []any{
		one, two, activation(one.ID, 1), activation(one.ID, 2), activation(two.ID, 5),
		event(1), entry("call", 1),
	}
}

func refusals() []refusal {
	one, two := license(1), license(2)
	missing := "missing"
	create := func(id, key string) func(context.Context, store.Tx) error {
		return func(ctx context.Context, tx store.Tx) error {
			l := license(3)
			l.ID, l.Key = id, key
			return tx.CreateLicenses(ctx, l)
		}
	}
	update := func(id, key string) func(context.Context, store.Tx) error {
		return func(ctx context.Context, tx store.Tx) error {
			l := license(3)
			l.ID, l.Key = id, key
			return tx.UpdateLicense(ctx, l)
		}
	}
	seat := func(licenseID, id, fingerprint string) func(context.Context, store.Tx) error {
		return func(ctx context.Context, tx store.Tx) error {
			a := activation(licenseID, 3)
			a.ID, a.Fingerprint = id, fingerprint
			return tx.PutActivations(ctx, a)
		}
	}
	first, second := activation(one.ID, 1), activation(one.ID, 2)
	list := []refusal{
		{"CreateLicenses with an ID that is taken", store.ErrExists, create(one.ID, "new")},
		{"CreateLicenses with a Key that is taken", store.ErrExists, create("new", one.Key)},
		{"UpdateLicense to the Key of another", store.ErrExists, update(two.ID, one.Key)},
		{"UpdateLicense of a missing license", store.ErrNotFound, update(missing, "new")},
		{"DeleteLicense of a missing license", store.ErrNotFound, func(ctx context.Context, tx store.Tx) error {
			return tx.DeleteLicense(ctx, missing)
		}},
		{"PutActivations of a missing license", store.ErrNotFound, seat(missing, "new", "new")},
		{"PutActivations with a Fingerprint that is taken", store.ErrExists, seat(one.ID, "new", first.Fingerprint)},
		{"PutActivations that replaces, with the Fingerprint of another", store.ErrExists, seat(one.ID, second.ID, first.Fingerprint)},
		{"DeleteActivations of a missing activation", store.ErrNotFound, func(ctx context.Context, tx store.Tx) error {
			return tx.DeleteActivations(ctx, one.ID, missing)
		}},
		{"DeleteActivations of another license's activation", store.ErrNotFound, func(ctx context.Context, tx store.Tx) error {
			return tx.DeleteActivations(ctx, two.ID, first.ID)
		}},
		{"DeleteActivations of a missing license", store.ErrNotFound, func(ctx context.Context, tx store.Tx) error {
			return tx.DeleteActivations(ctx, missing, first.ID)
		}},
		{"ReplaceEvent of a missing event", store.ErrNotFound, func(ctx context.Context, tx store.Tx) error {
			e := event(3)
			e.Seq = 1 << 40
			return tx.ReplaceEvent(ctx, e)
		}},
		{"DeleteEntries of a missing entry", nil, func(ctx context.Context, tx store.Tx) error {
			return tx.DeleteEntries(ctx, "call", missing)
		}},
		{"DeleteEntries of another kind", nil, func(ctx context.Context, tx store.Tx) error {
			return tx.DeleteEntries(ctx, missing, entry("call", 1).Key)
		}},
	}
	for _, m := range misses() {
		list = append(list, refusal{m.method, store.ErrNotFound, func(ctx context.Context, tx store.Tx) error { return m.call(ctx, tx) }})
	}
	return list
}

// deletesWhatIsThere deletes entries in one call, some of which are missing.
func deletesWhatIsThere(b *bench) {
	b.add(entry("kind", 1), entry("kind", 2), entry("kind", 3))
	key := func(n int) string { return entry("kind", n).Key }
	var err error
	b.update(func(tx store.Tx) error {
		err = tx.DeleteEntries(b.ctx, "kind", "missing", key(1), key(7), key(3), key(1))
		return nil
	})
	b.ok(err, "DeleteEntries with missing entries")
	left, err := b.Entries(b.ctx, store.EntryQuery{Kind: "kind"})
	b.ok(err, "Entries")
	if len(left) != 1 || left[0].Key != key(2) {
		b.fail(left, "entry 2 only", "entries after DeleteEntries with missing ones")
	}
}

// misses are the gets that find nothing in the fixture.
func misses() []readCall {
	one, two := license(1), license(2)
	var list []readCall
	for _, id := range []string{"missing", one.ID + "_", "lic_000", "%"} {
		list = append(list,
			readCall{fmt.Sprintf("License(%q)", id), func(ctx context.Context, r store.Reader) error {
				_, err := r.License(ctx, id)
				return err
			}},
			readCall{fmt.Sprintf("LicenseByKey(%q)", id), func(ctx context.Context, r store.Reader) error {
				_, err := r.LicenseByKey(ctx, id)
				return err
			}},
			readCall{fmt.Sprintf("Activation(%q) of a license", id), func(ctx context.Context, r store.Reader) error {
				_, err := r.Activation(ctx, one.ID, id)
				return err
			}},
			readCall{fmt.Sprintf("Entry(%q)", id), func(ctx context.Context, r store.Reader) error {
				_, err := r.Entry(ctx, "call", id)
				return err
			}},
		)
	}
	return append(list,
		readCall{"Activation of another license", func(ctx context.Context, r store.Reader) error {
			_, err := r.Activation(ctx, two.ID, activation("", 1).Fingerprint)
			return err
		}},
		readCall{"Activation of a missing license", func(ctx context.Context, r store.Reader) error {
			_, err := r.Activation(ctx, "missing", activation("", 1).Fingerprint)
			return err
		}},
		readCall{"Activation by an ID", func(ctx context.Context, r store.Reader) error {
			_, err := r.Activation(ctx, one.ID, activation("", 1).ID)
			return err
		}},
		readCall{"License by a key", func(ctx context.Context, r store.Reader) error {
			_, err := r.License(ctx, one.Key)
			return err
		}},
		readCall{"LicenseByKey by an ID", func(ctx context.Context, r store.Reader) error {
			_, err := r.LicenseByKey(ctx, one.ID)
			return err
		}},
		readCall{"Entry of another kind", func(ctx context.Context, r store.Reader) error {
			_, err := r.Entry(ctx, "missing", entry("call", 1).Key)
			return err
		}},
	)
}

// sentinels makes each call in its own Update, which then fails.
func sentinels(b *bench) {
	b.add(fixture()...)
	for _, c := range refusals() {
		var got error
		_ = b.undo(func(tx store.Tx) error {
			got = c.call(b.ctx, tx)
			return nil
		})
		b.is(got, c.want, "%s", c.name)
		for _, other := range []error{store.ErrNotFound, store.ErrExists, store.ErrConflict, store.ErrUnavailable, store.ErrTxDone} {
			if other != c.want && errors.Is(got, other) {
				b.fail(got, fmt.Sprintf("%v and no other sentinel", c.want), "%s", c.name)
			}
		}
	}
	for _, c := range misses() {
		b.is(c.call(b.ctx, b.Store), store.ErrNotFound, "%s on the store", c.method)
		b.view(func(r store.Reader) error {
			b.is(c.call(b.ctx, r), store.ErrNotFound, "%s in a View", c.method)
			return nil
		})
	}
}

// sentinelsDoNothing commits after each call, and compares all records. Then a call fails
// that has replaced what its Update had written.
func sentinelsDoNothing(b *bench) {
	b.add(fixture()...)
	before := b.dump()
	for _, c := range refusals() {
		b.update(func(tx store.Tx) error {
			_ = c.call(b.ctx, tx) // what it returns is another case's
			return nil
		})
		after := b.dump()
		b.same(after, before, "%s", c.name)
		before = after
	}

	// Nor does it undo what the Update has written before.
	kept, taken := activation(license(1).ID, 1), activation(license(1).ID, 9)
	taken.Fingerprint = activation(license(1).ID, 2).Fingerprint
	var was, left string
	b.update(func(tx store.Tx) error {
		document := func() string {
			a, err := tx.Activation(b.ctx, kept.LicenseID, kept.Fingerprint)
			b.ok(err, "Activation")
			return string(a.Document)
		}
		kept.Document = []byte(`"before the call"`)
		if err := put(b.ctx, tx, kept); err != nil {
			return err
		}
		was = document()
		again := kept
		again.Document = []byte(`"in the call"`)
		_ = tx.PutActivations(b.ctx, again, taken)
		left = document()
		return nil
	})
	b.equal(left, was, "Document of an activation that the Update put before a call with it failed")
}

// same compares two dumps, and shows the lines that differ.
func (b *bench) same(got, want, what string, args ...any) {
	if got == want {
		return
	}
	only := func(a, z string) string {
		var lines []string
		for line := range strings.SplitSeq(a, "\n") {
			if !strings.Contains("\n"+z+"\n", "\n"+line+"\n") {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "\n\t     ")
	}
	b.fail(only(got, want), only(want, got), "what is stored, after "+what, args...)
}

// usableAfterSentinels writes before and after each call.
func usableAfterSentinels(b *bench) {
	b.add(fixture()...)
	n := 100
	for _, c := range refusals() {
		n++
		var got error
		err := b.try(func(tx store.Tx) error {
			if err := put(b.ctx, tx, entry("before", n)); err != nil {
				return err
			}
			if got = c.call(b.ctx, tx); got == nil {
				return errOnPurpose // rule 14
			}
			if _, err := tx.Entry(b.ctx, "before", entry("before", n).Key); err != nil && !errors.Is(err, store.ErrNotFound) {
				return err // rule 3 covers what was not found
			}
			if err := put(b.ctx, tx, license(n)); err != nil {
				return err
			}
			return put(b.ctx, tx, entry("after", n))
		})
		if got == nil {
			continue
		}
		if !b.equal(err, nil, "Update that continued after %s returned %q", c.name, got) {
			continue
		}
		for _, kind := range []string{"before", "after"} {
			_, err := b.Entry(b.ctx, kind, entry(kind, n).Key)
			b.equal(err, nil, "Entry written %s %s returned %q", kind, c.name, got)
		}
	}
}
