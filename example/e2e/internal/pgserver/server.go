//go:build unix

// Package pgserver runs a PostgreSQL server for a while, out of the programs
// that are installed on this machine. Nothing of it stays behind.
package pgserver

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // to ask whether it answers
)

// ErrNotInstalled says that there is no PostgreSQL server on this machine.
var ErrNotInstalled = errors.New("no PostgreSQL server is installed here")

// binaries is where Debian has the server; a PATH that has it comes first.
const binaries = "/usr/lib/postgresql/*/bin"

// patience is how long a server may take to start.
const patience = 30 * time.Second

// A Server is a PostgreSQL server that listens on a socket in a directory of
// its own, and keeps its data beside it. It is ended by its own process id, and
// by the end of this process in any case. It is not safe for concurrent use.
type Server struct {
	Dir string // with the socket; nobody else can enter it

	bin      string
	owner    *syscall.Credential // nil: whoever runs this
	settings []string

	cmd  *exec.Cmd
	done chan struct{} // closed when cmd has ended
}

// New makes the directory of a server that is to run with these settings, each
// as in "fsync=off". It returns [ErrNotInstalled] if there are no programs for it.
func New(settings ...string) (*Server, error) {
	s := &Server{settings: settings}
	if path, err := exec.LookPath("initdb"); err == nil {
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
	if err := s.fill(); err != nil {
		return nil, errors.Join(err, s.Remove())
	}
	return s, nil
}

func (s *Server) fill() error {
	if os.Getuid() == 0 { // as root, the server refuses to run
		if err := s.lend(); err != nil {
			return err
		}
	}
	initdb := s.command("initdb", "--pgdata", s.data(), "--auth", "trust", "--username", "licensing",
		"--encoding", "UTF8", "--locale", "C", "--no-sync", "--no-instructions")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

// lend gives the directory to a user who may run the server.
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

func (s *Server) data() string { return filepath.Join(s.Dir, "data") }
func (s *Server) log() string  { return filepath.Join(s.Dir, "log") }

// command is one of the server's programs. It is in a process group of its own,
// so that Ctrl-C does not reach it before those who use the server are done.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.Dir
	cmd.Env = []string{"LC_ALL=C", "PATH=" + s.bin + ":/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.owner, Setpgid: true}
	endWithParent(cmd.SysProcAttr)
	return cmd
}

// DSN is how programs on this machine connect to the server, with any driver.
func (s *Server) DSN() string {
	return "host=" + s.Dir + " user=licensing dbname=postgres sslmode=disable"
}

// Start starts the server, for the first time or again, and waits until it
// answers.
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
		// After a kill, the processes of the last server may live on for
		// a moment, and keep a new one from starting.
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(s.log())
			return fmt.Errorf("the server does not start: %w\n%s", ready, log)
		}
	}
}

// launch runs the server on a thread that lives as long as it does, since
// endWithParent means the thread that started the process.
func (s *Server) launch() error {
	log, err := os.OpenFile(s.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer log.Close()
	args := []string{"-D", s.data(), "-k", s.Dir, "-c", "listen_addresses=", "-c", "max_connections=200", "-c", "log_min_messages=log"}
	for _, setting := range s.settings {
		args = append(args, "-c", setting)
	}
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
		case <-s.done:
			return errors.Join(errors.New("it has ended"), err)
		case <-poll.C:
		}
	}
}

// Stop ends the server with a signal, and waits for that. SIGKILL is a crash.
func (s *Server) Stop(signal syscall.Signal) {
	s.cmd.Process.Signal(signal)
	<-s.done
}

// Remove ends the server if it runs, and removes its directory with all that
// the server has kept.
func (s *Server) Remove() error {
	if s.cmd != nil && s.cmd.Process != nil {
		s.Stop(syscall.SIGQUIT)
	}
	return os.RemoveAll(s.Dir)
}
