package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
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
					return tx.CreateLicenses(ctx, store.License{ID: "lic_1", Key: "K"})
				})
				require.ErrorIs(t, err, store.ErrUnknownOutcome)
				is.True(!errors.Is(err, store.ErrUnavailable)) // which would mean that nothing was written
				is.Equal(runs, 1)                              // an unknown outcome is not retried

				is.NoErr(create(t, st, "lic_2")) // whatever the outcome was
				_, err = direct.License(ctx, "lic_1")
				is.Equal(err == nil, done)
			})
		}
	}
}

// A connection lost at any other point is replaced, and the call succeeds.
func TestConnectionIsLostBeforeCommitting(t *testing.T) {
	srv := newServer(t, "fsync=off")
	for name, driver := range drivers {
		for _, at := range []string{"BEGIN", "INSERT INTO", "jsonb_array_elements"} {
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
				err := other.Update(ctx, func(store.Tx) error { return errors.New("has run") })
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
	require.ErrorIs(t, create(t, vanished, "lic_1"), store.ErrUnknownOutcome)

	begun := time.Now()
	is.NoErr(create(t, staying, "lic_2"))
	require.Greater(t, time.Since(begun), time.Second) // it did wait
	_, err := staying.License(t.Context(), "lic_1")
	require.ErrorIs(t, err, store.ErrNotFound)
}
