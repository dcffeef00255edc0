//go:build unix

package failover

import (
	"database/sql"
	"errors"
	"os"
	"strings"
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

// guide returns the commands of the guide to stores that this package runs.
func guide(t *testing.T) (commands []string) {
	t.Helper()
	text, err := os.ReadFile("../../../licensing/docs/stores.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Failover of PostgreSQL\n")
	_, block, _ := strings.Cut(section, "```sh\n")
	block, _, _ = strings.Cut(block, "```")
	for line := range strings.Lines(block) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			commands = append(commands, line)
		}
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

// cut ends the connection between the servers.
func (c *cluster) cut() {
	c.t.Helper()
	c.await(c.standby, `SELECT EXISTS (SELECT FROM pg_stat_wal_receiver WHERE status = 'streaming')`)
	c.check(c.standby.Shell(`psql "$STANDBY" --command="ALTER SYSTEM SET primary_conninfo = ''" --command="SELECT pg_reload_conf()"`, "STANDBY="+c.standby.DSN()))
	c.await(c.standby, `SELECT NOT EXISTS (SELECT FROM pg_stat_wal_receiver)`)
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
