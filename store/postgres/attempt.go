package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// An attempt is one run of the function of an Update, and its [store.Tx]. It reads
// without a lock, records what it has read, and keeps what it writes. It is valid if
// all that it has read is unchanged when it is written: then it is as if the whole
// function had run there.
//
// What it cannot do so, it does under the lock: see promote.
type attempt struct {
	handle
	reader
	s       *Store
	version int64   // of the rows that it writes, and its name in a batch
	careful bool    // it reads instead of presuming that there is no row
	entered []place // the queues that it has entered

	succeeded bool // the function returned nil

	met        []place // where it has met other Updates
	statements int     // that read
	presumed   map[place]bool

	own    map[place]write
	order  []place // of own; none: there is nothing to write
	events []*store.Event
	log    []func() // undo what the current call has written

	facts map[place]row // what the function knows: these are checked
	seen  map[place]row // what else was read
	lists []listed

	// Set when it is promoted.
	conn  *sql.Conn // holds the lock
	begun time.Time
	id    int64 // of its batch
	wrote bool

	// Set when it joins a batch.
	batch  *batch
	writes map[place]write
	sets   map[byte][]byte // encoded
	size   int
	result error // of its batch
}

// random returns a number that names one write, forever. Nothing that a failover or a
// restored backup sets back is part of it.
func random() int64 { return 1 + rand.Int64N(math.MaxInt64-1) }

func (s *Store) attempt(entered []place, careful bool) *attempt {
	a := &attempt{s: s, version: random(), entered: entered, careful: careful, presumed: map[place]bool{}}
	a.reader = reader{a}
	a.forget()
	return a
}

// forget begins with nothing read or written.
func (a *attempt) forget() {
	a.own, a.order, a.events, a.log = map[place]write{}, nil, nil, nil
	a.facts, a.seen, a.lists = map[place]row{}, map[place]row{}, nil
}

// An inside is the database for the methods of an attempt, which hold its mutex: under
// the lock if the attempt has it, and otherwise on any connection, of which Updates use
// few.
type inside struct{ *attempt }

func (d inside) query(ctx context.Context, stmt string, args []any, each func(*sql.Rows) error) error {
	if d.conn != nil { // a driver closes the connection when the context of a statement ends
		return ask(context.WithoutCancel(ctx), func(ctx context.Context) error { return fetch(ctx, d.conn, d.s.schema.in(stmt), args, each) })
	}
	select {
	case d.s.reads <- struct{}{}:
		defer func() { <-d.s.reads }()
	case <-ctx.Done():
		return ctx.Err()
	}
	return d.s.query(ctx, stmt, args, each)
}

func (d inside) ready(ctx context.Context) error { return d.usable(ctx) }

// fail records why a call failed, unless only the context of the call has ended.
func (a *attempt) fail(ctx context.Context, err error) error {
	if err != nil && (ctx.Err() == nil || a.conn != nil) {
		a.err = err
	}
	return err
}

// stale makes the attempt run again.
func (a *attempt) stale(met ...place) error {
	a.met = append(a.met, met...)
	a.err = fmt.Errorf("%w: another update has changed what this one has read", errGaveWay)
	return a.err
}

// known returns what is known of a place. If told is set, the function learns it.
func (a *attempt) known(p place, told bool) (any, bool) {
	if w, ok := a.own[p]; ok {
		return w.value, true
	}
	if r, ok := a.facts[p]; ok {
		return r.value, true
	}
	r, ok := a.seen[p]
	if _, key := r.value.(place); ok && told && !key { // of a key, the row that has it is the fact
		a.facts[p] = r
	}
	return r.value, ok
}

// row returns the row at a place, or nil. If presume is set, there is most probably
// none.
func (a *attempt) row(ctx context.Context, p place, presume bool) (any, error) {
	if err := a.usable(ctx); err != nil {
		return nil, err
	}
	v, ok := a.known(p, true)
	if !ok && storable(p.a, p.b) {
		if presume && !a.careful && a.conn == nil {
			a.facts[p], a.presumed[p] = row{}, true
			return nil, nil
		}
		if err := a.fetch(ctx, p); err != nil {
			return nil, err
		}
		v, _ = a.known(p, true)
	}
	at, key := v.(place)
	if !key {
		return v, nil
	}
	v, err := a.row(ctx, at, false)
	if err == nil && !slices.Contains(keysOf(v), p) {
		return nil, a.stale(at)
	}
	return v, err
}

// get implements [session].
func (a *attempt) get(ctx context.Context, p place) (any, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	v, err := a.row(ctx, p, false)
	return clone(v), err
}

// clone returns a copy of a row's value, as the store returns it.
func clone(value any) any {
	millis := func(t time.Time) time.Time { return t.Truncate(time.Millisecond).UTC() }
	document := func(d []byte) []byte { return append([]byte{}, d...) } // never NULL
	switch v := value.(type) {
	case *store.License:
		c := *v
		c.StartsAt, c.ExpiresAt, c.Document = millis(c.StartsAt), millis(c.ExpiresAt), document(c.Document)
		return &c
	case *store.Activation:
		c := *v
		c.LeaseEndsAt, c.EndedAt, c.Document = millis(c.LeaseEndsAt), millis(c.EndedAt), document(c.Document)
		return &c
	case *store.Entry:
		c := *v
		c.ExpiresAt, c.CreatedAt, c.Data = millis(c.ExpiresAt), millis(c.CreatedAt), document(c.Data)
		return &c
	case *store.Event:
		c := *v
		c.Data = document(c.Data)
		return &c
	}
	return nil
}
