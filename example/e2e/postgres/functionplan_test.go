package postgres_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

// TestFunctionsScanNoTable: a connection keeps the plans of the statements in the
// functions, which it makes while the tables are empty. They read by indexes also when
// the tables are full.
func TestFunctionsScanNoTable(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	db := open(t, "pgx", sharedDSN(t))
	db.SetMaxOpenConns(1)
	schema := newSchema(t, db)
	st := newStore(t, db, schema)
	n := 0
	change := func() {
		n++
		id := fmt.Sprint("lic_new_", n)
		l := store.License{ID: id, Key: id, CustomerID: "customer_77", ProductID: "product_9"}
		is.NoErr(st.Update(ctx, func(tx store.Tx) error {
			return errors.Join(tx.CreateLicenses(ctx, l), tx.PutActivations(ctx, store.Activation{LicenseID: id, ID: "act", Fingerprint: id}),
				tx.PutEntries(ctx, store.Entry{Kind: "token", Key: id}), tx.AppendEvents(ctx, store.Event{ID: id}))
		}))
		is.NoErr(st.Update(ctx, func(tx store.Tx) error {
			_, err := tx.LicenseByKey(ctx, id)
			_, err2 := tx.Activation(ctx, id, id)
			_, err3 := tx.Activations(ctx, store.ActivationQuery{LicenseID: id, LiveAt: time.Now()})
			_, err4 := tx.Entries(ctx, store.EntryQuery{Kind: "token", Order: store.ByExpiry, Owner: "owner_7", Limit: 2})
			_, err5 := tx.Events(ctx, store.EventQuery{Subject: id, Limit: 2})
			l.Key += " changed"
			return errors.Join(err, err2, err3, err4, err5, tx.UpdateLicense(ctx, l), tx.DeleteEntries(ctx, "token", id))
		}))
		is.NoErr(st.Update(ctx, func(tx store.Tx) error {
			return errors.Join(tx.DeleteActivations(ctx, id, "act"), tx.DeleteLicense(ctx, id), tx.AppendEvents(ctx, store.Event{ID: id}))
		}))
	}
	scanned := func() (rows int) {
		_, err := db.Exec(`SELECT pg_stat_force_next_flush()`)
		is.NoErr(err)
		is.NoErr(db.QueryRow(`SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = $1 AND relname <> 'licensing_schema'`, schema).Scan(&rows))
		return rows
	}
	for range 8 {
		change()
	}
	conn, err := open(t, "pgx", sharedDSN(t)+" search_path="+schema).Conn(ctx)
	is.NoErr(err)
	for _, stmt := range append([]string{"DELETE FROM licensing_events"}, fill...) {
		_, err := conn.ExecContext(ctx, strings.ReplaceAll(stmt, "$1", "5000"))
		is.NoErr(err)
	}
	is.NoErr(conn.Close())
	before := scanned()
	for range 4 {
		change()
	}
	require.AtMost(t, scanned()-before, 100)
}
