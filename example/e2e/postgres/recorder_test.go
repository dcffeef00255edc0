package postgres_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/lib/pq"
)

// A recorder is a driver that records its statements and counts its round trips
// to the server.
type recorder struct {
	driver.Connector

	mu         sync.Mutex
	statements []statement
	trips      int
}

type statement struct {
	what string // the name that the test gave it, if any
	text string
	args []driver.NamedValue
}

// record opens a database through a recorder.
func record(t testing.TB, name, dsn string) (*sql.DB, *recorder) {
	t.Helper()
	r := &recorder{}
	var err error
	switch name {
	case "pgx":
		var config *pgx.ConnConfig
		if config, err = pgx.ParseConfig(dsn); err == nil {
			config.DialFunc = r.dial
			r.Connector = stdlib.GetConnector(*config)
		}
	case "postgres":
		var connector *pq.Connector
		if connector, err = pq.NewConnector(dsn); err == nil {
			connector.Dialer(dialer{r})
			r.Connector = connector
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(r)
	db.SetMaxIdleConns(16)
	t.Cleanup(func() { db.Close() })
	return db, r
}

// take returns what was recorded since it was last called.
func (r *recorder) take() (statements []statement, trips int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	statements, trips = r.statements, r.trips
	r.statements, r.trips = nil, 0
	return statements, trips
}

func (r *recorder) note(text string, args []driver.NamedValue) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.statements = append(r.statements, statement{text: text, args: slices.Clone(args)})
}

// Connect wraps the connection of the driver.
func (r *recorder) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := r.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &recorded{c, r}, nil
}

// recorded is a connection with the optional methods of database/sql that both
// drivers have.
type recorded struct {
	driver.Conn
	r *recorder
}

func (c *recorded) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	c.r.note(text, args)
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, text, args)
}

func (c *recorded) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	c.r.note(text, args)
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, text, args)
}

func (c *recorded) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
}

func (c *recorded) CheckNamedValue(v *driver.NamedValue) error {
	return c.Conn.(driver.NamedValueChecker).CheckNamedValue(v)
}

func (c *recorded) ResetSession(ctx context.Context) error {
	return c.Conn.(driver.SessionResetter).ResetSession(ctx)
}

// dial opens a connection that counts.
func (r *recorder) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	return &counted{Conn: c, r: r}, err
}

type dialer struct{ r *recorder }

func (d dialer) Dial(network, address string) (net.Conn, error) {
	return d.r.dial(context.Background(), network, address)
}

func (d dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.r.dial(ctx, network, address)
}

// counted counts a round trip for every response after a write.
type counted struct {
	net.Conn
	r     *recorder
	asked bool
}

func (c *counted) Write(b []byte) (int, error) {
	c.r.mu.Lock()
	c.asked = true
	c.r.mu.Unlock()
	return c.Conn.Write(b)
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	if c.asked && n > 0 {
		c.asked = false
		c.r.trips++
	}
	return n, err
}

// count returns how many of the statements begin with prefix.
func count(statements []statement, prefix string) (n int) {
	for _, s := range statements {
		if strings.HasPrefix(s.text, prefix) {
			n++
		}
	}
	return n
}
