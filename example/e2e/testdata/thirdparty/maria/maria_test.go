package maria_test

import (
	"database/sql"
	"fmt"
	"hash/fnv"
	"os"
	"sync/atomic"
	"testing"

	_ "github.com/go-sql-driver/mysql"

	"example.com/thirdparty/kv"
	"example.com/thirdparty/maria"

	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// database returns the database that MARIADB_DSN names. All stores share its connections:
// the server has 60, and a process of RunDurable needs some.
func database(t *testing.T) *sql.DB {
	t.Helper()
	dsn := os.Getenv("MARIADB_DSN")
	if dsn == "" {
		t.Skip("MARIADB_DSN names no database")
	}
	db, err := sql.Open("mysql", dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(50)
	db.SetMaxIdleConns(50)
	t.Cleanup(func() { db.Close() })
	return db
}

func in(t *testing.T, db *sql.DB, table string) *kv.Store {
	t.Helper()
	st, err := maria.New(t.Context(), db, table)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

var stores atomic.Int64

// open returns a function that makes stores in tables of their own, each with two handles, as
// in two processes.
func open(t *testing.T) func(*testing.T) store.Store {
	db := database(t)
	return func(t *testing.T) store.Store {
		table := fmt.Sprintf("licenses_%d_%d", os.Getpid(), stores.Add(1))
		t.Cleanup(func() { db.Exec("DROP TABLE " + table) })
		return storetest.Handles(in(t, db, table), in(t, db, table))
	}
}

func TestStore(t *testing.T) { storetest.Run(t, open(t)) }

func TestDurable(t *testing.T) {
	db := database(t)
	storetest.RunDurable(t, func(t *testing.T, dir string) store.Store {
		name := fnv.New64a()
		name.Write([]byte(dir))
		return in(t, db, fmt.Sprintf("durable_%x", name.Sum64()))
	})
}

func TestService(t *testing.T) { licensingtest.RunService(t, open(t)) }

func TestAPI(t *testing.T) { licensingtest.RunAPI(t, open(t)) }
