package postgres_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A load creates licences through two stores on one schema, as two processes
// would, and keeps what it was told of each. Beside it runs a reader of the feed.
type load struct {
	stores []store.Store
	stop   chan struct{}
	wg     sync.WaitGroup

	mu       sync.Mutex
	created  map[string]bool // acknowledged
	refused  map[string]bool // an error that says that nothing was written
	slowest  time.Duration   // of those that were refused
	problems []error
	feed     []store.Event // as the reader was given it

	acknowledged atomic.Int64
}

func startLoad(ctx context.Context, stores ...store.Store) *load {
	l := &load{stores: stores, stop: make(chan struct{}), created: map[string]bool{}, refused: map[string]bool{}}
	for w := range 16 {
		l.wg.Go(func() {
			for i := 0; !l.stopped(); i++ {
				l.create(ctx, stores[w%len(stores)], fmt.Sprintf("lic_%02d_%06d", w, i))
			}
		})
	}
	l.wg.Go(func() {
		for !l.stopped() {
			l.read(ctx)
		}
	})
	return l
}

func (l *load) stopped() bool {
	select {
	case <-l.stop:
		return true
	default:
		return false
	}
}

// create writes a licence, an event and a tally. Of every four Updates one
// fails at the end, and has drawn a number of the feed that nobody will see.
func (l *load) create(ctx context.Context, st store.Store, id string) {
	undone := errors.New("undone")
	fails := strings.HasSuffix(id, "3") || strings.HasSuffix(id, "7")
	begun := time.Now()
	err := st.Update(ctx, func(tx store.Tx) error {
		if err := tx.CreateLicense(ctx, store.License{ID: id, Key: id, Terms: []string{"licence"}}); err != nil {
			return err
		}
		if err := tx.AddTally(ctx, "licences", "all", 1); err != nil {
			return err
		}
		if _, err := tx.AppendEvent(ctx, store.Event{ID: "evt_" + id, Subject: id}); err != nil {
			return err
		}
		if fails {
			return undone
		}
		return nil
	})
	took := time.Since(begun)

	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil && !fails:
		l.created[id] = true
		l.acknowledged.Add(1)
	case err == undone && fails:
		l.refused[id] = true
	case errors.Is(err, store.ErrUnavailable) && strings.Contains(err.Error(), "outcome is unknown") && !fails:
	case errors.Is(err, store.ErrUnavailable):
		l.refused[id] = true
		l.slowest = max(l.slowest, took)
	default:
		l.problems = append(l.problems, fmt.Errorf("create %s: %w", id, err))
	}
}

// read reads on in the feed.
func (l *load) read(ctx context.Context) {
	q := store.EventQuery{}
	if len(l.feed) > 0 {
		q.After = l.feed[len(l.feed)-1].Seq
	}
	events, err := l.stores[0].Events(ctx, q)
	if err != nil && !errors.Is(err, store.ErrUnavailable) {
		l.mu.Lock()
		l.problems = append(l.problems, fmt.Errorf("events: %w", err))
		l.mu.Unlock()
	}
	l.feed = append(l.feed, events...)
}

// await returns when more licences have been acknowledged: when the service is
// back.
func (l *load) await(t *testing.T, more int64) {
	t.Helper()
	until := l.acknowledged.Load() + more
	deadline := time.Now().Add(30 * time.Second)
	for l.acknowledged.Load() < until {
		if time.Now().After(deadline) {
			l.mu.Lock()
			defer l.mu.Unlock()
			t.Fatalf("nothing is created any more; %v", errors.Join(l.problems...))
		}
		time.Sleep(time.Millisecond)
	}
}

