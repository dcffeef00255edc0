package catalogcheck_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/internal/catalogcheck"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// TestMain lets this test binary also be the process that is killed.
func TestMain(m *testing.M) {
	path := os.Getenv("CATALOG_TEST_PATH")
	if path == "" {
		os.Exit(m.Run())
	}
	time.AfterFunc(time.Minute, func() { os.Exit(3) }) // whatever happens
	fmt.Println("error:", changeForever(path))
	os.Exit(1)
}

// changeForever changes licenses and indexes, and prints a line for each change.
func changeForever(path string) error {
	st, err := sqlite.Open(path)
	if err != nil {
		return err
	}
	p := catalogcheck.NewProcess(st)
	ctx := context.Background()
	failed := make(chan error, 3)
	for writer := range uint64(2) {
		dice := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), writer))
		go func() {
			for {
				if err := p.Change(ctx, dice); err != nil {
					failed <- err
				}
				fmt.Println("changed")
			}
		}()
	}
	go func() {
		for {
			if err := p.Index(ctx); err != nil {
				failed <- err
			}
		}
	}()
	return <-failed
}

// TestKilled kills a process that changes licenses and indexes them, at any
// moment.
func TestKilled(t *testing.T) {
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "licenses.db")
	for round := range 3 {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "CATALOG_TEST_PATH="+path)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		is.NoErr(errors.Join(err, cmd.Start()))
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			if lines.Text() != "changed" {
				t.Fatal(lines.Text())
			}
			if n == 50+13*round {
				is.NoErr(cmd.Process.Kill())
			}
		}
		is.True(cmd.Wait() != nil)
		st, err := sqlite.Open(path)
		is.NoErr(err)
		catalogcheck.NewProcess(st).Compare(t, rand.New(rand.NewPCG(uint64(round), 0)))
		is.NoErr(st.Close())
	}
}
