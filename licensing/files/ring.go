package files

import (
	"cmp"
	"context"
	"crypto"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A ring is all signing keys, oldest first. A key can condemn only those before
// it, so the order never changes.
type ring []record

// loadRing reads all keys.
func loadRing(ctx context.Context, r store.Reader) (ring, error) {
	entries, err := r.Entries(ctx, store.EntryQuery{Kind: kind, Limit: store.MaxLimit})
	if err != nil {
		return nil, fmt.Errorf("signing keys: %w", err)
	}
	all := make(ring, len(entries))
	for i, e := range entries {
		if all[i], err = readRecord(e); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b record) int { return cmp.Compare(a.Number, b.Number) })
	return all, nil
}

// find returns the first key of a state; nil: none.
func (r ring) find(state KeyState) *record {
	i := slices.IndexFunc(r, func(rec record) bool { return rec.State == state })
	if i < 0 {
		return nil
	}
	return &r[i]
}

// byID returns the key with an ID; nil: none.
func (r ring) byID(id string) *record {
	i := slices.IndexFunc(r, func(rec record) bool { return rec.ID == id })
	if i < 0 {
		return nil
	}
	return &r[i]
}

// lastNumber returns the number of the newest key.
func (r ring) lastNumber() int64 {
	if len(r) == 0 {
		return 0
	}
	return r[len(r)-1].Number
}

// An edit is a change of the ring in one Update.
type edit struct {
	s    *Service
	tx   store.Tx
	now  time.Time
	ring ring

	changed *bool // whether a key was stored
}

// edit runs fn in an Update with the current ring, which has an active key.
func (s *Service) edit(ctx context.Context, fn func(e *edit) error) error {
	changed := false
	defer func() {
		if changed {
			s.cache.flush()
		}
	}()
	return s.st.Update(ctx, func(tx store.Tx) error {
		all, err := loadRing(ctx, tx)
		if err != nil {
			return err
		}
		e := &edit{s: s, tx: tx, now: s.now(), ring: all, changed: &changed}
		if err := e.addHostKeys(ctx); err != nil {
			return err
		}
		if e.ring.find(KeyActive) == nil {
			if err := e.activateFirst(ctx); err != nil {
				return err
			}
		}
		return fn(e)
	})
}

// current returns the ring. On the first call for a store, it creates the keys;
// keys of the host that are new join the ring.
func (s *Service) current(ctx context.Context) (ring, error) {
	all, err := loadRing(ctx, s.st)
	if err != nil || s.complete(all) {
		return all, err
	}
	err = s.edit(ctx, func(e *edit) error {
		err := e.addNext(ctx, "")
		all = e.ring
		return err
	})
	return all, err
}

// complete reports whether there is nothing to add to a ring.
func (s *Service) complete(all ring) bool {
	for id := range s.host {
		if all.byID(id) == nil {
			return false
		}
	}
	active := all.find(KeyActive)
	return active != nil && (all.find(KeyNext) != nil || !active.stored())
}

// addHostKeys adds the keys of the host that the ring does not have,
// in their order.
func (e *edit) addHostKeys(ctx context.Context) error {
	for _, k := range e.s.hostKeys {
		id, err := licensefile.KeyID(k.Signer.Public())
		if err != nil {
			return err
		}
		if e.ring.byID(id) == nil {
			if _, err := e.add(ctx, k.Signer.Public(), nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// activateFirst activates a key in a ring without an active one: the first key
// of the host, or one that it generates.
func (e *edit) activateFirst(ctx context.Context) error {
	next := e.ring.find(KeyNext)
	if next == nil {
		rec, err := e.generate(ctx, "")
		if err != nil {
			return err
		}
		next = e.ring.byID(rec.ID)
	}
	return e.set(ctx, next, KeyActive)
}

// addNext generates a key if the ring has no next one, unless the active key is
// one of the host: its successor is then one of the host too.
func (e *edit) addNext(ctx context.Context, algorithm string) error {
	if e.ring.find(KeyNext) != nil || !e.ring.find(KeyActive).stored() {
		return nil
	}
	_, err := e.generate(ctx, algorithm)
	return err
}

func (e *edit) generate(ctx context.Context, algorithm string) (record, error) {
	private, err := generate(algorithm)
	if err != nil {
		return record{}, err
	}
	return e.add(ctx, private.Public(), private)
}

// add adds a key at the end of the ring, as a next one. Without a private half,
// that is kept elsewhere.
func (e *edit) add(ctx context.Context, public crypto.PublicKey, private crypto.Signer) (record, error) {
	rec, err := newRecord(public, e.ring.lastNumber()+1, e.now)
	if err != nil {
		return record{}, err
	}
	if e.ring.byID(rec.ID) != nil {
		return record{}, fmt.Errorf("%w: %s", ErrKeyExists, rec.ID)
	}
	if private != nil {
		if err := e.s.setPrivate(&rec, private); err != nil {
			return record{}, err
		}
	}
	e.ring = append(e.ring, rec)
	if err := e.put(ctx, rec); err != nil {
		return record{}, err
	}
	return rec, e.event(ctx, api.EventSigningKeyCreated, rec, "")
}

// set moves a key of the ring to a state.
func (e *edit) set(ctx context.Context, rec *record, state KeyState) error {
	rec.State, rec.StateAt = state, e.now
	return e.put(ctx, *rec)
}

func (e *edit) put(ctx context.Context, rec record) error {
	entry, err := rec.entry()
	if err != nil {
		return err
	}
	*e.changed = true
	return e.tx.PutEntries(ctx, entry)
}
