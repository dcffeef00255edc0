package program

import (
	"context"
	"crypto/rand"
)

// processPart returns the end of the fingerprint of a process with a seat of its own.
func processPart() string { return "-" + rand.Text() }

// isShared reports whether the processes that use Options.Dir share a file there. With
// PerProcess, they do not share what is known of a seat.
func (l *License) isShared(name string) bool {
	switch name {
	case licenseName, denialName, displayName, dueName, listName:
		return !l.opts.PerProcess
	}
	return true
}

// leave releases the seat of this process. If the service does not answer, the seat is free
// when its lease ends, and this process does not use it until then.
func (l *License) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	if err := l.Release(ctx); err != nil {
		l.mu.Lock()
		l.forget()
		l.mu.Unlock()
	}
}
