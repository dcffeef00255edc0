package postgres_test

import (
	"database/sql"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

func TestConnectionsAreCutUnderLoad(t *testing.T) {
	for name, driver := range drivers {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			dsn := sharedDSN(t)
			one, other := twoStores(t, driver, dsn+" application_name=cut")
			l := startLoad(t.Context(), one, other)
			admin := open(t, "pgx", dsn)
			cut := 0
			for range 20 {
				l.await(t, 20)
				var n int
				is.NoErr(admin.QueryRow(`SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
					WHERE application_name = 'cut'`).Scan(&n))
				cut += n
			}
			l.await(t, 20)
			l.end(t)
			require.Greater(t, cut, 20)
			t.Logf("%d connections cut", cut)
		})
	}
}

func TestServerCrashesUnderLoad(t *testing.T) {
	for name, driver := range drivers {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			ctx := t.Context()
			srv := newServer(t)
			one, other := twoStores(t, driver, srv.dsn())
			l := startLoad(ctx, one, other)
			for range 3 {
				l.await(t, 50)
				srv.stop(syscall.SIGKILL)
				var err error
				for begun := time.Now(); err == nil && time.Since(begun) < 10*time.Second; {
					err = one.View(ctx, func(store.Reader) error { return nil }) // its processes take a moment to end
				}
				require.ErrorIs(t, err, store.ErrUnavailable)
				_, err = other.License(ctx, "lic_1")
				require.ErrorIs(t, err, store.ErrUnavailable)
				err = other.View(ctx, func(store.Reader) error { return nil })
				require.ErrorIs(t, err, store.ErrUnavailable)
				err = other.Update(ctx, func(tx store.Tx) error { _, err := tx.License(ctx, "lic_1"); return err })
				require.ErrorIs(t, err, store.ErrUnavailable)
				is.NoErr(srv.start())
			}
			l.await(t, 50) // it recovers without a restart
			l.end(t)
			require.Greater(t, len(l.refused), 0)
			require.Less(t, l.slowest, 17*time.Second) // five at most behind a batch, and ten until the outcome of its own is known
		})
	}
}

// A server that is out of connections, read-only or shut down is unavailable.
func TestServerThatDoesNotServe(t *testing.T) {
	for name, driver := range drivers {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			ctx := t.Context()
			srv := newServer(t, "max_connections=5", "superuser_reserved_connections=0", "max_wal_senders=0")
			db := open(t, driver, srv.dsn())
			db.SetMaxIdleConns(0)
			st := newStore(t, db, "public")
			is.NoErr(create(t, st, "lic_1"))

			var others []*sql.Conn
			for range 5 {
				c, err := db.Conn(ctx)
				is.NoErr(err)
				others = append(others, c)
			}
			err := create(t, st, "lic_2")
			require.ErrorIs(t, err, store.ErrUnavailable) // too many connections
			_, err = st.License(ctx, "lic_1")
			require.ErrorIs(t, err, store.ErrUnavailable)
			for _, c := range others {
				c.Close()
			}
			for begun := time.Now(); err != nil && time.Since(begun) < 10*time.Second; {
				_, err = st.License(ctx, "lic_1") // the server takes a moment to count
			}
			is.NoErr(err)

			reading := newStore(t, open(t, driver, srv.dsn()+" default_transaction_read_only=on"), "public")
			err = create(t, reading, "lic_2")
			require.ErrorIs(t, err, store.ErrUnavailable) // read-only
			_, err = reading.License(ctx, "lic_1")
			is.NoErr(err)

			srv.stop(syscall.SIGINT)
			err = create(t, st, "lic_2")
			require.ErrorIs(t, err, store.ErrUnavailable) // shut down
			is.NoErr(srv.start())
			is.NoErr(create(t, st, "lic_2"))
		})
	}
}
