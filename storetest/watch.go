package storetest

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// A watch writes what a case has found if closing its store takes too long.
// What a test reports is not printed before its cleanup has ended, and a store
// that has come to a deadlock often does not close.
type watch struct {
	name   string
	after  time.Duration
	out    io.Writer
	report []string
	timer  *time.Timer
}

// closing is what t.Cleanup has to run before it closes the store.
func (w *watch) closing() {
	w.timer = time.AfterFunc(w.after, func() {
		fmt.Fprintf(w.out, "storetest: %s: closing the store has not ended after %v. Found so far:\n%s\n",
			w.name, w.after, strings.Join(w.report, "\n"))
	})
}

// closed is what t.Cleanup has to run after it has closed the store.
func (w *watch) closed() {
	if w.timer != nil {
		w.timer.Stop()
	}
}
