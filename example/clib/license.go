package main

import (
	"context"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/program"
)

// An opened license is what a handle stands for.
type opened struct {
	*program.License
	offline bool // without Options.URL
	idle    func()

	mu      sync.Mutex
	changes uint64        // of the status, and 1
	changed chan struct{} // closed with the next change
	closed  bool
	link    *program.Link // the newest
}

// licenses are those that are open, by handle. A handle is never used again.
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

// find returns the license of a handle; nil: it is not open.
func find(handle uint64) *opened {
	licenses.RLock()
	defer licenses.RUnlock()
	return licenses.open[handle]
}

// closeHandle closes a license. It reports whether it was open.
func closeHandle(handle uint64) bool {
	licenses.Lock()
	l := licenses.open[handle]
	delete(licenses.open, handle)
	licenses.Unlock()
	if l == nil {
		return false
	}
	l.change(true)
	_ = l.Close() // it returns nil
	if l.idle != nil {
		l.idle()
	}
	return true
}

func newOpened() *opened { return &opened{changes: 1, changed: make(chan struct{})} }

// change counts a change of the status, and wakes those who wait for it.
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

func (l *opened) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
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
