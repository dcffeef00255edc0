package sqlite

import (
	"context"
	"runtime"
	"slices"
)

// lock waits for the write lock, at most until ctx ends: behind the updates that wait,
// or before them.
func (w *writer) lock(ctx context.Context, before bool) error {
	w.mu.Lock()
	if !w.locked {
		w.locked = true
		w.mu.Unlock()
		return nil
	}
	granted := make(chan struct{})
	if before {
		w.queue = slices.Insert(w.queue, 0, granted)
	} else {
		w.queue = append(w.queue, granted)
	}
	w.mu.Unlock()

	select {
	case <-granted:
		return nil
	case <-ctx.Done():
	}
	w.mu.Lock()
	i := slices.Index(w.queue, granted)
	if i >= 0 {
		w.queue = slices.Delete(w.queue, i, i+1)
	}
	w.mu.Unlock()
	if i < 0 { // the lock was granted at the same moment: pass it on
		w.unlock()
	}
	return ctx.Err()
}

// unlock passes the write lock to the next update. If there is none, or the group
// accepts no more members, it commits first.
func (w *writer) unlock() {
	for {
		w.mu.Lock()
		switch {
		case len(w.queue) > 0 && !w.group.full(w):
			next := w.queue[0]
			w.queue = slices.Delete(w.queue, 0, 1)
			w.mu.Unlock()
			close(next)
			return
		case w.group == nil:
			w.locked = false
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		if w.expectsMore() {
			w.group.yielded = true
			runtime.Gosched()
			continue
		}
		w.commit()
	}
}

// expectsMore reports whether to let other goroutines run before the group
// commits. If several updates follow each other, those of the previous group have
// returned meanwhile, and their callers are about to update again.
func (w *writer) expectsMore() bool {
	return (w.shared || w.group.members > 1) && !w.group.yielded && !w.group.full(w)
}
