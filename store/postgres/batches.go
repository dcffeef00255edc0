package postgres

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// batchSize and batchBytes are the most Updates and bytes that are written together.
	// A larger Update is a batch of its own.
	batchSize  = 100
	batchBytes = 256 << 10

	// besideWait is how long a batch waits before it is sent beside another one. Without a
	// network between, the other is written by then, and this one has collected more.
	besideWait = time.Millisecond
)

// batches collects the Updates of this process: Updates that end while others are written
// are written together. What an Update reads or writes, no other has written that is not
// yet written. Updates that meet at a place run one after another.
//
// Queues decide nothing: an Update that does not wait in them only risks that it runs
// again.
type batches struct {
	sent   chan struct{} // holds a value while a batch is being sent
	beside chan struct{} // while another is, which waits for the lock

	mu      sync.Mutex
	open    *batch                    // accepts Updates
	pending map[place]*pending        // what Updates write that is not written yet
	queues  map[place][]chan struct{} // one for each Update that has met others there, closed when it may run
}

// A batch is the Updates that one call writes.
type batch struct {
	members []*attempt
	size    int
	done    chan struct{} // closed when each member has its result
}

// A pending is what an Update in a batch writes at a place.
type pending struct {
	write
	batch *batch
}

func newBatches() batches {
	return batches{sent: make(chan struct{}, 1), beside: make(chan struct{}, 1), pending: map[place]*pending{}, queues: map[place][]chan struct{}{}}
}

// enter waits in the queues of the places where an Update has met others, and for the
// batches that write there. The places are in order, so that no two Updates wait for each
// other. The Update calls leave when it has ended or runs again.
func (g *batches) enter(ctx context.Context, met []place) (leave func(), err error) {
	patience, cancel := context.WithTimeout(ctx, idleWait) // a function may take long
	defer cancel()
	wait := func(until chan struct{}) {
		select {
		case <-until:
		case <-patience.Done():
		}
	}
	turns := map[place]chan struct{}{}
	for _, p := range met {
		turn := make(chan struct{})
		turns[p] = turn
		g.mu.Lock()
		g.queues[p] = append(g.queues[p], turn)
		if len(g.queues[p]) == 1 {
			close(turn)
		}
		w := g.pending[p]
		g.mu.Unlock()
		wait(turn)
		if w != nil {
			wait(w.batch.done)
		}
	}
	if err = ctx.Err(); err != nil {
		g.leave(turns)
	}
	return func() { g.leave(turns) }, err
}

// leave ends the turns of an Update, and begins those of the next ones.
func (g *batches) leave(turns map[place]chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for p, turn := range turns {
		i := slices.Index(g.queues[p], turn)
		q := slices.Delete(g.queues[p], i, i+1)
		g.queues[p] = q
		switch {
		case len(q) == 0:
			delete(g.queues, p)
		case i == 0:
			close(q[0])
		}
	}
}

// queued returns those of the places at which Updates wait, unless the attempt has
// waited there.
func (g *batches) queued(a *attempt, places []place) []place {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(places), func(p place) bool { return g.queues[p] == nil || slices.Contains(a.entered, p) })
}

// meets returns where an attempt meets Updates that are not written yet, or that have
// met there and wait.
func (g *batches) meets(a *attempt) (met []place) {
	for p := range a.facts {
		if g.pending[p] != nil {
			met = append(met, p)
		}
	}
	for _, l := range a.lists {
		for p, w := range g.pending {
			if l.touches(p, w.value) || l.touches(p, w.old) {
				met = append(met, l.part)
				break
			}
		}
	}
	for p := range a.writes {
		switch {
		case p.kind == feedAt: // appending needs no turn
		case p.kind == entryAt && g.pending[p] != nil, g.queues[p] != nil && !slices.Contains(a.entered, p):
			met = append(met, p)
		}
	}
	return met
}

// join adds an attempt to the open batch, or to one of its own, unless it meets others. It
// reports whether the attempt is the first one and so leads the batch.
func (g *batches) join(a *attempt) (leads bool) {
	a.writes = a.places()
	alone := a.size > batchBytes
	g.mu.Lock()
	defer g.mu.Unlock()
	for {
		if a.met = g.meets(a); a.met != nil {
			return false
		}
		b := g.open
		if alone || b == nil || len(b.members) < batchSize && b.size+a.size <= batchBytes {
			break
		}
		g.mu.Unlock()
		<-b.done
		g.mu.Lock()
	}
	if a.batch = g.open; alone || a.batch == nil {
		a.batch, leads = &batch{done: make(chan struct{})}, true
	}
	if !alone {
		g.open = a.batch
	}
	a.batch.members = append(a.batch.members, a)
	a.batch.size += a.size
	for p, w := range a.writes {
		g.pending[p] = &pending{w, a.batch}
	}
	return leads
}

// lane waits until a batch may be sent, and returns what to receive from after that. A
// batch that is one large Update is not sent beside another, so that others wait for one.
func (g *batches) lane(alone bool) chan struct{} {
	var beside chan struct{} // not yet
	wait := time.After(besideWait)
	if alone {
		wait = nil // never
	}
	for ; ; beside = g.beside {
		select {
		case g.sent <- struct{}{}:
			return g.sent
		case beside <- struct{}{}:
			return beside
		case <-wait:
		}
	}
}

// lead writes a batch when there is a lane.
func (s *Store) lead(b *batch) {
	g := &s.batches
	lane := g.lane(b.size > batchBytes)
	g.mu.Lock()
	if b == g.open {
		g.open = nil
	}
	g.mu.Unlock()

	s.write(b.members, func() { <-lane })

	g.mu.Lock()
	for _, a := range b.members {
		for p := range a.writes {
			if w := g.pending[p]; w != nil && w.batch == b {
				delete(g.pending, p)
			}
		}
	}
	g.mu.Unlock()
	close(b.done)
}

// places returns where the attempt writes: rows, unique keys, and the parts of tables
// that lists read.
func (a *attempt) places() map[place]write {
	all := maps.Clone(a.own)
	for p := range a.own {
		switch p.kind {
		case activationAt:
			all[place{seatsAt, p.a, ""}] = write{}
		case entryAt:
			all[place{kindAt, p.a, ""}] = write{}
		}
	}
	return all
}
