package program

import (
	"errors"
	"fmt"
	"log"
	"runtime/debug"
	"sync"
)

// errEnded is the fault of a function that called runtime.Goexit.
var errEnded = errors.New("a function ended its goroutine")

// contain calls f in a goroutine of its own, which f may end, and returns an error if f
// panicked or did that. The panic is logged with its stack: it must not end the process,
// which is the vendor's.
func contain(f func()) error {
	fault := errEnded
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() {
			if v := recover(); v != nil {
				log.Printf("license: panic: %v\n%s", v, debug.Stack())
				fault = fmt.Errorf("panic: %v", v)
			}
		}()
		f()
		fault = nil
	})
	wg.Wait()
	return fault
}

// locked calls f with l.mu, which is free again even if f panics.
func (l *License) locked(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f()
}

// guard calls a part of the loop, and reports whether it came to its end. If not, the
// program keeps its last answer, with a warning until the next check has been made.
func (l *License) guard(part func()) bool {
	fault := contain(part)
	if fault == nil {
		return true
	}
	_ = contain(func() { // judge may be what panics
		l.locked(func() {
			l.fault = fault
			l.judge()
		})
	})
	return false
}
