package storetest

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/store"
)

func wantCases() []testCase { return []testCase{{"Want", "ChangesNoAnswer", 3, wantChangesNoAnswer}} }

// wants names what exists, what a rewrite adds, changes and removes, and what no record
// has. Of many names, those of records come last.
func wants() (all []store.Wanted) {
	var prints []string
	var entries [][2]string
	for n := 1000; n > 0; n-- {
		prints, entries = append(prints, activation("", n).Fingerprint), append(entries, [2]string{"kind", entry("", n).Key})
	}
	for n := 1; n <= 5; n++ {
		w := store.Wanted{LicenseID: license(n).ID, LicenseKey: license(6 - n).Key, Fingerprints: prints, Activations: true, Entries: entries}
		if n%2 == 0 {
			w.Entries, w.Absent = nil, entries
		}
		all = append(all, w)
	}
	return append(all, store.Wanted{LicenseKey: license(1).Key}, store.Wanted{LicenseID: license(1).ID, Entries: [][2]string{{"kind", ""}, {"", "missing"}}, Absent: [][2]string{{"", ""}}},
		store.Wanted{LicenseID: "missing", LicenseKey: "missing", Fingerprints: []string{"missing", ""}, Activations: true, Entries: [][2]string{{"", ""}}})
}

// wantChangesNoAnswer asks everything, rewrites what there is and asks again: in an Update
// without a Want, and in others with each large Want at each place. The last one commits.
func wantChangesNoAnswer(b *bench) {
	b.addBatch(newBatch(3))
	again := newBatch(3).licenses[2]
	var before, after map[string]string
	update := func(w store.Wanted, place string, end error) {
		var first, last map[string]string
		err := b.try(func(tx store.Tx) (err error) {
			step := func(name string, do func() error) {
				if err == nil && name == place {
					err = tx.Want(b.ctx, w)
				}
				if err == nil {
					err = do()
				}
			}
			if place != "writes" { // else the Want is the first call
				step("reads", func() (err error) { first, err = answers(b.ctx, tx); return err })
			}
			step("writes", func() error {
				return errors.Join(rewrite(b, tx, false), tx.DeleteLicense(b.ctx, again.ID), tx.CreateLicenses(b.ctx, again))
			})
			step("end", func() (err error) { last, err = answers(b.ctx, tx); return err })
			return cmp.Or(err, end)
		})
		if after == nil {
			before, after = first, last
		}
		what := fmt.Sprintf("in an Update with a Want of license %q and %d entries before its %s", w.LicenseID, len(w.Entries), place)
		b.is(err, end, "error %s", what)
		if first != nil {
			b.sameAnswers(first, before, what)
		}
		b.sameAnswers(last, after, what+", after its writes")
	}
	update(store.Wanted{}, "", errOnPurpose)
	for n, w := range wants() {
		b.equal(b.try(func(tx store.Tx) error { return tx.Want(b.ctx, w) }), nil, "Update with nothing but a Want")
		for _, place := range []string{"reads", "writes", "end"} {
			if n < 5 { // else it names little
				update(w, place, errOnPurpose)
			}
		}
	}
	update(wants()[1], "writes", nil)
	committed, err := answers(b.ctx, b.Store)
	b.ok(err, "reading")
	b.sameAnswers(committed, after, "after an Update with a Want")
}
