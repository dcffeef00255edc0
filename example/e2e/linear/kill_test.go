//go:build unix

package linear

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

var long = flag.Duration("long", 0, "how long TestKills runs on each store; 0: a second on SQLite")

// With these variables set, the test binary is a service that runs until its
// standard input ends.
const (
	driverVariable = "LICENSEKIT_LINEAR_DRIVER"
	sourceVariable = "LICENSEKIT_LINEAR_SOURCE"
	clockVariable  = "LICENSEKIT_LINEAR_CLOCK" // epoch in nanoseconds, and the skew
)

func TestMain(m *testing.M) {
	driver := os.Getenv(driverVariable)
	if driver == "" {
		os.Exit(m.Run())
	}
	if err := victim(driver, os.Getenv(sourceVariable), os.Getenv(clockVariable)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// victim prints the address at which it serves.
func victim(driver, source, clock string) error {
	var began, skew int64
	if _, err := fmt.Sscan(clock, &began, &skew); err != nil {
		return err
	}
	epoch = time.Unix(0, began)
	st, stop, err := openSource(context.Background(), driver, source)
	if err != nil {
		return err
	}
	defer stop()
	server := httptest.NewServer(licensing.NewHandler(st, options(time.Duration(skew))))
	fmt.Println(server.URL)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// A process is a service in a process of its own.
type process struct {
	address
	driver, source string
	skew           time.Duration
	cmd            *exec.Cmd
}

// start starts the process and waits until it serves.
func (p *process) start() error {
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), driverVariable+"="+p.driver, sourceVariable+"="+p.source,
		fmt.Sprintf("%s=%d %d", clockVariable, epoch.UnixNano(), p.skew))
	p.cmd.Stderr = os.Stderr
	if _, err := p.cmd.StdinPipe(); err != nil { // which ends with this process
		return err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return errors.Join(err, p.kill())
	}
	p.set(strings.TrimSpace(line))
	return nil
}

// kill kills the process with SIGKILL and waits until it has ended.
func (p *process) kill() error {
	err := p.cmd.Process.Kill()
	p.cmd.Wait() // returns the signal as an error
	return err
}

// pause stops the process for a while.
func (p *process) pause(d time.Duration) error {
	err := p.cmd.Process.Signal(syscall.SIGSTOP)
	time.Sleep(d)
	return errors.Join(err, p.cmd.Process.Signal(syscall.SIGCONT))
}

// TestKills sends requests to two processes with one store, of which one after
// another is killed and started again, or paused: on SQLite and, with -long, on
// PostgreSQL.
func TestKills(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		testKills(t, "sqlite", filepath.Join(t.TempDir(), "licenses.db"))
	})
	if *long == 0 {
		return
	}
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		testKills(t, "pgx", startPostgres(t))
	})
}

func testKills(t *testing.T, driver, source string) {
	is := is.New(t)
	st := openStore(t, driver, source)
	processes := []*process{{driver: driver, source: source, skew: skews[0]}, {driver: driver, source: source, skew: skews[1]}}
	for _, p := range processes {
		is.NoErr(p.start())
	}
	g := newGroup(t, "", &processes[0].address, &processes[1].address)
	faults, results, duration := 0, map[porcupine.CheckResult]int{}, cmp.Or(*long, time.Second)
	var expires time.Time
	for start := time.Now(); time.Since(start) < duration && !t.Failed(); faults++ {
		if time.Now().After(expires) { // a token is valid for a day of the clocks
			g.token, expires = newToken(t, st), time.Now().Add(30*time.Second)
		}
		// One fault in a round: each leaves requests without an answer, and the
		// check takes exponentially longer with their number.
		var fault sync.WaitGroup
		fault.Go(func() {
			time.Sleep(rand.N(200 * time.Millisecond))
			p := processes[faults%2]
			var err error
			if faults%4 < 2 {
				err = errors.Join(p.kill(), p.start())
			} else {
				err = p.pause(rand.N(300 * time.Millisecond))
			}
			if err != nil {
				t.Error(err)
			}
		})
		history := g.round()
		fault.Wait()
		results[check(t, history)]++
	}
	for _, p := range processes {
		is.NoErr(p.kill())
	}
	total := 0
	for _, count := range g.answers {
		total += count
	}
	t.Logf("%d kills and pauses, %d requests, rounds: %v, answers: %v", faults, total, results, g.answers)
	is.True(results[porcupine.Ok] > results[porcupine.Unknown]) // some may take too long to check
}

// TestStoppedProcessHoldsNobody stops one of two processes again and again while it
// writes to PostgreSQL. The other goes on, and what was acknowledged is there.
func TestStoppedProcessHoldsNobody(t *testing.T) {
	is := is.New(t)
	source := startPostgres(t)
	st := openStore(t, "pgx", source)
	one, other := &process{driver: "pgx", source: source}, &process{driver: "pgx", source: source}
	for _, p := range []*process{one, other} {
		is.NoErr(p.start())
		defer p.kill()
	}
	token := newToken(t, st)
	create := func(p *process) (id string) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, "POST", *p.Load()+"/license", strings.NewReader(`{"name":"n","product_id":"p","customer_id":"c"}`))
		if err != nil {
			t.Error(err)
			return ""
		}
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return ""
		}
		defer answer.Body.Close()
		var l api.License
		if err := json.NewDecoder(answer.Body).Decode(&l); err != nil || answer.StatusCode != http.StatusCreated {
			t.Error(answer.Status, err)
		}
		return l.ID
	}

	var load sync.WaitGroup
	var ended atomic.Bool
	var mu sync.Mutex
	var acknowledged []string
	for range 8 {
		load.Go(func() {
			for !ended.Load() {
				if id := create(one); id != "" {
					mu.Lock()
					acknowledged = append(acknowledged, id)
					mu.Unlock()
				}
			}
		})
	}
	for range 20 {
		time.Sleep(rand.N(30 * time.Millisecond))
		is.NoErr(one.cmd.Process.Signal(syscall.SIGSTOP))
		for range 5 {
			begun := time.Now()
			is.True(create(other) != "")
			require.Less(t, time.Since(begun), 3*time.Second) // a lock that was held would be released after five
		}
		is.NoErr(one.cmd.Process.Signal(syscall.SIGCONT))
	}
	ended.Store(true)
	load.Wait()
	require.Greater(t, len(acknowledged), 20)
	for _, id := range acknowledged {
		_, err := st.License(t.Context(), id)
		is.NoErr(err)
	}
}
