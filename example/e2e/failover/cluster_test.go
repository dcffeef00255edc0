//go:build unix

package failover

import (
	"database/sql"
	"errors"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"

	"github.com/seed-d8a106b4/licensekit/example/e2e/internal/pgserver"
)

// A cluster is a primary and a standby.
type cluster struct {
	t                *testing.T
	primary, standby *pgserver.Server
	commands         []string // of the guide
	synchronous      bool
}

// guide returns the commands of the production guide that this package runs.
func guide(t *testing.T) (commands []string) {
	t.Helper()
	text, err := os.ReadFile("../../../licensing/docs/production.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?s)<!-- run: example/e2e/failover -->\n```sh\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		commands = append(commands, strings.Split(strings.TrimSpace(block[1]), "\n")...)
	}
	if len(commands) != 4 {
		t.Fatalf("the guide has %d commands", len(commands))
	}
	return commands
}

func newCluster(t *testing.T, synchronous bool) *cluster {
	t.Helper()
	settings := []string{"fsync=off", "wal_receiver_status_interval=1"}
	c := &cluster{t: t, commands: guide(t), synchronous: synchronous}
	var err error
	if c.primary, err = pgserver.New(settings...); errors.Is(err, pgserver.ErrNotInstalled) {
		t.Skip(err)
	}
	c.check(err)
	t.Cleanup(func() { c.primary.Remove() })
	c.check(c.primary.Start())
	c.standby, err = pgserver.NewStandby(settings...)
	c.check(err)
	t.Cleanup(func() { c.standby.Remove() })
	return c
}

func (c *cluster) check(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// run runs a command of the guide on the machine of the standby.
func (c *cluster) run(n int) {
	c.t.Helper()
	c.check(c.standby.Shell(c.commands[n], "PGDATA="+c.standby.Data(), "PRIMARY="+c.primary.DSN(), "STANDBY="+c.standby.DSN()))
}

// follow makes the standby from the primary.
func (c *cluster) follow() {
	c.t.Helper()
	c.run(0)
	c.check(c.standby.Start())
	if c.synchronous {
		c.run(1)
	}
}

// await waits until a query on a server returns true.
func (c *cluster) await(s *pgserver.Server, query string) {
	c.t.Helper()
	db, err := sql.Open("pgx", s.DSN())
	c.check(err)
	defer db.Close()
	var yes bool
	for begun := time.Now(); !yes; time.Sleep(10 * time.Millisecond) {
		if c.check(db.QueryRow(query).Scan(&yes)); time.Since(begun) > 20*time.Second {
			c.t.Fatalf("%s stays false", query)
		}
	}
}

// delay stops what the standby receives with, like a slow network, and returns a
// function that lets it continue.
func (c *cluster) delay() (undo func()) {
	c.t.Helper()
	c.await(c.standby, `SELECT EXISTS (SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming')`)
	db, err := sql.Open("pgx", c.standby.DSN())
	c.check(err)
	defer db.Close()
	var pid int
	c.check(db.QueryRow(`SELECT pid FROM pg_stat_wal_receiver`).Scan(&pid))
	c.check(syscall.Kill(pid, syscall.SIGSTOP))
	return func() { c.check(syscall.Kill(pid, syscall.SIGCONT)) }
}

// promote makes the standby the primary. The old primary never starts again: the
// next standby is made in place of it.
func (c *cluster) promote() {
	c.t.Helper()
	c.run(2)
	c.run(3)
	c.primary, c.standby = c.standby, c.primary
	c.check(os.RemoveAll(c.standby.Data()))
}

// dsn returns the data source name of the application, with both hosts.
func (c *cluster) dsn() string {
	return "host=" + c.primary.Dir + "," + c.standby.Dir + " user=licensing dbname=postgres sslmode=disable target_session_attrs=read-write connect_timeout=3"
}
