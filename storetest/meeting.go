package storetest

import (
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// window is how long something is waited for that may never come, because
// the store does not let it. It passes in steps, so that a process that was
// held up, timers and all, still gives its other goroutines their chance.
const (
	window = 30 * time.Millisecond
	steps  = 10
)

// windowOr waits for done until the window has passed.
func windowOr(done <-chan struct{}) {
	for range steps {
		select {
		case <-done:
			return
		case <-time.After(window / steps):
		}
	}
}

// A meeting brings about an interleaving that a broken store allows and an
// honest one may not: inside their Updates, goroutines wait for one another.
// Where Updates take turns, the others cannot come; so the first to wait
// gives up after the window, and from then on nobody waits. No honest store
// fails for it, however slow the machine.
type meeting struct {
	all  chan struct{} // closed when all have come or the window has passed
	mu   sync.Mutex
	lack int
}

func newMeeting(n int) *meeting { return &meeting{all: make(chan struct{}), lack: n} }

// wait counts the caller in and waits for the others.
func (m *meeting) wait() {
	m.arrive()
	m.hold()
}

// hold waits for all to have come, without counting the caller in.
func (m *meeting) hold() {
	windowOr(m.all)
	m.over()
}

// arrive counts the caller in without waiting.
func (m *meeting) arrive() {
	m.mu.Lock()
	m.lack--
	all := m.lack == 0
	m.mu.Unlock()
	if all {
		m.over()
	}
}

// over ends the meeting.
func (m *meeting) over() {
	m.mu.Lock()
	defer m.mu.Unlock()
	select {
	case <-m.all:
	default:
		close(m.all)
	}
}

// start calls fn on a goroutine of its own, and returns a channel that is
// closed when fn has ended. A panic is a failure.
func (b *bench) start(fn func()) (done <-chan struct{}) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			p := recover()
			if fault, ok := p.(interface{ Addr() uintptr }); ok { // a slice of memory that the store has mapped
				b.under(13).fail(fmt.Sprintf("%v at %#x", p, fault.Addr()), "memory that the caller owns", "access to what the store returned")
			} else if p != nil {
				b.fail(fmt.Sprintf("%v\n%s", p, debug.Stack()), "none", "panic")
			}
		}()
		debug.SetPanicOnFault(true) // of this goroutine; otherwise the process ends
		fn()
	}()
	return ended
}

// together calls fn with 0 to n-1, each on a goroutine of its own and none
// before all are there, and returns when all have ended.
func (b *bench) together(n int, fn func(i int)) {
	var ready sync.WaitGroup
	ready.Add(n)
	var all []<-chan struct{}
	for i := range n {
		all = append(all, b.start(func() {
			ready.Done()
			ready.Wait()
			fn(i)
		}))
	}
	for _, done := range all {
		<-done
	}
}
