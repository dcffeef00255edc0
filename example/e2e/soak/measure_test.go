//go:build linux

package soak

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// A sample is what the service used at an instant.
type sample struct {
	after      time.Duration // since the beginning
	heap       int64         // bytes that are reachable
	goroutines int64
	files      int64 // open descriptors
	store      int64 // bytes of the files of the store
	log        int64 // bytes since the beginning
	requests   int64 // since the beginning
}

func (s sample) String() string {
	return fmt.Sprintf("%v: heap %.1f MiB, %d goroutines, %d descriptors, store %.1f MiB, log %d KiB, %d requests",
		s.after.Round(time.Second), float64(s.heap)/(1<<20), s.goroutines, s.files, float64(s.store)/(1<<20), s.log>>10, s.requests)
}

// A counter counts the bytes of a log.
type counter struct{ atomic.Int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.Add(int64(len(p)))
	return len(p), nil
}

// measure returns what this process and a store use.
func measure(began time.Time, file string) (s sample, err error) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return s, err
	}
	s = sample{after: time.Since(began), heap: int64(m.HeapAlloc), goroutines: int64(runtime.NumGoroutine()), files: int64(len(open))}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if info, err := os.Stat(file + suffix); err == nil {
			s.store += info.Size()
		}
	}
	return s, nil
}

// grown returns what grew from the first third of samples to the last.
func grown(samples []sample, withStore bool) (faults []string) {
	third := len(samples) / 3
	typical := func(part []sample, of func(sample) int64) int64 {
		values := make([]int64, len(part))
		for i, s := range part {
			values[i] = of(s)
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	judge := func(name string, slack int64, of func(sample) int64) {
		first, last := typical(samples[:third], of), typical(samples[len(samples)-third:], of)
		if last > first+first/10+slack {
			faults = append(faults, fmt.Sprintf("%s grew from %d to %d", name, first, last))
		}
	}
	judge("memory", 2<<20, func(s sample) int64 { return s.heap })
	judge("goroutines", 10, func(s sample) int64 { return s.goroutines })
	judge("descriptors", 10, func(s sample) int64 { return s.files })
	if withStore {
		judge("the store", 2<<20, func(s sample) int64 { return s.store })
	}
	// The log grows, but no faster.
	written := func(part []sample) int64 { return part[len(part)-1].log - part[0].log }
	first, last := written(samples[:third]), written(samples[len(samples)-third:])
	if last > first+first/2+16<<10 {
		faults = append(faults, fmt.Sprintf("the log grew by %d bytes, and then by %d", first, last))
	}
	return faults
}

// table returns some of the samples, one a line.
func table(samples []sample) string {
	var b strings.Builder
	for i := 0; i < len(samples); i += max(1, (len(samples)-1)/12) {
		fmt.Fprintln(&b, samples[i])
	}
	fmt.Fprint(&b, samples[len(samples)-1])
	return b.String()
}
