package sqlite

import (
	"fmt"
	"testing"

	"github.com/matryer/is"
	lib "modernc.org/sqlite/lib"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

// TestFailedBulkCallDoesNothing gives one call more rows than a statement adds,
// one of which is refused.
func TestFailedBulkCallDoesNothing(t *testing.T) {
	const rows = 2*rowsPerStatement + 8
	for name, spoil := range map[string]func(licenses []store.License, i int){
		"stored id":        func(licenses []store.License, i int) { licenses[i].ID = "lic_stored" },
		"stored key":       func(licenses []store.License, i int) { licenses[i].Key = "stored" },
		"id in the call":   func(licenses []store.License, i int) { licenses[i].ID = licenses[(i+1)%rows].ID },
		"key in the call":  func(licenses []store.License, i int) { licenses[i].Key = licenses[(i+1)%rows].Key },
		"activations left": func(licenses []store.License, i int) { licenses[i].ID = "lic_deleted" },
	} {
		for _, i := range []int{0, 1, rowsPerStatement - 1, rowsPerStatement, 2 * rowsPerStatement, rows - 1} {
			t.Run(fmt.Sprintf("%s/%d", name, i), func(t *testing.T) {
				is := is.New(t)
				st := open(t)
				ctx := t.Context()
				err := st.Update(ctx, func(tx store.Tx) error {
					is.NoErr(tx.CreateLicenses(ctx, store.License{ID: "lic_stored", Key: "stored"}, store.License{ID: "lic_deleted", Key: "deleted"}))
					is.NoErr(tx.PutActivations(ctx, store.Activation{LicenseID: "lic_deleted", ID: "act_1", Fingerprint: "f"}))
					return tx.DeleteLicense(ctx, "lic_deleted")
				})
				is.NoErr(err)

				licenses := make([]store.License, rows)
				for n := range licenses {
					licenses[n] = benchLicense(n)
				}
				spoil(licenses, i)
				err = st.Update(ctx, func(tx store.Tx) error {
					require.ErrorIs(t, tx.CreateLicenses(ctx, licenses...), store.ErrExists)
					is.Equal(ids(t, tx), "lic_stored")
					return tx.CreateLicenses(ctx, store.License{ID: "lic_other", Key: "other"}) // the Tx is usable
				})
				is.NoErr(err)
				is.Equal(ids(t, st), "lic_other lic_stored")
			})
		}
	}
}

// TestFailedBulkActivationsDoNothing does the same for activations, which
// replace others.
func TestFailedBulkActivationsDoNothing(t *testing.T) {
	const rows = 2*rowsPerStatement + 8
	for _, i := range []int{0, rowsPerStatement, rows - 1} {
		is := is.New(t)
		st := open(t)
		ctx := t.Context()
		activations := make([]store.Activation, rows)
		for n := range activations {
			activations[n] = store.Activation{LicenseID: "a", ID: fmt.Sprint("act_", n), Fingerprint: fmt.Sprint("f", n)}
		}
		is.NoErr(st.Update(ctx, func(tx store.Tx) error {
			is.NoErr(tx.CreateLicenses(ctx, store.License{ID: "a", Key: "a"}))
			return tx.PutActivations(ctx, activations...)
		}))
		for n := range activations {
			activations[n].Document = []byte("changed")
		}
		activations[i].Fingerprint = fmt.Sprint("f", (i+1)%rows)
		is.NoErr(st.Update(ctx, func(tx store.Tx) error {
			require.ErrorIs(t, tx.PutActivations(ctx, activations...), store.ErrExists)
			return nil
		}))
		stored, err := st.Activations(ctx, store.ActivationQuery{LicenseID: "a"})
		is.NoErr(err)
		is.Equal(len(stored), rows)
		for _, a := range stored {
			is.Equal(len(a.Document), 0)
		}
	}
}

// TestBulkStatementsNeedNoJournal checks the programs of the statements that
// large updates consist of. If a constraint had to undo the rows before the one
// that it refuses, the engine would keep a journal for each statement, and in a
// savepoint a statement would cost more, the more pages the update has changed.
func TestBulkStatementsNeedNoJournal(t *testing.T) {
	const abort = 2 // the conflict resolution that undoes the statement
	is := is.New(t)
	c := open(t).writer.conn
	for _, texts := range [][rowsPerStatement + 1]string{createLicenses, appendEvents} {
		for n, text := range texts[1:] {
			args := make([]any, len(texts[n+1])) // more than enough
			for i := range args {
				args[i] = "x"
			}
			halts := 0
			err := c.query(t.Context(), "EXPLAIN "+text, args, func(r *row) {
				r.next = 1 // addr, opcode, p1, p2
				opcode, code, resolution := r.text(), r.integer(), r.integer()
				if (opcode == "Halt" || opcode == "HaltIfNull") && primary(int(code)) == lib.SQLITE_CONSTRAINT {
					halts++
					is.True(resolution != abort)
				}
			})
			is.NoErr(err)
			require.Greater(t, halts, 0)
		}
	}
}