// end stops the load and compares what is there with what was said.
func (l *load) end(t *testing.T) {
	t.Helper()
	is := is.New(t)
	ctx := t.Context()
	close(l.stop)
	l.wg.Wait()
	for last := -1; last < len(l.feed); l.read(ctx) {
		last = len(l.feed)
	}
	is.NoErr(errors.Join(l.problems...))

	there := map[string]bool{}
	for q := (store.LicenseQuery{}); ; {
		page, err := l.stores[1].Licenses(ctx, q)
		is.NoErr(err)
		if len(page) == 0 {
			break
		}
		for _, row := range page {
			there[row.ID] = true
		}
		q.After.ID = page[len(page)-1].ID
	}
	lost, kept := 0, 0
	for id := range l.created {
		if !there[id] {
			lost++
		}
	}
	for id := range l.refused {
		if there[id] {
			kept++
		}
	}
	is.Equal(lost, 0) // everything acknowledged is there
	is.Equal(kept, 0) // nothing refused is there

	seqs, told := map[int64]bool{}, map[string]int{}
	for _, e := range l.feed {
		seqs[e.Seq] = true
		told[e.Subject]++
	}
	is.Equal(len(seqs), len(l.feed)) // no number twice
	is.Equal(len(told), len(there))  // no event missed, none of what is not there
	for id := range there {
		if told[id] != 1 {
			t.Fatalf("the reader was given %d events of %s", told[id], id)
		}
	}
	tallies, err := l.stores[1].Tallies(ctx, store.TallyQuery{Kind: "licences"})
	is.NoErr(err)
	is.Equal(tallies, []store.Tally{{Kind: "licences", Name: "all", N: int64(len(there))}})
	t.Logf("%d acknowledged, %d there, %d refused, the slowest after %v", len(l.created), len(there), len(l.refused), l.slowest)
}

func twoStores(t *testing.T, driver, dsn string) (one, other store.Store) {
	a, b := open(t, driver, dsn), open(t, driver, dsn)
	schema := newSchema(t, a)
	return newStore(t, a, schema), newStore(t, b, schema)
}

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
			is.True(cut > 20)
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
					err = one.View(ctx, func(store.Reader) error { return nil }) // its processes live on for a moment
				}
				is.True(errors.Is(err, store.ErrUnavailable))
				_, err = other.License(ctx, "lic_1")
				is.True(errors.Is(err, store.ErrUnavailable))
				err = other.View(ctx, func(store.Reader) error { return nil })
				is.True(errors.Is(err, store.ErrUnavailable))
				err = other.Update(ctx, func(store.Tx) error { return nil })
				is.True(errors.Is(err, store.ErrUnavailable))
				is.NoErr(srv.start())
			}
			l.await(t, 50) // it comes back by itself
			l.end(t)
			is.True(len(l.refused) > 0)
			is.True(l.slowest < 5*time.Second) // nobody was kept waiting
		})
	}
}

// A server that takes no more connections, only lets read, or is shut down is
// one that does not serve for now.
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
			is.True(errors.Is(err, store.ErrUnavailable)) // too many connections
			_, err = st.License(ctx, "lic_1")
			is.True(errors.Is(err, store.ErrUnavailable))
			for _, c := range others {
				c.Close()
			}
			for begun := time.Now(); err != nil && time.Since(begun) < 10*time.Second; {
				_, err = st.License(ctx, "lic_1") // the server takes a moment to count
			}
			is.NoErr(err)

			reading := newStore(t, open(t, driver, srv.dsn()+" default_transaction_read_only=on"), "public")
			err = create(t, reading, "lic_2")
			is.True(errors.Is(err, store.ErrUnavailable)) // only lets read
			_, err = reading.License(ctx, "lic_1")
			is.NoErr(err)

			srv.stop(syscall.SIGINT)
			err = create(t, st, "lic_2")
			is.True(errors.Is(err, store.ErrUnavailable)) // shut down
			is.NoErr(srv.start())
			is.NoErr(create(t, st, "lic_2"))
		})
	}
}

// A cutter passes on what a client and a server say, until the client says what
// it waits for. Then it cuts the connection.
type cutter struct {
	dir   string // where it listens, as the server does in its own
	armed atomic.Bool
}

// How a connection is cut: with the last words passed on or not, or so that the
// server hears nothing more, not even that it was cut.
type cut int

const (
	passing cut = iota
	swallowing
	vanishing
)

func newCutter(t *testing.T, srv *server, what string, how cut) *cutter {
	c := &cutter{dir: t.TempDir()}
	const socket = "/.s.PGSQL.5432"
	listener, err := net.Listen("unix", c.dir+socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				server, err := net.Dial("unix", srv.dir+socket)
				if err != nil {
					return
				}
				defer server.Close()
				go io.Copy(client, server)
				for said := make([]byte, 1<<16); ; {
					n, err := client.Read(said)
					if err != nil {
						return
					}
					if bytes.Contains(said[:n], []byte(what)) && c.armed.CompareAndSwap(true, false) {
						client.Close()
						if how == passing {
							server.Write(said[:n])
							server.(*net.UnixConn).CloseWrite()
						}
						if how != swallowing {
							io.Copy(io.Discard, server) // until the server ends it
						}
						return
					}
					server.Write(said[:n])
				}
			}()
		}
	}()
	return c
}

