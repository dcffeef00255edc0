package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/program"
)

// An opened license is what a handle stands for.
type opened struct {
	*program.License
	idle   func()                  // closes connections; nil: there are none
	link   atomic.Pointer[linking] // the newest
	panics bool                    // in each call, for tests

	mu      sync.Mutex
	changes uint64        // of the status, and 1
	changed chan struct{} // closed with the next change
	closed  bool
}

// licenses are the open licenses, by handle. A handle is never used again.
var licenses struct {
	sync.RWMutex
	last uint64
	open map[uint64]*opened
}

// keep returns a handle for a license.
func keep(l *opened) uint64 {
	licenses.Lock()
	defer licenses.Unlock()
	if licenses.open == nil {
		licenses.open = map[uint64]*opened{}
	}
	licenses.last++
	licenses.open[licenses.last] = l
	return licenses.last
}

// find returns the license of a handle.
func find(handle uint64) (*opened, error) {
	licenses.RLock()
	defer licenses.RUnlock()
	l := licenses.open[handle]
	if l == nil {
		return nil, errClosed
	}
	if l.panics {
		panic("a test")
	}
	return l, nil
}

// closeHandle closes a license. Of several calls, one does it.
func closeHandle(handle uint64) error {
	l, err := find(handle)
	if err != nil {
		return err
	}
	licenses.Lock()
	_, open := licenses.open[handle]
	delete(licenses.open, handle)
	licenses.Unlock()
	if !open {
		return errClosed
	}
	l.change(true)
	_ = l.Close() // it returns nil
	if l.idle != nil {
		l.idle()
	}
	return nil
}

func newOpened() *opened { return &opened{changes: 1, changed: make(chan struct{})} }

// change counts a change of the status, and wakes who waits for it.
func (l *opened) change(closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.changes++
	l.closed = closed
	close(l.changed)
	l.changed = make(chan struct{})
}

// wait waits until the status has changed since the number seen. It returns 0 if the license
// is closed.
func (l *opened) wait(seen uint64, timeout time.Duration) uint64 {
	ctx, cancel := context.Background(), context.CancelFunc(func() {})
	if timeout >= 0 {
		ctx, cancel = context.WithTimeout(ctx, timeout)
	}
	defer cancel()
	for {
		l.mu.Lock()
		now, next, closed := l.changes, l.changed, l.closed
		l.mu.Unlock()
		switch {
		case closed:
			return 0
		case now != seen:
			return now
		}
		select {
		case <-next:
		case <-ctx.Done():
			return seen
		}
	}
}
