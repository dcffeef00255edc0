package storetest

import (
	"context"
	"errors"

	"github.com/seed-d8a106b4/licensekit/store"
)

func wantCases() []testCase {
	return []testCase{
		{"Want", "ChangesNoAnswer", 3, wantChangesNoAnswer},
		{"Want", "Over", 16, wantOver},
		{"Want", "Context", 18, wantContext},
	}
}

// wanted names records that newBatch makes, and some that do not exist.
func wanted() store.Wanted {
	s := newBatch(3)
	return store.Wanted{
		LicenseID: s.licenses[0].ID, LicenseKey: s.licenses[1].Key, Fingerprints: []string{s.seats[0].Fingerprint, "missing", ""}, Activations: true,
		Entries: [][2]string{{s.entries[0].Kind, s.entries[0].Key}, {s.entries[1].Kind, s.entries[1].Key}, {"kind", "missing"}, {"", ""}},
		Absent:  [][2]string{{s.entries[2].Kind, s.entries[2].Key}, {"kind", "none"}, {"", ""}}, // the first one is there
	}
}

// wantChangesNoAnswer writes what a Want names before it, after it, and before what
// follows it is read.
func wantChangesNoAnswer(b *bench) {
	s := newBatch(3)
	b.addBatch(s)
	read := func(tx store.Tx) (found []any) {
		for _, one := range s.licenses {
			l, err := tx.License(b.ctx, one.ID)
			other, missing := tx.LicenseByKey(b.ctx, one.Key)
			found = append(found, l.ID, string(l.Document), err == nil, other.ID, missing == nil)
		}
		for i, one := range s.seats {
			a, err := tx.Activation(b.ctx, one.LicenseID, one.Fingerprint)
			e, missing := tx.Entry(b.ctx, s.entries[i].Kind, s.entries[i].Key)
			found = append(found, a.ID, err == nil, string(e.Data), missing == nil)
		}
		all, err := tx.Activations(b.ctx, store.ActivationQuery{LicenseID: s.licenses[0].ID})
		return append(found, len(all), err)
	}
	write := func(tx store.Tx) error {
		one, two, e := s.licenses[0], s.licenses[1], s.entries[0]
		one.Document, two.Key, e.Data = []byte("changed"), "another key", []byte("changed")
		return errors.Join(tx.UpdateLicense(b.ctx, one), tx.UpdateLicense(b.ctx, two), tx.PutEntries(b.ctx, e),
			tx.DeleteEntries(b.ctx, s.entries[1].Kind, s.entries[1].Key), tx.DeleteActivations(b.ctx, s.seats[0].LicenseID, s.seats[0].ID))
	}
	var before, after []any
	for _, when := range []string{"never", "at the beginning", "before the writes", "after the writes"} {
		var first, last []any
		_ = b.undo(func(tx store.Tx) error {
			var failed error
			want := func(now string) {
				if now == when {
					failed = errors.Join(failed, tx.Want(b.ctx, wanted()))
				}
			}
			want("at the beginning")
			if when != "before the writes" { // then nothing is known before the Want
				first = read(tx)
			}
			want("before the writes")
			failed = errors.Join(failed, write(tx))
			want("after the writes")
			last = read(tx)
			return failed
		})
		if when == "never" {
			before, after = first, last
		}
		if first != nil {
			b.equal(first, before, "records that exist, with a Want %s", when)
		}
		b.equal(last, after, "records after own writes, with a Want %s", when)
	}
}

// wantOver calls Want after the function has returned.
func wantOver(b *bench) {
	var over store.Tx
	_ = b.undo(func(tx store.Tx) error {
		over = tx
		return nil
	})
	ended, cancel := context.WithCancel(b.ctx)
	cancel()
	b.is(over.Want(b.ctx, wanted()), store.ErrTxDone, "Want after the function of the Update had returned")
	b.is(over.Want(ended, wanted()), store.ErrTxDone, "Want with a context that had ended after the function of the Update had returned")
}

// wantContext calls Want with a context that has ended.
func wantContext(b *bench) {
	ended, cancel := context.WithCancel(b.ctx)
	cancel()
	var err error
	b.update(func(tx store.Tx) error {
		err = tx.Want(ended, wanted())
		return nil
	})
	b.is(err, context.Canceled, "Want with a context that had ended")
}
