//go:build unix

package failover

import (
	"bufio"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/postgres"
)

// With these variables set, the test binary is a process that writes until its
// standard input ends.
const (
	writerVariable = "LICENSEKIT_FAILOVER_WRITER" // its driver
	sourceVariable = "LICENSEKIT_FAILOVER_SOURCE"
)

func TestMain(m *testing.M) {
	driver := os.Getenv(writerVariable)
	if driver == "" {
		os.Exit(m.Run())
	}
	if err := write(driver, os.Getenv(sourceVariable)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// outcomes of a write, as the process that wrote prints them.
const (
	acknowledged = "acknowledged"
	unknown      = "unknown"
	refused      = "refused" // nothing was written
)

// write prints the outcome of each of its writes, and its ID.
func write(driver, dsn string) error {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(20)
	db.SetMaxIdleConns(20)
	ctx := context.Background()
	st, err := postgres.New(ctx, db, postgres.Options{})
	if err != nil {
		return err
	}
	var ended atomic.Bool
	var all sync.WaitGroup
	for worker := range workers {
		all.Go(func() {
			for n := 0; !ended.Load(); n++ {
				counter := fmt.Sprintf("%s-%d", driver, worker)
				id := fmt.Sprintf("%s-%d", counter, n)
				if n%4 == 0 {
					counter = "all"
				}
				err := st.Update(ctx, func(tx store.Tx) error { return writeOne(ctx, tx, id, counter, n%8 == 1) })
				switch {
				case err == nil:
					fmt.Println(acknowledged, id) // one system call
				case errors.Is(err, store.ErrUnknownOutcome):
					fmt.Println(unknown, id)
				case errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrConflict):
					fmt.Println(refused, id)
					time.Sleep(20 * time.Millisecond)
				default:
					fmt.Printf("%q %s\n", err, id)
				}
			}
		})
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	ended.Store(true)
	all.Wait()
	return err
}

// writeOne creates a license, raises a counter, and appends an event of both. A locking
// Update takes the lock of the schema before it writes.
func writeOne(ctx context.Context, tx store.Tx, id, counter string, locking bool) error {
	if locking {
		if _, err := tx.CountLicenses(ctx, store.LicenseQuery{CustomerID: "none"}); err != nil {
			return err
		}
	}
	e, err := tx.Entry(ctx, "counter", counter)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	n, _ := strconv.Atoi(string(e.Data)) // zero if there is none
	return errors.Join(
		tx.PutEntries(ctx, store.Entry{Kind: "counter", Key: counter, Data: []byte(strconv.Itoa(n + 1))}),
		tx.CreateLicenses(ctx, store.License{ID: id, Key: id}),
		tx.AppendEvents(ctx, store.Event{ID: rand.Text(), Type: counter, Subject: id}))
}

// writers are processes that write, and what they have printed.
type writers struct {
	inputs       []io.Closer
	all          sync.WaitGroup
	acknowledged atomic.Int64

	mu       sync.Mutex
	outcomes map[string]string // by ID
}

// startWriters starts one process for each driver.
func startWriters(t *testing.T, dsn string) *writers {
	t.Helper()
	is := is.New(t)
	w := &writers{outcomes: map[string]string{}}
	var processes []*os.Process
	t.Cleanup(func() {
		for _, p := range processes {
			p.Kill()
		}
		w.all.Wait()
	})
	for _, driver := range drivers {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), writerVariable+"="+driver, sourceVariable+"="+dsn)
		cmd.Stderr = os.Stderr
		input, err := cmd.StdinPipe() // ends with this process
		is.NoErr(err)
		output, err := cmd.StdoutPipe()
		is.NoErr(err)
		is.NoErr(cmd.Start())
		processes, w.inputs = append(processes, cmd.Process), append(w.inputs, input)
		w.all.Go(func() {
			for lines := bufio.NewScanner(output); lines.Scan(); {
				line := lines.Text()
				space := strings.LastIndexByte(line, ' ')
				outcome, id := line[:space], line[space+1:]
				w.mu.Lock()
				w.outcomes[id] = outcome
				w.mu.Unlock()
				if outcome == acknowledged {
					w.acknowledged.Add(1)
				}
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("the process with %s: %v", driver, err)
			}
		})
	}
	return w
}

// await waits until n more writes are acknowledged.
func (w *writers) await(t *testing.T, n int64) {
	t.Helper()
	begun, first := time.Now(), w.acknowledged.Load()
	for w.acknowledged.Load() < first+n {
		if time.Since(begun) > time.Minute {
			t.Fatal("no write is acknowledged")
		}
		time.Sleep(time.Millisecond)
	}
}

// end stops the processes and waits for the outcomes of their last writes.
func (w *writers) end() {
	for _, input := range w.inputs {
		input.Close()
	}
	w.all.Wait()
}

// check compares the store with the outcomes.
func (w *writers) check(t *testing.T, dsn string) {
	t.Helper()
	is := is.New(t)
	ctx := t.Context()
	db, err := sql.Open("pgx", dsn)
	is.NoErr(err)
	defer db.Close()
	st, err := postgres.New(ctx, db, postgres.Options{})
	is.NoErr(err)

	times, counts, last := map[string]int{}, map[string]int{}, int64(0)
	for {
		events, err := st.Events(ctx, store.EventQuery{After: last})
		is.NoErr(err)
		if len(events) == 0 {
			break
		}
		for _, e := range events {
			is.Equal(e.Seq, last+1) // no gap
			last = e.Seq
			times[e.Subject]++
			counts[e.Type]++
		}
	}
	found := map[string]int{}
	lost, twice, kept := 0, 0, 0
	for id, outcome := range w.outcomes {
		found[outcome]++
		switch n := times[id]; {
		case n > 1:
			twice++
		case n == 0 && outcome == acknowledged:
			lost++
		case n == 1 && outcome == refused:
			kept++
		}
	}
	t.Logf("%v; %d events; lost %d, twice %d, refused and there %d", found, last, lost, twice, kept)
	is.Equal(lost, 0)
	is.Equal(twice, 0)
	is.Equal(kept, 0)
	for outcome := range found {
		is.True(outcome == acknowledged || outcome == unknown || outcome == refused)
	}
	for counter, n := range counts {
		e, err := st.Entry(ctx, "counter", counter)
		is.NoErr(err)
		is.Equal(string(e.Data), strconv.Itoa(n))
	}
	licenses, err := st.CountLicenses(ctx, store.LicenseQuery{})
	is.NoErr(err)
	is.Equal(licenses, []int64{last}) // each license has its event
}
