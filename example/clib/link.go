package main

import (
	"context"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/program"
)

// A linking is an activation in the browser. The library waits for it in the background, so
// that a program can wait in short steps, however slow its network is.
type linking struct {
	program.Link

	mu  sync.Mutex
	run *linkRun // nil: none
}

type linkRun struct {
	ended     chan struct{}
	err       error       // after ended
	abandoned *time.Timer // ends the run
}

// abandonedAfter is after how long without a call the library stops to wait.
const abandonedAfter = 30 * time.Second

var (
	errTimeout = &refusal{program.CodeTimeout, "The activation was not approved in time."}
	errFailed  = &refusal{api.CodeInternal, "The license library failed."}
)

// wait waits for the approval until the deadline of ctx.
func (k *linking) wait(ctx context.Context) error {
	k.mu.Lock()
	if k.run == nil {
		k.run = k.start()
	}
	run := k.run
	end, _ := ctx.Deadline()
	run.abandoned.Reset(time.Until(end) + abandonedAfter)
	k.mu.Unlock()
	select {
	case <-run.ended:
		k.drop(run) // another call asks again
		return run.err
	case <-ctx.Done():
		return errTimeout
	}
}

// start waits in the background.
func (k *linking) start() *linkRun {
	ctx, cancel := context.WithCancel(context.Background())
	run := &linkRun{ended: make(chan struct{}), err: errFailed, abandoned: time.AfterFunc(abandonedAfter, cancel)}
	go func() {
		do(nil, func() error {
			run.err = k.Wait(ctx)
			return nil
		})
		if ctx.Err() != nil {
			k.drop(run)
		}
		close(run.ended)
		cancel()
	}()
	return run
}

func (k *linking) drop(run *linkRun) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.run == run {
		k.run = nil
	}
}