func TestConnectionIsLostWhileCommitting(t *testing.T) {
	srv := newServer(t, "fsync=off")
	for name, driver := range drivers {
		for _, done := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/done=%v", name, done), func(t *testing.T) {
				is := is.New(t)
				ctx := t.Context()
				admin := open(t, "pgx", srv.dsn())
				schema := newSchema(t, admin)
				direct := newStore(t, admin, schema)
				how := swallowing
				if done {
					how = passing
				}
				c := newCutter(t, srv, "COMMIT\x00", how)
				st := newStore(t, open(t, driver, "host="+c.dir+" user=licensing dbname=postgres sslmode=disable"), schema)
				c.armed.Store(true)

				runs := 0
				err := st.Update(ctx, func(tx store.Tx) error {
					runs++
					return tx.CreateLicense(ctx, store.License{ID: "lic_1", Key: "K"})
				})
				is.True(errors.Is(err, store.ErrUnavailable))
				is.True(strings.Contains(err.Error(), "outcome is unknown"))
				is.Equal(runs, 1) // what may be done is not done again

				is.NoErr(create(t, st, "lic_2")) // behind whatever came of it
				_, err = direct.License(ctx, "lic_1")
				is.Equal(err == nil, done)
			})
		}
	}
}

// A connection lost at any other point is made good without a word.
func TestConnectionIsLostBeforeCommitting(t *testing.T) {
	srv := newServer(t, "fsync=off")
	for name, driver := range drivers {
		for _, at := range []string{"BEGIN", "INSERT INTO", "json_to_recordset"} {
			t.Run(name+"/"+at, func(t *testing.T) {
				is := is.New(t)
				ctx := t.Context()
				admin := open(t, "pgx", srv.dsn())
				schema := newSchema(t, admin)
				newStore(t, admin, schema)
				c := newCutter(t, srv, at, passing)
				st := newStore(t, open(t, driver, "host="+c.dir+" user=licensing dbname=postgres sslmode=disable"), schema)
				c.armed.Store(true)

				is.NoErr(st.Update(ctx, func(tx store.Tx) error {
					if err := tx.AddTally(ctx, "kind", "name", 1); err != nil {
						return err
					}
					return tx.CreateLicense(ctx, store.License{ID: "lic_1", Key: "K"})
				}))
				is.Equal(c.armed.Load(), false) // it was lost
				tallies, err := st.Tallies(ctx, store.TallyQuery{Kind: "kind"})
				is.NoErr(err)
				is.Equal(tallies, []store.Tally{{Kind: "kind", Name: "name", N: 1}}) // and is there once
			})
		}
	}
}

// The turn may be another process's.
func TestWaitForAnotherProcessEndsWithItsContext(t *testing.T) {
	for name, driver := range drivers {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			one, other := twoStores(t, driver, sharedDSN(t))
			is.NoErr(one.Update(t.Context(), func(tx store.Tx) error {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				err := other.Update(ctx, func(store.Tx) error { return errors.New("has run") })
				is.True(errors.Is(err, context.DeadlineExceeded))
				return tx.CreateLicense(t.Context(), store.License{ID: "lic_1", Key: "K"})
			}))
			is.NoErr(create(t, other, "lic_2"))
		})
	}
}

// A machine that has vanished had the turn, and does not even hang up. The
// server waits for it no longer than five seconds, and who waits for the turn
// gets it.
func TestTurnOfAVanishedMachineIsFreed(t *testing.T) {
	is := is.New(t)
	srv := newServer(t, "fsync=off")
	admin := open(t, "pgx", srv.dsn())
	schema := newSchema(t, admin)
	staying := newStore(t, admin, schema)
	c := newCutter(t, srv, "COMMIT\x00", vanishing)
	vanished := newStore(t, open(t, "pgx", "host="+c.dir+" user=licensing dbname=postgres sslmode=disable"), schema)
	c.armed.Store(true)
	is.True(errors.Is(create(t, vanished, "lic_1"), store.ErrUnavailable))

	begun := time.Now()
	is.NoErr(create(t, staying, "lic_2"))
	is.True(time.Since(begun) > time.Second) // it did wait
	_, err := staying.License(t.Context(), "lic_1")
	is.True(errors.Is(err, store.ErrNotFound))
}
