package postgres_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

// newPooler starts PgBouncer in front of a server and returns the DSN for
// connections through it.
func newPooler(t *testing.T, mode string) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer" // Debian's, which is not in the PATH of everyone
	}
	if _, err := os.Stat(program); err != nil {
		t.Skip("PgBouncer is not installed")
	}
	s := newServer(t, "fsync=off", "full_page_writes=off")
	config := filepath.Join(s.dir, "pgbouncer.ini")
	if err := os.WriteFile(config, fmt.Appendf(nil, `[databases]
postgres = host=%[1]s user=licensing dbname=postgres
[pgbouncer]
listen_port = 6432
unix_socket_dir = %[1]s
auth_type = any
pool_mode = %[2]s
default_pool_size = 20
max_client_conn = 200
`, s.dir, mode), 0o644); err != nil {
		t.Fatal(err)
	}
	dir, err := os.Stat(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "--quiet", config)
	if os.Getuid() == 0 { // as root, it refuses to run
		owner := dir.Sys().(*syscall.Stat_t)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}
	}
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		_ = cmd.Wait()
	})
	dsn := s.dsn() + " port=6432"
	db := open(t, "pgx", dsn+" default_query_exec_mode=exec")
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		err := db.Ping()
		if err == nil {
			return dsn
		}
		if time.Since(begun) > 20*time.Second {
			t.Fatal(err)
		}
	}
}

// TestPgBouncer uses PgBouncer with the settings that the guide names.
func TestPgBouncer(t *testing.T) {
	const forPgx, forPq = " default_query_exec_mode=exec", " binary_parameters=yes"
	transaction, session := newPooler(t, "transaction"), newPooler(t, "session")
	t.Run("contract in transaction mode", func(t *testing.T) {
		keepTheContract(t, open(t, "pgx", transaction+forPgx), open(t, "postgres", transaction+forPq))
	})
	for _, test := range []struct{ name, driver, dsn string }{
		{"pgx in transaction mode", "pgx", transaction + forPgx},
		{"lib-pq in transaction mode", "postgres", transaction + forPq},
		{"pgx in session mode", "pgx", session},
		{"lib-pq in session mode", "postgres", session},
	} {
		t.Run(test.name, func(t *testing.T) {
			one, other := twoStores(t, test.driver, test.dsn)
			l := startLoad(t.Context(), one, other)
			l.await(t, 300)
			l.end(t)
		})
	}
	t.Run("pgx without the setting", func(t *testing.T) {
		is := is.New(t)
		schema := newSchema(t, open(t, "pgx", transaction+forPgx))
		newStore(t, open(t, "pgx", transaction+forPgx), schema)
		st := newStore(t, open(t, "pgx", transaction), schema)
		var refused atomic.Pointer[error]
		var work sync.WaitGroup
		for range 32 {
			work.Go(func() {
				for range 100 {
					if _, err := st.License(t.Context(), "lic_1"); !errors.Is(err, store.ErrNotFound) {
						refused.Store(&err)
					}
				}
			})
		}
		work.Wait()
		is.True(refused.Load() != nil)
		require.ErrorIs(t, *refused.Load(), store.ErrUnavailable)
		require.Contains(t, (*refused.Load()).Error(), "default_query_exec_mode=exec") // what to set
	})
}
