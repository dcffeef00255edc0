package storetest

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// A watch prints the failures of a case if closing its store takes too long. The
// testing package prints them only after the cleanup has ended, and a deadlocked
// store often does not close.
type watch struct {
	name   string
	after  time.Duration
	out    io.Writer
	report []string
	timer  *time.Timer
}

// closing must run before t.Cleanup closes the store.
func (w *watch) closing() {
	w.timer = time.AfterFunc(w.after, func() {
		fmt.Fprintf(w.out, "storetest: %s: closing the store has not ended after %v. Found so far:\n%s\n",
			w.name, w.after, strings.Join(w.report, "\n"))
	})
}

// closed must run after t.Cleanup has closed the store.
func (w *watch) closed() {
	if w.timer != nil {
		w.timer.Stop()
	}
}
