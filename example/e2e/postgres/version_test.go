package postgres_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

// TestCommitLostInAFailover: a standby that becomes the primary lacks the newest commit
// of one process, and another process writes the same row. What it has acknowledged
// stays, also if the first process is in the middle of an Update.
func TestCommitLostInAFailover(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	db := open(t, "pgx", sharedDSN(t))
	schema := newSchema(t, db)
	one, other := newStore(t, db, schema), newStore(t, open(t, "pgx", sharedDSN(t)), schema)
	exec := func(stmt string) {
		_, err := db.Exec(`SET search_path = ` + quote(schema) + `; ` + stmt + `; RESET search_path`)
		is.NoErr(err)
	}
	add := func(st store.Store, letter string, between func()) (runs int) {
		is.NoErr(st.Update(ctx, func(tx store.Tx) error {
			runs++
			e, err := tx.Entry(ctx, "n", "x")
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return err
			}
			if runs == 1 {
				between()
			}
			return tx.PutEntries(ctx, store.Entry{Kind: "n", Key: "x", Data: append(e.Data, letter...)})
		}))
		return runs
	}
	nothing := func() {}
	lose := func() { exec(`DELETE FROM licensing_entries; INSERT INTO licensing_entries SELECT * FROM kept`) }

	add(one, "a", nothing)
	exec(`CREATE TABLE kept AS SELECT * FROM licensing_entries`)
	add(one, "L", nothing) // lost
	lose()
	add(other, "b", nothing)
	add(one, "c", nothing)
	e, err := other.Entry(ctx, "n", "x")
	is.NoErr(err)
	is.Equal(string(e.Data), "abc")

	lose()
	add(one, "L", nothing) // lost in the middle of the next
	runs := add(one, "c", func() {
		lose()
		add(other, "b", nothing)
	})
	e, err = other.Entry(ctx, "n", "x")
	is.NoErr(err)
	is.Equal(string(e.Data), "abc")
	is.Equal(runs, 2)
}

// TestDefaultIsolation uses databases whose transactions have another isolation level
// by default.
func TestDefaultIsolation(t *testing.T) {
	for name, driver := range drivers {
		for _, level := range []string{`repeatable\\ read`, "serializable"} {
			t.Run(name+"/"+level, func(t *testing.T) {
				one, other := twoStores(t, driver, sharedDSN(t)+" options='-c default_transaction_isolation="+level+"'")
				l := startLoad(t.Context(), one, other)
				l.await(t, 50)
				l.end(t)
			})
		}
	}
}

// TestRefusedUpdatesWriteNothing looks at the write-ahead log: an Update whose function
// fails is checked without a lock.
func TestRefusedUpdatesWriteNothing(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	srv := newServer(t, "fsync=off", "autovacuum=off")
	db := open(t, "pgx", srv.dsn())
	st := newStore(t, db, "")
	is.NoErr(create(t, st, "lic_1"))
	is.NoErr(create(t, st, "lic_2"))
	position := func() (lsn int64) {
		is.NoErr(db.QueryRow(`SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn`).Scan(&lsn))
		return lsn
	}
	refused := errors.New("refused")
	update := func() {
		err := st.Update(ctx, func(tx store.Tx) error {
			_, err := tx.License(ctx, "lic_1")
			_, err2 := tx.License(ctx, "lic_2")
			return errors.Join(err, err2, refused)
		})
		require.ErrorIs(t, err, refused)
	}
	update()
	before := position()
	for range 200 {
		update()
	}
	require.AtMost(t, int(position()-before), 1000) // what the server itself writes
}

// TestFunctionSeesAStateThatCannotBe: a function that panics on reads that do not fit
// each other runs again.
func TestFunctionSeesAStateThatCannotBe(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	st, other := twoStores(t, "pgx", sharedDSN(t))
	put := func(st store.Store, data string) {
		is.NoErr(st.Update(ctx, func(tx store.Tx) error {
			return tx.PutEntries(ctx, store.Entry{Kind: "n", Key: "a", Data: []byte(data)}, store.Entry{Kind: "n", Key: "b", Data: []byte(data)})
		}))
	}
	put(st, "1")
	runs := 0
	is.NoErr(st.Update(ctx, func(tx store.Tx) error {
		runs++
		a, err := tx.Entry(ctx, "n", "a")
		if err != nil {
			return err
		}
		if runs == 1 {
			put(other, "2")
		}
		b, err := tx.Entry(ctx, "n", "b")
		if err == nil && string(a.Data) != string(b.Data) {
			panic("they are always alike")
		}
		return err
	}))
	is.Equal(runs, 2)
}

// TestARecordThatCannotBeStored fails alone: what was to be written with it is written.
func TestARecordThatCannotBeStored(t *testing.T) {
	text := make([]byte, 9000) // too large for a page of an index, however it is compressed
	rand.NewChaCha8([32]byte{}).Read(text)
	for state, test := range map[string]struct{ alter, data string }{
		"23514": {`ALTER TABLE S.licensing_entries ADD CHECK (data <> 'bad')`, "bad"},
		"54000": {`CREATE INDEX ON S.licensing_entries (data)`, string(text)},
	} {
		t.Run(state, func(t *testing.T) {
			is := is.New(t)
			ctx := t.Context()
			db := open(t, "pgx", sharedDSN(t))
			schema := newSchema(t, db)
			st := newStore(t, db, schema)
			_, err := db.Exec(strings.ReplaceAll(test.alter, "S.", quote(schema)+"."))
			is.NoErr(err)
			release := holdLock(t, db, schema)
			all := []string{"1", "2", "3", "4", test.data, "5", "6", "7"}
			done := make(chan error, len(all))
			for i, data := range all {
				go func() {
					done <- st.Update(ctx, func(tx store.Tx) error {
						return tx.PutEntries(ctx, store.Entry{Kind: "n", Key: fmt.Sprint(i), Data: []byte(data)})
					})
				}()
			}
			waiting(t, db, schema, 2)
			release()
			failed := 0
			for range all {
				if err := <-done; err != nil {
					failed++
					require.Contains(t, err.Error(), state)
				}
			}
			is.Equal(failed, 1)
			entries, err := st.Entries(ctx, store.EntryQuery{Kind: "n"})
			is.NoErr(err)
			is.Equal(len(entries), len(all)-1)
		})
	}
}

// TestAStalledFunctionHoldsNobody: a function that does not return, as in a process that
// was stopped, holds no lock. When it continues, it runs again.
func TestAStalledFunctionHoldsNobody(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	one, other := twoStores(t, "pgx", sharedDSN(t))
	stalled, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var once sync.Once
	go func() {
		done <- one.Update(ctx, func(tx store.Tx) error {
			err := raise(ctx, tx, "kind", "count")
			once.Do(func() {
				close(stalled)
				<-release
			})
			return err
		})
	}()
	<-stalled
	for _, st := range []store.Store{other, one} { // another process, and this one
		is.NoErr(st.Update(ctx, func(tx store.Tx) error { return raise(ctx, tx, "kind", "count") }))
	}
	close(release)
	is.NoErr(<-done)
	e, err := other.Entry(ctx, "kind", "count")
	is.NoErr(err)
	is.Equal(string(e.Data), "3")
}
