//go:build unix

// Package pgserver runs a temporary PostgreSQL server with the programs installed
// on this machine.
package pgserver

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // to check that the server responds
)

// ErrNotInstalled means that PostgreSQL is not installed on this machine.
var ErrNotInstalled = errors.New("no PostgreSQL server is installed here")

// binaries is where Debian installs the server; PATH takes precedence.
const binaries = "/usr/lib/postgresql/*/bin"

// patience is how long a server may take to start.
const patience = 30 * time.Second

// A Server is a PostgreSQL server that listens on a socket in its own directory,
// which also holds its data. It is stopped by its process id, and on Linux also
// when this process ends. It is not safe for concurrent use.
type Server struct {
	Dir string // with the socket; not accessible to other users

	bin      string
	owner    *syscall.Credential // nil: the current user
	settings []string
	process  *Process // of the server; nil before the first start
}

// New creates the directory of a server that runs with the given settings, such
// as "fsync=off". It returns [ErrNotInstalled] if the server is not installed.
func New(settings ...string) (*Server, error) {
	s, err := prepare(settings)
	if err != nil {
		return nil, err
	}
	initdb := s.command("initdb", "--pgdata", s.Data(), "--auth", "trust", "--username", "licensing",
		"--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions")
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("initdb: %w\n%s", err, out), s.Remove())
	}
	return s, nil
}

// NewStandby creates the directory of a server that will run with the data of
// another, which [Server.Shell] copies.
func NewStandby(settings ...string) (*Server, error) { return prepare(settings) }

// prepare creates the directory of a server, without data.
func prepare(settings []string) (*Server, error) {
	s := &Server{settings: settings}
	if path, err := exec.LookPath("initdb"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err != nil { // the other programs may have no link
			return nil, err
		}
		s.bin = filepath.Dir(path)
	} else if found, _ := filepath.Glob(binaries); len(found) > 0 {
		s.bin = found[len(found)-1]
	} else {
		return nil, ErrNotInstalled
	}
	var err error
	if s.Dir, err = os.MkdirTemp("", "pg"); err != nil {
		return nil, err
	}
	if os.Getuid() == 0 { // as root, the server refuses to run
		if err := s.lend(); err != nil {
			return nil, errors.Join(err, s.Remove())
		}
	}
	return s, nil
}

// Shell runs a command line as the user of the server, with its programs in the
// PATH and the environment given as pairs such as "PGDATA=/srv". It waits for the
// end of the command, not for that of programs which the command leaves running.
func (s *Server) Shell(line string, environment ...string) error {
	cmd := s.command("sh", "-c", line)
	cmd.Path = "/bin/sh"
	cmd.Env = append(cmd.Env, environment...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", line, err, out)
	}
	return nil
}

// lend gives the directory to a user that is allowed to run the server.
func (s *Server) lend() error {
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
	return os.Chown(s.Dir, uid, gid)
}

// Data returns the directory of the data.
func (s *Server) Data() string { return filepath.Join(s.Dir, "data") }
func (s *Server) log() string  { return filepath.Join(s.Dir, "log") }

// command returns one of the server's programs. It runs in its own process group,
// so that Ctrl-C does not stop it before the clients of the server have ended.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.Dir
	cmd.Env = []string{"LC_ALL=C", "PATH=" + s.bin + ":/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner, Setpgid: true}
	endWithParent(cmd.SysProcAttr, syscall.SIGQUIT)
	return cmd
}

// DSN returns the data source name for programs on this machine, for any driver.
func (s *Server) DSN() string {
	return "host=" + s.Dir + " user=licensing dbname=postgres sslmode=disable"
}

// Start starts or restarts the server, and waits until it responds.
func (s *Server) Start() error {
	deadline := time.Now().Add(patience)
	for {
		if err := s.launch(); err != nil {
			return err
		}
		ready := s.await(deadline)
		if ready == nil {
			return nil
		}
		s.Stop(syscall.SIGQUIT)
		// After a kill, processes of the previous server may take a moment
		// to end, and prevent a new one from starting.
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(s.log())
			return fmt.Errorf("the server did not start: %w\n%s", ready, log)
		}
	}
}

// launch runs the server.
func (s *Server) launch() (err error) {
	args := []string{"-D", s.Data(), "-k", s.Dir, "-c", "listen_addresses=", "-c", "max_connections=200", "-c", "log_min_messages=log"}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
	s.process, err = start(s.command("postgres", args...), s.log())
	return err
}

// await waits until the server responds or has ended.
func (s *Server) await(deadline time.Time) error {
	db, err := sql.Open("pgx", s.DSN())
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
		case <-s.process.done:
			return errors.Join(errors.New("the server has exited"), err)
		case <-poll.C:
		}
	}
}

// Stop stops the server with a signal and waits until it has ended. SIGKILL
// simulates a crash.
func (s *Server) Stop(signal syscall.Signal) { s.process.Stop(signal) }

// Remove stops the server if it runs, and removes its directory with its data.
func (s *Server) Remove() error {
	if s.process != nil {
		s.Stop(syscall.SIGQUIT)
	}
	return os.RemoveAll(s.Dir)
}
