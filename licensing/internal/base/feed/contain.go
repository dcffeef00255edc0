package feed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"
)

// ErrPanic is the error of work that panicked or ended its goroutine. The process, which is
// the host's, continues.
var ErrPanic = errors.New("panic")

// ErrPostponed is the error of work that was done except on some records, on which it is tried
// again after [PostponedFor].
var ErrPostponed = errors.New("postponed")

// PostponedFor is when work on a record is tried again that has failed by itself.
const PostponedFor = time.Hour

// Contain calls f in a goroutine of its own, which it may end, and returns its error. A panic
// becomes an [ErrPanic] and is logged with its stack, as is the end of the goroutine. All work
// that no request waits for is called so: a panic in another goroutine of the host would end
// its process.
func Contain(ctx context.Context, logger *slog.Logger, work string, f func() error) (err error) {
	var wg sync.WaitGroup
	wg.Go(func() {
		var v any = work + " ended its goroutine"
		defer func() {
			if v = cmp.Or(recover(), v); v != nil {
				logger.ErrorContext(ctx, "licensing: background work panicked", "job", work, "panic", v, "stack", string(debug.Stack()))
				err = fmt.Errorf("%w: %v", ErrPanic, v)
			}
		}()
		err = f()
		v = nil
	})
	wg.Wait()
	return err
}

// IsOwn reports whether the cause of an error may be what the work is about, a record or an
// event: not the store, and not the end of the context of the work.
func IsOwn(ctx context.Context, err error) bool {
	return err != nil && StoreErrorKind(err) == "" && ctx.Err() == nil
}

// A FailingJob is background work of this process that fails, not because of the store.
type FailingJob struct {
	Name     string
	Failures int // in a row
	Since    time.Time
	Err      error // the last

	until time.Time // if something was postponed, when it has been tried again
}

// Note notes how a step of a job ended; err may be nil. [Engine.FailingJobs] does not have
// failures of the store, which has a problem of its own.
func (r *Run) Note(job string, err error) {
	e := r.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	f, now := e.failing[job], e.now()
	if err == nil || StoreErrorKind(err) != "" {
		if !now.Before(f.until) {
			delete(e.failing, job)
		}
		return
	}
	if f.Failures == 0 {
		f.Since = now
	}
	if errors.Is(err, ErrPostponed) {
		f.until = now.Add(PostponedFor)
	}
	e.failing[job] = FailingJob{job, f.Failures + 1, f.Since, err, f.until}
}

// FailingJobs returns the jobs of this process whose last step failed or that have postponed
// something, by name.
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
