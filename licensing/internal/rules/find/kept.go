package find

import (
	"context"
	"maps"
	"sync"
	"time"
)

// A Kept is what outlives a call: whose turn it is to search and to count, and counts.
// It keeps these for up to keepFactor times as long as counting took, so that pages
// which many operators load do not count again each time. A change of a license by
// this process drops them, except the held ones; see heldFor.
type Kept struct {
	searching         slot // one search at a time
	counting, reading slot // one count by an index, and one by reading, at a time

	mu      sync.Mutex // guards the fields below
	changes int        // calls of Drop
	counts  map[string]keptCount
}

type keptCount struct {
	value any           // not changed after it was counted
	at    time.Time     // as the service tells the time
	until time.Time     // as the process does
	long  time.Duration // how long it is kept
	held  bool          // a change does not drop it
}

const (
	keepFactor = 60  // more than a page has counts
	maxKept    = 100 // counts

	// A count with a method held that returns true is made once for all changes of heldFor.
	heldFor = time.Minute
)

// NewKept returns a Kept for all calls on a store.
func NewKept() *Kept {
	return &Kept{searching: make(slot, 1), counting: make(slot, 1), reading: make(slot, 1), counts: map[string]keptCount{}}
}

// Drop drops all counts, also the ones in progress, except the held ones.
func (c *Kept) Drop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	maps.DeleteFunc(c.counts, func(_ string, k keptCount) bool { return !k.held })
}

// get returns a count that is kept for an instant, and the number of drops so far.
func (c *Kept) get(key string, now time.Time) (value any, changes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.counts[key]
	if age := now.Sub(k.at); ok && time.Now().Before(k.until) && age >= 0 && age <= k.long {
		value = k.value
	}
	return value, c.changes
}

func (c *Kept) put(key string, k keptCount, changes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes != changes && !k.held {
		return
	}
	if len(c.counts) >= maxKept {
		clear(c.counts)
	}
	c.counts[key] = k
}

// kept returns what count returns, or has returned a short time ago. The key says
// what is counted and for which caller. Calls with the same slot count one after another. The
// caller does not change the value.
func kept[T any](ctx context.Context, s Service, key string, alone slot, count func() (T, error)) (value T, err error) {
	if s.Tx != nil {
		return count()
	}
	if found, _ := s.Kept.get(key, s.Now()); found != nil {
		return found.(T), nil
	}
	release, err := s.take(ctx, alone)
	if err != nil {
		return value, err
	}
	defer release()
	now, began := s.Now(), time.Now()
	found, changes := s.Kept.get(key, now)
	if found != nil { // another call has counted
		return found.(T), nil
	}
	if value, err = count(); err == nil {
		k := keptCount{value: value, at: now, long: keepFactor * time.Since(began)}
		if large, is := any(value).(interface{ held() bool }); is && large.held() {
			k.held, k.long = true, heldFor
		}
		k.until = time.Now().Add(k.long)
		s.Kept.put(key, k, changes)
	}
	return value, err
}
