package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"

	"github.com/seed-d8a106b4/licensekit/example/e2e/internal/pgserver"
)

// drivers are the tested drivers, by the names under which they are registered
// with database/sql.
var drivers = map[string]string{"pgx": "pgx", "lib-pq": "postgres"}

// environment is the variable with the DSN of the server to test on. If it is
// unset, the tests start their own.
const environment = "LICENSING_POSTGRES_DSN"

// A server is a PostgreSQL server that a test starts.
type server struct {
	*pgserver.Server
	dir string
}

func (s *server) start() error               { return s.Start() }
func (s *server) stop(signal syscall.Signal) { s.Stop(signal) }
func (s *server) dsn() string                { return s.DSN() }

// newServer makes the data directory of a server and starts it. The server ends
// with the test.
func newServer(t testing.TB, settings ...string) *server {
	t.Helper()
	s, err := makeServer(settings...)
	if errors.Is(err, pgserver.ErrNotInstalled) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Remove() })
	return s
}

// makeServer makes and starts a server.
func makeServer(settings ...string) (*server, error) {
	s, err := pgserver.New(settings...)
	if err != nil {
		return nil, err
	}
	if err := s.Start(); err != nil {
		return nil, errors.Join(err, s.Remove())
	}
	return &server{s, s.Dir}, nil
}

// shared is the server of most tests: the one that the environment names, or
// one that the tests start. It does not sync to disk, because no test needs that.
var shared struct {
	once sync.Once
	dsn  string
	own  *server
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.own != nil {
		shared.own.Remove()
	}
	os.Exit(code)
}

// sharedDSN returns the DSN of the shared server, or skips the test.
func sharedDSN(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() {
		if shared.dsn = os.Getenv(environment); shared.dsn != "" {
			return
		}
		if shared.own, shared.err = makeServer("fsync=off", "full_page_writes=off"); shared.err == nil {
			shared.dsn = shared.own.dsn()
			os.Setenv(environment, shared.dsn) // for the processes that storetest starts
		}
	})
	if errors.Is(shared.err, pgserver.ErrNotInstalled) {
		t.Skipf("%v, and %s names none", shared.err, environment)
	}
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.dsn
}

// open opens a database with one of the drivers.
func open(t testing.TB, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxIdleConns(16)
	t.Cleanup(func() { db.Close() })
	return db
}

var schemas atomic.Int64

// newSchema returns an unused schema name, and drops that schema when the test
// ends.
func newSchema(t testing.TB, db *sql.DB) string {
	name := fmt.Sprintf("test_%d_%d", time.Now().UnixNano(), schemas.Add(1))
	dropAfter(t, db, name)
	return name
}

func dropAfter(t testing.TB, db *sql.DB, schema string) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if _, err := db.ExecContext(ctx, `DROP SCHEMA IF EXISTS `+quote(schema)+` CASCADE`); err != nil {
			t.Log(err)
		}
	})
}

func quote(identifier string) string { return `"` + strings.ReplaceAll(identifier, `"`, `""`) + `"` }
