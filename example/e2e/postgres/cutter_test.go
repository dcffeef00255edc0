package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A cutter is a proxy between a client and a server. It cuts the connection when
// the client sends the text that it waits for.
type cutter struct {
	dir   string // where it listens, as the server does in its own
	armed atomic.Bool
}

// How a connection is cut: with or without forwarding the last message, or so
// that the server receives nothing more, not even the close.
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
				var cut atomic.Bool
				answered := make(chan struct{})
				go func() {
					defer close(answered)
					for said := make([]byte, 1<<16); ; {
						n, err := server.Read(said)
						if err != nil {
							return
						}
						if !cut.Load() {
							client.Write(said[:n])
						}
					}
				}()
				for said := make([]byte, 1<<16); ; {
					n, err := client.Read(said)
					if err != nil {
						return
					}
					if bytes.Contains(said[:n], []byte(what)) && c.armed.CompareAndSwap(true, false) {
						cut.Store(true)
						switch how {
						case passing:
							server.Write(said[:n])
							server.(*net.UnixConn).CloseWrite()
							<-answered // the server has done it
						case vanishing:
							client.Close()
							<-answered // the server ends it
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

// TestConnectionIsLostInTheCall: the database says whether an Update was committed whose
// answer was lost. One that was not runs again.
func TestConnectionIsLostInTheCall(t *testing.T) {
	srv := newServer(t, "fsync=off")
	for name, driver := range drivers {
		for _, test := range []struct {
			cut, what      string
			done, promoted bool
		}{
			{"before", `"L":[[`, false, false},
			{"after", `"L":[[`, true, false},
			{"before the COMMIT of a promoted update", "COMMIT\x00", false, true},
			{"after the COMMIT of a promoted update", "COMMIT\x00", true, true},
		} {
			t.Run(name+"/"+test.cut, func(t *testing.T) {
				is := is.New(t)
				ctx := t.Context()
				admin := open(t, "pgx", srv.dsn())
				schema := newSchema(t, admin)
				direct := newStore(t, admin, schema)
				how := swallowing
				if test.done {
					how = passing
				}
				c := newCutter(t, srv, test.what, how)
				st := newStore(t, open(t, driver, "host="+c.dir+" user=licensing dbname=postgres sslmode=disable"), schema)
				c.armed.Store(true)

				runs := 0
				err := st.Update(ctx, func(tx store.Tx) error {
					runs++
					if test.promoted {
						if _, err := tx.CountLicenses(ctx, store.LicenseQuery{}); err != nil {
							return err
						}
					}
					return errors.Join(tx.CreateLicenses(ctx, store.License{ID: "lic_1", Key: "K"}), tx.AppendEvents(ctx, store.Event{ID: "evt"}))
				})
				is.NoErr(err)
				is.Equal(c.armed.Load(), false) // it was lost
				is.Equal(runs, map[bool]int{true: 1, false: 2}[test.done])
				_, err = direct.License(ctx, "lic_1")
				is.NoErr(err)
				events, err := direct.Events(ctx, store.EventQuery{})
				is.NoErr(err)
				is.Equal(len(events), 1)
			})
		}
	}
}

// A connection lost at any other point is replaced, and the call succeeds.
func TestConnectionIsLostBeforeCommitting(t *testing.T) {
	srv := newServer(t, "fsync=off")
	for name, driver := range drivers {
		for _, at := range []string{"licensing_entries e", "licensing_commit_1"} { // when they are prepared
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
					if err := raise(ctx, tx, "kind", "name"); err != nil {
						return err
					}
					return tx.CreateLicenses(ctx, store.License{ID: "lic_1", Key: "K"})
				}))
				is.Equal(c.armed.Load(), false) // it was lost
				e, err := st.Entry(ctx, "kind", "name")
				is.NoErr(err)
				is.Equal(string(e.Data), "1") // and was applied once
			})
		}
	}
}

// Another process may hold the lock.
func TestWaitForAnotherProcessEndsWithItsContext(t *testing.T) {
	for name, driver := range drivers {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			one, other := twoStores(t, driver, sharedDSN(t))
			is.NoErr(one.Update(t.Context(), func(tx store.Tx) error {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				if _, err := tx.CountLicenses(t.Context(), store.LicenseQuery{}); err != nil { // takes the lock
					return err
				}
				err := other.Update(ctx, func(tx store.Tx) error {
					_, err := tx.CountLicenses(ctx, store.LicenseQuery{})
					return err
				})
				require.ErrorIs(t, err, context.DeadlineExceeded)
				return tx.CreateLicenses(t.Context(), store.License{ID: "lic_1", Key: "K"})
			}))
			is.NoErr(create(t, other, "lic_2"))
		})
	}
}

// A machine disappears while it holds the lock, without closing its connection.
// The server waits for it at most five seconds, and then a waiting Update gets
// the lock.
func TestWriteLockOfALostMachineIsReleased(t *testing.T) {
	is := is.New(t)
	srv := newServer(t, "fsync=off")
	admin := open(t, "pgx", srv.dsn())
	schema := newSchema(t, admin)
	staying := newStore(t, admin, schema)
	c := newCutter(t, srv, "COMMIT\x00", vanishing)
	vanished := newStore(t, open(t, "pgx", "host="+c.dir+" user=licensing dbname=postgres sslmode=disable"), schema)
	c.armed.Store(true)
	begun := time.Now()
	var both sync.WaitGroup
	both.Go(func() { // it waits for the end of its own transaction, and runs again
		is.NoErr(vanished.Update(t.Context(), func(tx store.Tx) error {
			if _, err := tx.CountLicenses(t.Context(), store.LicenseQuery{}); err != nil {
				return err
			}
			return tx.CreateLicenses(t.Context(), store.License{ID: "lic_1", Key: "K"})
		}))
	})
	for c.armed.Load() {
		time.Sleep(time.Millisecond)
	}
	is.NoErr(create(t, staying, "lic_2"))
	require.Greater(t, time.Since(begun), time.Second) // it did wait
	both.Wait()
	_, err := staying.License(t.Context(), "lic_1")
	is.NoErr(err)
}
