package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/program"
)

// A linking is an activation in the browser. It is waited for in the background, so that a
// program can wait in short steps, however slow its network is.
type linking struct {
	program.Link

	mu      sync.Mutex
	run     *linkRun // nil: none
	waiting int      // calls of wait
}

type linkRun struct {
	ended     chan struct{}
	err       error       // after ended
	abandoned *time.Timer // ends the run when no call has waited for a while
}

// abandonedAfter is after how long without a call the library stops to wait.
const abandonedAfter = 30 * time.Second

var errTimeout = &refusal{program.CodeTimeout, "The activation was not approved in time."}

// wait waits for the approval until ctx ends.
func (k *linking) wait(ctx context.Context) error {
	k.mu.Lock()
	if k.run == nil {
		k.run = k.start()
	}
	run := k.run
	k.waiting++
	run.abandoned.Stop()
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.waiting--; k.waiting == 0 {
			run.abandoned.Reset(abandonedAfter)
		}
	}()
	select {
	case <-run.ended:
	case <-ctx.Done():
		return errTimeout
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.run == run {
		k.run = nil // another call asks again
	}
	return run.err
}

// start waits in the background. The caller holds k.mu.
func (k *linking) start() *linkRun {
	ctx, cancel := context.WithCancel(context.Background())
	run := &linkRun{ended: make(chan struct{})}
	run.abandoned = time.AfterFunc(abandonedAfter, cancel)
	go func() {
		defer close(run.ended)
		defer func() {
			if p := recover(); p != nil {
				run.err = &refusal{"internal", fmt.Sprint("The license library failed: ", p)}
			}
			k.mu.Lock()
			defer k.mu.Unlock()
			if ctx.Err() != nil && k.run == run {
				k.run = nil
			}
			cancel()
		}()
		run.err = k.Wait(ctx)
	}()
	return run
}
