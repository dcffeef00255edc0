//go:build unix

package e2e

import (
	"context"
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/e2e/internal/pgserver"
)

var whole = flag.Bool("maria", false, "run the whole suites on MariaDB, not their short forms")

// TestMariaDB runs the suites on the backend under testdata/thirdparty/maria, with a server
// that takes 60 connections on a socket in a temporary folder.
func TestMariaDB(t *testing.T) {
	is := is.New(t)
	args := []string{"test", "-count=1", "-v", "-timeout=1h", "./maria"}
	if !*whole {
		args = append(args, "-short")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = "testdata/thirdparty"
	cmd.Env = append(os.Environ(), "GOWORK=off", "MARIADB_DSN=root@unix("+mariadb(t)+")/licensing?interpolateParams=true")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %v: %v\n%s", args, err, out)
	}
	is.Equal(len(regexp.MustCompile(`(?m)^--- PASS: Test(Store|Durable|Service|API) `).FindAll(out, -1)), 4)
	if strings.Contains(string(out), "--- SKIP") {
		t.Fatalf("tests were skipped:\n%s", out)
	}
}

// mariadb starts a server with an empty database "licensing" and returns its socket. It
// skips the test if MariaDB is not installed.
func mariadb(t *testing.T) (socket string) {
	t.Helper()
	is := is.New(t)
	server, err := exec.LookPath("mariadbd")
	if err != nil {
		if server, err = exec.LookPath("/usr/sbin/mariadbd"); err != nil {
			t.Skipf("MariaDB is needed: %v", err)
		}
	}
	dir, err := os.MkdirTemp("", "maria") // whose path is short enough for a socket
	is.NoErr(err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	create, socket := filepath.Join(dir, "create.sql"), filepath.Join(dir, "socket")
	is.NoErr(os.WriteFile(create, []byte("CREATE DATABASE licensing;\n"), 0o600))
	settings := []string{"--no-defaults", "--datadir=" + filepath.Join(dir, "data")}
	if os.Getuid() == 0 {
		settings = append(settings, "--user=root")
	}
	install := exec.Command("mariadb-install-db", append(settings, "--auth-root-authentication-method=normal", "--skip-test-db")...)
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("mariadb-install-db: %v\n%s", err, out)
	}
	// Only processes that write are killed, so the server need not wait for the disk.
	run := exec.Command(server, append(settings, "--socket="+socket, "--skip-networking", "--init-file="+create,
		"--max-connections=60", "--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync", "--innodb-doublewrite=0")...)
	process, err := pgserver.Start(run, filepath.Join(dir, "log"))
	is.NoErr(err)
	t.Cleanup(func() { process.Stop(syscall.SIGKILL) })
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			conn.Close()
			return socket
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Fatalf("the server did not start: %v\n%s", err, log)
		}
	}
}
