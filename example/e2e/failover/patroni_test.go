//go:build unix

package failover

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/e2e/internal/pgserver"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

var patroniFaults = flag.Int("patroni", 0, "how many faults TestPatroni has; 0: none, because each takes 20 seconds, with Patroni and etcd")

// configuration is that of one node. The lease of the node that leads (ttl) is in seconds.
//
// Without synchronous_mode_strict, a Patroni that starts beside a PostgreSQL that still
// is a primary lets it commit without a standby, for a moment before it demotes it. With
// etcd3 in place of etcd, Patroni 3.0.2 overwrites the name of the new leader when it
// continues after a stop. Acknowledged changes can then be lost.
const configuration = `
scope: licensing
name: $NAME
etcd: {host: '$ETCD'}
restapi: {listen: '$REST', connect_address: '$REST'}
bootstrap:
  dcs:
    ttl: 6
    loop_wait: 1
    retry_timeout: 2
    primary_start_timeout: 0
    synchronous_mode: true
    synchronous_mode_strict: true
    postgresql:
      use_pg_rewind: true
      parameters: {fsync: 'off', shared_buffers: 16MB}
  initdb: [{encoding: UTF8}, {locale: C}, no-sync]
postgresql:
  listen: $POSTGRES
  connect_address: $POSTGRES
  data_dir: $DIR/data
  pgpass: $DIR/pgpass
  authentication: {superuser: {username: licensing}, replication: {username: replicator}}
  pg_hba: [local all all trust, host all all 127.0.0.1/32 trust, host replication all 127.0.0.1/32 trust]
  parameters: {unix_socket_directories: $DIR}
  remove_data_directory_on_rewind_failure: true
  remove_data_directory_on_diverged_timelines: true
`

// A node is a PostgreSQL server that Patroni runs.
type node struct {
	*pgserver.Server
	name, address, rest string
	patroni             *pgserver.Process
}

// start starts Patroni, which starts PostgreSQL unless it runs.
func (n *node) start() (err error) {
	n.patroni, err = n.Run("patroni", filepath.Join(n.Dir, "patroni.yml"))
	return err
}

// kill kills PostgreSQL. It first stops the processes that serve clients, so that a
// commit which the standby has confirmed by then is not answered.
func (n *node) kill() error {
	return n.Shell(`pids=$(psql "$DSN" -Atc "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
		kill -STOP $pids; sleep .05; kill -KILL "$(head -n 1 "$PGDATA/postmaster.pid")" $pids`,
		"PGDATA="+n.Data(), "DSN=user=licensing dbname=postgres host="+n.Dir+" port="+n.address[strings.LastIndexByte(n.address, ':')+1:])
}

// beside is how long an old primary stays beside the new one.
const beside = 2 * time.Second

// restart starts Patroni beside PostgreSQL, which it then demotes.
func (n *node) restart() error {
	time.Sleep(beside)
	return n.start()
}

// resume continues a Patroni that was stopped.
func (n *node) resume() error {
	time.Sleep(beside)
	return n.patroni.Signal(syscall.SIGCONT)
}

// addresses returns n free ones of this machine.
func addresses(t *testing.T, n int) (free []string) {
	t.Helper()
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		free = append(free, listener.Addr().String())
	}
	return free
}

// newNodes starts three nodes, and etcd for them. They end with the test, or with this
// process.
func newNodes(t *testing.T) (nodes []*node) {
	t.Helper()
	is := is.New(t)
	free := addresses(t, 8)
	var data []string
	for i, name := range []string{"a", "b", "c"} {
		s, err := pgserver.NewStandby()
		is.NoErr(err)
		t.Cleanup(func() { s.Remove() })
		n := &node{Server: s, name: name, address: free[2*i], rest: free[2*i+1]}
		values := map[string]string{"NAME": name, "ETCD": free[6], "REST": n.rest, "POSTGRES": n.address, "DIR": n.Dir}
		is.NoErr(os.WriteFile(filepath.Join(n.Dir, "patroni.yml"), []byte(os.Expand(configuration, func(name string) string { return values[name] })), 0o644))
		nodes, data = append(nodes, n), append(data, n.Data())
	}
	etcd, err := nodes[0].Run("etcd", "--enable-v2", "--data-dir", filepath.Join(nodes[0].Dir, "etcd"), "--log-level", "error",
		"--listen-client-urls", "http://"+free[6], "--advertise-client-urls", "http://"+free[6],
		"--listen-peer-urls", "http://"+free[7], "--initial-advertise-peer-urls", "http://"+free[7], "--initial-cluster", "default=http://"+free[7])
	is.NoErr(err)
	t.Cleanup(func() { etcd.Stop(syscall.SIGKILL) })

	// PostgreSQL is not a child of this process. This command stops it when its input ends.
	last := exec.Command("sh", append([]string{"-c", `cat; for data; do
		for try in 1 2 3 4 5 6 7 8 9; do kill -QUIT "$(head -n 1 "$data/postmaster.pid")" && sleep .2; done; done`, "sh"}, data...)...)
	last.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	input, err := last.StdinPipe()
	is.NoErr(err)
	is.NoErr(last.Start())
	t.Cleanup(func() {
		for _, n := range nodes {
			if n.patroni != nil {
				n.patroni.Stop(syscall.SIGKILL)
			}
			if t.Failed() {
				log, _ := os.ReadFile(filepath.Join(n.Dir, "patroni.log"))
				t.Logf("%s:\n%s", n.name, log[max(0, len(log)-5000):])
			}
		}
		input.Close()
		last.Wait()
	})
	for _, n := range nodes {
		is.NoErr(n.start())
	}
	return nodes
}

