package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/store"
)

// These tests run this test binary in another process on the same file.

// children are the jobs of such a process.
var children = map[string]func(st *Store, name string) error{
	"create":  createForever,
	"seats":   claimSeats,
	"fill":    fillDisk,
	"rewrite": rewriteEntry,
}

func TestMain(m *testing.M) {
	job := os.Getenv("SQLITE_TEST_JOB")
	if job == "" {
		os.Exit(m.Run())
	}
	time.AfterFunc(time.Minute, func() { os.Exit(3) }) // whatever happens
	st, err := Open(os.Getenv("SQLITE_TEST_PATH"))
	if err == nil {
		err = errors.Join(children[job](st, os.Getenv("SQLITE_TEST_NAME")), st.Close())
	}
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// child starts a process that does the job on the file at path, through a program
// with arguments if one is given. The second result reads its output.
func child(t *testing.T, job, path, name string, by ...string) (*exec.Cmd, io.Reader) {
	t.Helper()
	by = append(by, os.Args[0])
	cmd := exec.Command(by[0], by[1:]...)
	cmd.Env = append(os.Environ(), "SQLITE_TEST_JOB="+job, "SQLITE_TEST_PATH="+path, "SQLITE_TEST_NAME="+name)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd, out
}

// createForever creates licenses, each with an event and an entry, and prints the
// id of each after it has been acknowledged.
func createForever(st *Store, name string) error {
	var print sync.Mutex
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("lic_%s_%d_%06d", name, worker, i)
				err := st.Update(context.Background(), func(tx store.Tx) error {
					ctx := context.Background()
					if err := tx.CreateLicenses(ctx, store.License{ID: id, Key: id}); err != nil {
						return err
					}
					if err := tx.PutEntries(ctx, store.Entry{Kind: "reply", Key: id}); err != nil {
						return err
					}
					return tx.AppendEvents(ctx, store.Event{ID: id, Subject: id})
				})
				print.Lock()
				if err != nil {
					fmt.Println("error:", err)
				} else {
					fmt.Println(id)
				}
				print.Unlock()
			}
		})
	}
	all.Wait()
	return nil
}

// TestKilledProcessLosesNothing kills a process that writes, and checks that
// everything it has acknowledged is there.
func TestKilledProcessLosesNothing(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "licenses.db")
	acknowledged := map[string]bool{}
	for round := range 3 {
		cmd, out := child(t, "create", path, fmt.Sprint(round))
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			if strings.HasPrefix(lines.Text(), "error:") {
				t.Fatal(lines.Text())
			}
			acknowledged[lines.Text()] = true
			if n == 200*(round+1) {
				is.NoErr(cmd.Process.Kill())
			}
		}
		cmd.Wait()

		st := openAt(t, path)
		written := 0
		for after := ""; ; {
			page, err := st.Licenses(ctx, store.LicenseQuery{After: store.Position{ID: after}})
			is.NoErr(err)
			if len(page) == 0 {
				break
			}
			for _, l := range page {
				after = l.ID
				written++
				delete(acknowledged, l.ID)
				events, err := st.Events(ctx, store.EventQuery{Subject: l.ID})
				is.NoErr(err)
				is.Equal(len(events), 1)
				_, err = st.Entry(ctx, "reply", l.ID)
				is.NoErr(err)
			}
		}
		is.Equal(len(acknowledged), 0) // all of them are there
		last, err := st.Events(ctx, store.EventQuery{Descending: true, Limit: 1})
		is.NoErr(err)
		is.Equal(last[0].Seq, int64(written)) // no event without its license

		var report []string
		inTurn(t, st.writer, func(c *conn) {
			is.NoErr(c.query(ctx, "PRAGMA integrity_check", nil, func(r *row) { report = append(report, r.text()) }))
		})
		is.Equal(report, []string{"ok"})
		is.NoErr(st.Close())
	}
}

const seatLimit = 400

