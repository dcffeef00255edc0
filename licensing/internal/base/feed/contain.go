package feed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// ErrPanic is the error of work that panicked or ended its goroutine. The process, which is
// the host's, goes on.
var ErrPanic = errors.New("panic")

// Contain calls f in a goroutine of its own, which it may end, and returns its error. A panic
// becomes an [ErrPanic] and is logged with its stack. All work that no request waits for is
// called so: a panic in another goroutine of the host would end its process.
func (e *Engine) Contain(ctx context.Context, work string, f func() error) error {
	err := fmt.Errorf("%w: %s ended its goroutine", ErrPanic, work)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() {
			if v := recover(); v != nil {
				e.Logger.ErrorContext(ctx, "licensing: background work panicked", "job", work, "panic", v, "stack", string(debug.Stack()))
				err = fmt.Errorf("%w: %v", ErrPanic, v)
			}
		}()
		err = f()
	})
	wg.Wait()
	return err
}

// A FailingJob is background work of this process that fails, not because of the store.
type FailingJob struct {
	Name     string
	Failures int // in a row
	Since    time.Time
	Err      error // the last
}

// Note notes how a step of a job ended; err may be nil. [Engine.FailingJobs] does not have
// failures of the store, which has a problem of its own.
func (r *Run) Note(job string, err error) {
	e := r.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	if err == nil || StoreErrorKind(err) != "" {
		delete(e.failing, job)
		return
	}
	f := e.failing[job]
	if f.Failures == 0 {
		f.Since = e.now()
	}
	e.failing[job] = FailingJob{job, f.Failures + 1, f.Since, err}
}

// FailingJobs returns the jobs of this process whose last step failed, by name.
func (e *Engine) FailingJobs() []FailingJob {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.SortedFunc(maps.Values(e.failing), func(a, b FailingJob) int { return strings.Compare(a.Name, b.Name) })
}

// forget forgets what failed when no Run does the work any more.
func (e *Engine) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.runs) == 0 {
		clear(e.failing)
	}
}
