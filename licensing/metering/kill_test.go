package metering_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/metering"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

const (
	killedCalls   = 1200
	reportsOfCall = 10
	kills         = 8
)

// With this variable set, the test binary counts on a store.
const victimVariable = "LICENSEKIT_METERING_VICTIM" // path, key, seed, calls until it kills itself

func TestMain(m *testing.M) {
	victim := os.Getenv(victimVariable)
	if victim == "" {
		os.Exit(m.Run())
	}
	time.AfterFunc(3*time.Minute, func() { os.Exit(3) }) // whatever happens
	if err := countAll(victim); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// callOf returns the reports of a call: one unit for each of ten IDs, of two meters.
func callOf(n int) (reports []api.UsageReport) {
	for i := range reportsOfCall {
		reports = append(reports, use([]string{"calls", "exports"}[i%2], fmt.Sprint("id ", n, " ", i), 1))
	}
	return reports
}

// countAll makes all calls in the order of a seed, eight at a time, and prints the number of
// each that was answered; after some, it kills its process. Meanwhile it tells usage. Its
// clock is as many hours ahead as the seed says.
func countAll(victim string) error {
	var path, key string
	var seed int
	var until int64
	if _, err := fmt.Sscan(victim, &path, &key, &seed, &until); err != nil {
		return err
	}
	st, err := sqlite.Open(path)
	if err != nil {
		return err
	}
	defer st.Close()
	rules := license.New(st, license.Options{Now: func() time.Time { return start.Add(time.Duration(seed) * time.Hour) }})
	service := metering.New(rules)
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		return err
	}
	numbers, failed := make(chan int), make(chan error, 9)
	var answered atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for n := range numbers {
				if _, err := service.CountUsage(context.Background(), api.CountUsageParams{Key: key, Usage: callOf(n)}); err != nil {
					failed <- err
					return
				}
				fmt.Printf("answered %d\n", n)
				if answered.Add(1) == until {
					failed <- self.Kill()
				}
			}
		})
	}
	all.Go(func() {
		if _, err := inner.Of(rules).Meters().TellUsage(context.Background()); err != nil {
			failed <- err
		}
	})
	for _, n := range rand.New(rand.NewPCG(uint64(seed), 51)).Perm(killedCalls) {
		select {
		case numbers <- n:
		case err := <-failed:
			return err
		}
	}
	close(numbers)
	all.Wait()
	return st.Close()
}

// TestKilledWhileCounting kills a process that counts, again and again. What was answered
// has counted, and after all has been repeated each ID has counted once. So it is in events.
func TestKilledWhileCounting(t *testing.T) {
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "usage.db")
	st, err := sqlite.Open(path)
	is.NoErr(err)
	defer st.Close()
	f := newFixture(st)
	l := f.create(t, map[string]api.Meter{"calls": {}, "exports": {Limit: limit(int64(killedCalls * reportsOfCall / 2)), Per: api.PerYear}})
	used := func() (n int64) {
		for _, one := range f.periods(t, l, 10) {
			n += one
		}
		return n
	}
	answered := map[int]bool{}
	run := func(seed, until int) (done bool) {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %s %d %d", victimVariable, path, l.Key, seed, until))
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		is.NoErr(err)
		is.NoErr(cmd.Start())
		for lines := bufio.NewScanner(out); lines.Scan(); {
			var n int
			_, err := fmt.Sscanf(lines.Text(), "answered %d", &n)
			is.NoErr(err)
			answered[n] = true
		}
		return cmd.Wait() == nil
	}
	for round := range kills {
		is.True(!run(round, 1+rand.IntN(killedCalls/8)))
		require.AtLeast(t, used(), int64(len(answered)*reportsOfCall))
	}
	require.Less(t, used(), int64(killedCalls*reportsOfCall)) // it was killed before the end
	for range 2 {
		is.True(run(kills, -1))
		is.Equal(used(), int64(killedCalls*reportsOfCall))
	}
	f.now = start.Add(time.Duration(kills) * time.Hour)
	f.countedAddsUp(t, l)
	require.AtLeast(t, len(f.events(t, l.ID, api.EventUsageCounted)), 4) // some were told between
}
