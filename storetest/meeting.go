package storetest

import (
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// window bounds the wait for an event that the store may prevent. It passes in
// steps, so that after a pause of the whole process the other goroutines still
// get to run.
const (
	window = 30 * time.Millisecond
	steps  = 10
)

// windowOr waits for done, at most until the window has passed.
func windowOr(done <-chan struct{}) {
	for range steps {
		select {
		case <-done:
			return
		case <-time.After(window / steps):
		}
	}
}

// A meeting creates an interleaving that a broken store allows and a correct one
// may prevent: goroutines wait for each other inside their Updates. In a store
// that serializes Updates the others cannot arrive, so the first goroutine to
// wait gives up after the window, and then the meeting is over for all. A correct
// store never fails because of it, however slow the machine is.
type meeting struct {
	all  chan struct{} // closed when all have arrived or the window has passed
	mu   sync.Mutex
	lack int
}

func newMeeting(n int) *meeting { return &meeting{all: make(chan struct{}), lack: n} }

// wait counts the caller in and waits for the others.
func (m *meeting) wait() {
	m.arrive()
	m.hold()
}

// hold waits for all to arrive, without counting the caller in.
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

// start calls fn on a new goroutine, and returns a channel that is closed when
// fn has ended. A panic is a failure.
func (b *bench) start(fn func()) (done <-chan struct{}) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			p := recover()
			if fault, ok := p.(interface{ Addr() uintptr }); ok { // memory that the store has mapped
				b.under(13).fail(fmt.Sprintf("%v at %#x", p, fault.Addr()), "memory that the caller owns", "access to what the store returned")
			} else if p != nil {
				b.fail(fmt.Sprintf("%v\n%s", p, debug.Stack()), "none", "panic")
			}
		}()
		debug.SetPanicOnFault(true) // for this goroutine; otherwise the process ends
		fn()
	}()
	return ended
}

// together calls fn with 0 to n-1, each on its own goroutine. No call begins
// before all goroutines have started. It returns when all calls have ended.
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
