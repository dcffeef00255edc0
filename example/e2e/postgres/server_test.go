package postgres_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/lib/pq"
)

// drivers are those that the store is tested with, by the names under which
// they are registered with database/sql.
var drivers = map[string]string{"pgx": "pgx", "lib-pq": "postgres"}

// environment is the variable with the DSN of a server to test on instead of
// one that the tests start.
const environment = "LICENSING_POSTGRES_DSN"

// binaries is where Debian has the server; a PATH that has it comes first.
const binaries = "/usr/lib/postgresql/*/bin"

// A server is a PostgreSQL server of the tests' own. It listens on a socket in
// a directory of its own, and keeps its data beside it.
type server struct {
	bin, dir string
	owner    *syscall.Credential // nil: whoever runs the tests
	settings []string

	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
}

// newServer makes the data directory of a server and starts it. The server ends
// with the test.
func newServer(t testing.TB, settings ...string) *server {
	t.Helper()
	s, err := makeServer(settings...)
	if errors.Is(err, exec.ErrNotFound) {
		t.Skip("no PostgreSQL server is installed here")
	}
	if err == nil {
		t.Cleanup(s.remove)
		err = s.start()
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func makeServer(settings ...string) (*server, error) {
	s := &server{settings: settings}
	if path, err := exec.LookPath("initdb"); err == nil {
		s.bin = filepath.Dir(path)
	} else if found, _ := filepath.Glob(binaries); len(found) > 0 {
		s.bin = found[len(found)-1]
	} else {
		return nil, exec.ErrNotFound
	}
	var err error
	if s.dir, err = os.MkdirTemp("", "pg"); err != nil {
		return nil, err
	}
	if os.Getuid() == 0 { // as root, the server refuses to run
		if err := s.lend(); err != nil {
			return nil, err
		}
	}
	initdb := s.command("initdb", "--pgdata", s.data(), "--auth", "trust", "--username", "licensing",
		"--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions")
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return s, nil
}

// lend gives the directory to a user who may run the server.
func (s *server) lend() error {
	who, err := user.Lookup("postgres")
	if err != nil {
		who, err = user.Lookup("nobody")
	}
	if err != nil {
		return err
	}
	uid, _ := strconv.Atoi(who.Uid)
	gid, _ := strconv.Atoi(who.Gid)
	s.owner = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return os.Chown(s.dir, uid, gid)
}

func (s *server) data() string { return filepath.Join(s.dir, "data") }

// command is one of the server's programs, which dies with the tests.
func (s *server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir
	cmd.Env = []string{"LC_ALL=C", "PATH=" + s.bin + ":/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner, Setpgid: true, Pdeathsig: syscall.SIGQUIT}
	return cmd
}

// start starts the server and waits until it answers.
func (s *server) start() error {
	args := []string{"-D", s.data(), "-k", s.dir, "-c", "listen_addresses=", "-c", "max_connections=200", "-c", "log_min_messages=log"}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		err := s.launch(args)
		if err != nil {
			return err
		}
		ready := s.await(deadline)
		if ready == nil {
			return nil
		}
		s.stop(syscall.SIGQUIT)
		// After a kill, the processes of the last server may live on for
		// a moment, and keep a new one from starting.
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(s.log())
			return fmt.Errorf("the server does not start: %w\n%s", ready, log)
		}
	}
}

func (s *server) log() string { return filepath.Join(s.dir, "log") }

// launch runs the server on a thread that lives as long as it does, since a
// process is sent its Pdeathsig when the thread that started it ends.
func (s *server) launch(args []string) error {
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer log.Close()
	s.cmd, s.done = s.command("postgres", args...), make(chan struct{})
	s.cmd.Stdout, s.cmd.Stderr = log, log
	started := make(chan error)
	go func(cmd *exec.Cmd, done chan struct{}) {
		runtime.LockOSThread()
		defer close(done)
		err := cmd.Start()
		started <- err
		if err == nil {
			cmd.Wait()
		}
	}(s.cmd, s.done)
	return <-started
}

// await waits until the server answers or has ended.
func (s *server) await(deadline time.Time) error {
	db, err := sql.Open("pgx", s.dsn())
	if err != nil {
		return err
	}
	defer db.Close()
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for {
		if err = db.Ping(); err == nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-s.done:
			return errors.Join(errors.New("it has ended"), err)
		case <-poll.C:
		}
	}
}

// stop ends the server with a signal, and waits for that. SIGKILL is a crash.
func (s *server) stop(signal syscall.Signal) {
	s.cmd.Process.Signal(signal)
	<-s.done
}

func (s *server) remove() {
	if s.cmd != nil {
		s.stop(syscall.SIGQUIT)
	}
	os.RemoveAll(s.dir)
}

func (s *server) dsn() string {
	return "host=" + s.dir + " user=licensing dbname=postgres sslmode=disable"
}

// shared is the server of most tests: the one that the environment names, or
// one of our own. It does not write to disk, since no test of it needs that.
var shared struct {
	once sync.Once
	dsn  string
	own  *server
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if shared.own != nil {
		shared.own.remove()
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
			shared.err = shared.own.start()
			shared.dsn = shared.own.dsn()
		}
	})
	if errors.Is(shared.err, exec.ErrNotFound) {
		t.Skipf("no PostgreSQL server is installed here, and %s names none", environment)
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

// newSchema returns a name that no other schema of the server has, and drops
// that schema when the test ends.
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