// claimSeats claims seats of the license until none is left, and prints each.
func claimSeats(st *Store, name string) error {
	ctx := context.Background()
	var print sync.Mutex
	var all sync.WaitGroup
	for worker := range 4 {
		all.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%s_%d_%d", name, worker, i)
				full := false
				err := st.Update(ctx, func(tx store.Tx) error {
					q := store.ActivationQuery{LicenseID: "lic_1", LiveAt: time.UnixMilli(1)}
					rows, err := tx.Activations(ctx, q)
					if full = len(rows) >= seatLimit; err != nil || full {
						return err
					}
					return tx.PutActivations(ctx, store.Activation{LicenseID: "lic_1", ID: id, Fingerprint: id})
				})
				print.Lock()
				if err != nil {
					fmt.Println("error:", err)
				} else if !full {
					fmt.Println(id)
				}
				print.Unlock()
				if full || err != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return nil
}

// TestTwoProcessesShareTheSeats lets two processes claim the seats of one license
// until none is left.
func TestTwoProcessesShareTheSeats(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "licenses.db")
	st := openAt(t, path)
	is.NoErr(st.Update(t.Context(), func(tx store.Tx) error { return add(tx, "lic_1") }))
	var all sync.WaitGroup
	var mu sync.Mutex
	claimed := map[string]bool{}
	for _, name := range []string{"a", "b"} {
		cmd, out := child(t, "seats", path, name)
		all.Go(func() {
			lines := bufio.NewScanner(out)
			for lines.Scan() {
				mu.Lock()
				claimed[lines.Text()] = true
				mu.Unlock()
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	is.Equal(len(claimed), seatLimit)
	for id := range claimed { // in this process, which did not write them
		_, err := st.Activation(t.Context(), "lic_1", id)
		is.NoErr(err)
	}
}

// fillDisk writes large entries, many concurrently, until the disk is full, and
// prints the key of each acknowledged entry. Then it checks that the store still
// works.
func fillDisk(st *Store, _ string) error {
	ctx := context.Background()
	var mu sync.Mutex
	var all sync.WaitGroup
	var refused int
	for worker := range 4 {
		all.Go(func() {
			for i := range 100 {
				key := fmt.Sprint(worker, "_", i)
				err := st.Update(ctx, func(tx store.Tx) error {
					return tx.PutEntries(ctx, store.Entry{Kind: "big", Key: key, Data: bytes.Repeat([]byte("x"), 50_000)})
				})
				mu.Lock()
				switch {
				case err == nil:
					fmt.Println(key)
				case errors.Is(err, store.ErrUnavailable):
					refused++
				default:
					fmt.Println("error:", err)
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if refused == 0 {
		return errors.New("there was room for everything")
	}
	entries, err := st.Entries(ctx, store.EntryQuery{Kind: "big"})
	if err != nil || len(entries) == 0 {
		return fmt.Errorf("%d entries on a full disk: %w", len(entries), err)
	}
	st.Close() // fails if there is no room to write the log back, and keeps the log
	return nil
}

// TestFullDisk runs a process with a limit on the size of files, which the engine
// reports as a disk error.
func TestFullDisk(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("limits of file sizes are of POSIX")
	}
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "licenses.db")
	cmd, out := child(t, "fill", path, "", "sh", "-c", `ulimit -f 4000 && exec "$0"`)
	acknowledged := map[string]bool{}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		acknowledged[lines.Text()] = true
	}
	is.NoErr(cmd.Wait())
	st := openAt(t, path) // without the limit
	entries, err := st.Entries(t.Context(), store.EntryQuery{Kind: "big"})
	is.NoErr(err)
	is.Equal(len(entries), len(acknowledged)) // all acknowledged entries, and nothing else
	for _, e := range entries {
		is.True(acknowledged[e.Key])
	}
	is.NoErr(st.Update(t.Context(), func(tx store.Tx) error { return add(tx, "a") }))
}

// rewriteEntry replaces one entry until the log has reached its maximum size
// several times.
func rewriteEntry(st *Store, _ string) error {
	ctx := context.Background()
	for i := range 100 {
		data := bytes.Repeat([]byte{byte(i)}, 100_000)
		err := st.Update(ctx, func(tx store.Tx) error {
			return tx.PutEntries(ctx, store.Entry{Kind: "big", Key: "big", Data: data})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// TestFullLogIsWrittenBack leaves no space for a larger log, but enough for the
// changes in it.
func TestFullLogIsWrittenBack(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("limits of file sizes are of POSIX")
	}
	cmd, out := child(t, "rewrite", filepath.Join(t.TempDir(), "licenses.db"), "", "sh", "-c", `ulimit -f 4000 && exec "$0"`)
	printed, err := io.ReadAll(out)
	if err = errors.Join(err, cmd.Wait()); err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
}

// TestProcessesTakeTurns updates without a gap after another process has had the
// write lock, and expects a gap in which that process, if it retries, gets it again.
func TestProcessesTakeTurns(t *testing.T) {
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "licenses.db")
	st := openAt(t, path)
	other, err := connect(writerDSN(path, Options{}))
	is.NoErr(err)
	defer other.close()
	is.NoErr(other.script("BEGIN IMMEDIATE"))
	time.AfterFunc(50*time.Millisecond, func() { other.script("COMMIT") })
	is.NoErr(st.Update(t.Context(), func(tx store.Tx) error { return add(tx, "first") }))

	w := st.writer
	is.True(!w.waited.IsZero())
	for i, due := 0, false; !due; i++ {
		w.waited = time.Now()
		due = time.Since(w.turn) >= maxTurn
		var gap time.Duration
		is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
			gap = time.Since(w.ended)
			return add(tx, fmt.Sprint(i))
		}))
		is.True(!due || gap >= 3*retryEvery/2)
	}
}
