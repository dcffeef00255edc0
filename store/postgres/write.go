package postgres

import (
	"context"
	"slices"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A write is what an Update does to a place.
type write struct {
	op    byte // of a row, as in a batch: 'u', 'k' or 'd'
	value any  // as in a row
	old   any  // if known
}

// set puts a value at a place, or nil.
func (a *attempt) set(p place, op byte, old, value any) {
	before, again := a.own[p]
	if again {
		old = before.old
		if op == 'u' && before.op != 'u' {
			op = 'k'
		}
	} else {
		a.order = append(a.order, p)
	}
	a.own[p] = write{op, value, old}
	a.log = append(a.log, func() {
		if again {
			a.own[p] = before
		} else {
			delete(a.own, p)
			a.order = a.order[:len(a.order)-1]
		}
	})
}

// put puts a value, or nil, in place of a row's old one. It returns ErrExists if
// another row has its unique key.
func (a *attempt) put(ctx context.Context, p place, old, value any) error {
	if !storable(valuesOf(value)...) {
		return errNotText
	}
	op, was, key := byte('u'), uniqueKey(old), uniqueKey(value)
	switch {
	case value == nil:
		op = 'd'
	case was != key:
		if err := a.free(ctx, key); err != nil {
			return err
		}
		a.set(key, 0, nil, p)
		if old != nil {
			op = 'k'
		}
	}
	if old != nil && was != key {
		a.set(was, 0, nil, nil)
	}
	a.set(p, op, old, value)
	return nil
}

// free returns ErrExists if there is a row at a place. Most probably there is none.
func (a *attempt) free(ctx context.Context, p place) error {
	v, err := a.row(ctx, p, true)
	if err == nil && v != nil {
		err = store.ErrExists
	}
	return err
}

// existing returns the row at a place, or ErrNotFound.
func (a *attempt) existing(ctx context.Context, p place) (any, error) {
	v, err := a.row(ctx, p, false)
	if err == nil && v == nil {
		err = store.ErrNotFound
	}
	return v, err
}

// replace is put for a row that exists. Otherwise it returns ErrNotFound.
func (a *attempt) replace(ctx context.Context, p place, value any) error {
	old, err := a.existing(ctx, p)
	if err != nil {
		return err
	}
	return a.put(ctx, p, old, value)
}

// together calls fn, and undoes what it has written if it fails.
func (a *attempt) together(ctx context.Context, fn func() error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.usable(ctx); err != nil {
		return err
	}
	a.log = nil
	err := fn()
	if err != nil {
		for _, undo := range slices.Backward(a.log) {
			undo()
		}
	}
	return err
}

// CreateLicenses implements [store.Writer], as do the methods below. What is most
// probably free is presumed to be.
func (a *attempt) CreateLicenses(ctx context.Context, all ...store.License) error {
	return a.together(ctx, func() error {
		var places []place
		for _, l := range all {
			places = append(places, place{licenseAt, l.ID, ""}, place{keyAt, l.Key, ""}, place{seatsAt, l.ID, ""})
		}
		if a.touched(func(p place, _ any) bool {
			return p.kind == activationAt && slices.Contains(places, place{seatsAt, p.a, ""})
		}) {
			if err := a.promote(ctx); err != nil { // which writes them, so that only others are left
				return about(err, "create licenses")
			}
		}
		if a.careful || a.conn != nil {
			if err := a.fetch(ctx, places...); err != nil {
				return about(err, "create licenses")
			}
		}
		for _, l := range all {
			p := place{licenseAt, l.ID, ""}
			err := a.free(ctx, p)
			if err == nil {
				err = a.free(ctx, place{seatsAt, l.ID, ""})
			}
			if err == nil {
				err = a.put(ctx, p, nil, clone(&l))
			}
			if err != nil {
				return about(err, "create license %s", l.ID)
			}
		}
		return nil
	})
}

func (a *attempt) UpdateLicense(ctx context.Context, l store.License) error {
	return about(a.together(ctx, func() error {
		return a.replace(ctx, place{licenseAt, l.ID, ""}, clone(&l))
	}), "update license %s", l.ID)
}

func (a *attempt) DeleteLicense(ctx context.Context, id string) error {
	return about(a.together(ctx, func() error {
		return a.replace(ctx, place{licenseAt, id, ""}, nil)
	}), "delete license %s", id)
}

func (a *attempt) PutActivations(ctx context.Context, all ...store.Activation) error {
	return about(a.together(ctx, func() error {
		for _, r := range all {
			if _, err := a.existing(ctx, place{licenseAt, r.LicenseID, ""}); err != nil {
				return err
			}
			p := place{activationAt, r.LicenseID, r.ID}
			old, err := a.row(ctx, p, true)
			if err != nil {
				return err
			}
			if err := a.put(ctx, p, old, clone(&r)); err != nil {
				return err
			}
		}
		return nil
	}), "put %d activations", len(all))
}

func (a *attempt) DeleteActivations(ctx context.Context, licenseID string, ids ...string) error {
	return about(a.together(ctx, func() error {
		for _, id := range ids {
			if err := a.replace(ctx, place{activationAt, licenseID, id}, nil); err != nil {
				return err
			}
		}
		return nil
	}), "delete activations of license %s", licenseID)
}

func (a *attempt) AppendEvents(ctx context.Context, events ...store.Event) error {
	return about(a.together(ctx, func() error {
		var kept []*store.Event
		for _, e := range events {
			if !storable(valuesOf(&e)...) {
				return errNotText
			}
			kept = append(kept, clone(&e).(*store.Event))
		}
		a.events = append(a.events, kept...)
		a.set(place{kind: feedAt}, 0, nil, nil)
		return nil
	}), "append %d events", len(events))
}

func (a *attempt) PutEntries(ctx context.Context, all ...store.Entry) error {
	return about(a.together(ctx, func() error {
		for _, e := range all {
			if err := e.Check(); err != nil {
				return err
			}
			if err := a.put(ctx, place{entryAt, e.Kind, e.Key}, nil, clone(&e)); err != nil {
				return err
			}
		}
		return nil
	}), "put entries")
}

func (a *attempt) DeleteEntries(ctx context.Context, kind string, keys ...string) error {
	return about(a.together(ctx, func() error {
		for _, key := range keys {
			if storable(kind, key) {
				a.set(place{entryAt, kind, key}, 'd', nil, nil)
			}
		}
		return nil
	}), "delete %s entries", kind)
}