// A cluster as Patroni reports it.
type status struct {
	Members []struct {
		Name, Role, State string
		Timeline          int
	}
}

// state returns what the first node that answers reports.
func state(nodes []*node) (s status) {
	client := http.Client{Timeout: 500 * time.Millisecond}
	for _, n := range nodes {
		answer, err := client.Get("http://" + n.rest + "/cluster")
		if err != nil {
			continue
		}
		err = json.NewDecoder(answer.Body).Decode(&s)
		if answer.Body.Close(); err == nil && len(s.Members) > 0 {
			return s
		}
	}
	return status{}
}

// leader returns the node that leads, and whether all others follow it and one of them
// confirms its commits.
func leader(nodes []*node) (first *node, timeline int, whole bool) {
	s := state(nodes)
	whole = len(s.Members) == len(nodes)
	confirms := false
	for _, m := range s.Members {
		whole = whole && (m.State == "running" || m.State == "streaming") && m.Timeline == s.Members[0].Timeline
		confirms = confirms || m.Role == "sync_standby"
		if m.Role == "leader" {
			for _, n := range nodes {
				if n.name == m.Name {
					first, timeline = n, m.Timeline
				}
			}
		}
	}
	return first, timeline, whole && confirms && first != nil
}

// await waits for a state of the nodes and returns the node that leads.
func await(t *testing.T, nodes []*node, what string, ok func(first *node, whole bool) bool) *node {
	t.Helper()
	for begun := time.Now(); time.Since(begun) < time.Minute; time.Sleep(100 * time.Millisecond) {
		if first, _, whole := leader(nodes); ok(first, whole) {
			return first
		}
	}
	t.Fatalf("%s: %+v", what, state(nodes))
	return nil
}

// faults of the node that leads, and what is done when another node leads.
var faults = []struct {
	name  string
	cause func(*node) error
	after func(*node) error
}{
	{"Patroni killed", func(n *node) error { n.patroni.Stop(syscall.SIGKILL); return nil }, (*node).restart},
	{"Patroni stopped", func(n *node) error { return n.patroni.Signal(syscall.SIGSTOP) }, (*node).resume},
	{"PostgreSQL killed", (*node).kill, func(*node) error { return nil }},
	{"both killed", func(n *node) error { n.patroni.Stop(syscall.SIGKILL); return n.kill() }, (*node).start},
}

// TestPatroni: Patroni lets another node lead when PostgreSQL, Patroni or both are
// killed on the one that leads, or Patroni is stopped there. While its PostgreSQL still
// runs, there are two primaries. Two processes write all the time.
func TestPatroni(t *testing.T) {
	if *patroniFaults == 0 {
		return
	}
	is := is.New(t)
	nodes := newNodes(t)
	all := func(_ *node, whole bool) bool { return whole }
	await(t, nodes, "the cluster does not start", all)

	var hosts, ports []string
	for _, n := range nodes {
		host, port, _ := net.SplitHostPort(n.address)
		hosts, ports = append(hosts, host), append(ports, port)
	}
	dsn := fmt.Sprintf("host=%s port=%s user=licensing dbname=postgres sslmode=disable target_session_attrs=read-write connect_timeout=3",
		strings.Join(hosts, ","), strings.Join(ports, ","))
	w := startWriters(t, dsn)
	for i := range *patroniFaults {
		old := await(t, nodes, "the cluster does not recover", all)
		w.await(t, 200)
		fault, begun := faults[i%len(faults)], time.Now()
		is.NoErr(fault.cause(old))
		next := await(t, nodes, "no other node leads", func(first *node, _ bool) bool { return first != nil && first != old })
		led := time.Since(begun)
		is.NoErr(fault.after(old))
		w.await(t, 1)
		t.Logf("%s: %s leads instead of %s after %v, changes succeed after %v", fault.name, next.name, old.name,
			led.Round(time.Millisecond), time.Since(begun).Round(time.Millisecond))
	}
	await(t, nodes, "the cluster does not recover", all)
	w.await(t, 200)
	w.end()
	_, timeline, _ := leader(nodes)
	require.Greater(t, timeline, *patroniFaults) // each was a failover
	w.check(t, dsn)
}
