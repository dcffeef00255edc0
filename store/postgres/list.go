package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A list is a list that an Update has read.
type list struct {
	stmt    string // returns found again
	args    []any
	found   string // the keys and versions of its rows, in order
	place   place  // which it is a part of, for queues
	touches func(place, any) bool
}

// A listing is how an attempt reads lists of one type.
type listing[R any] struct {
	scan    func(*sql.Rows, ...any) (R, error)
	key     string // an expression of what tells the rows apart
	version string // an expression
	row     func(*R) (key string, value any)
}

var (
	licenseListing = listing[store.License]{scanLicense, "l.id", "l.version",
		func(l *store.License) (string, any) { return l.ID, l }}
	activationListing = listing[store.Activation]{scanActivation, "a.license_id || '/' || a.id", "a.version",
		func(r *store.Activation) (string, any) { return r.LicenseID + "/" + r.ID, r }}
	entryListing = listing[store.Entry]{scanEntry, "e.kind || '/' || e.key", "e.version",
		func(e *store.Entry) (string, any) { return e.Kind + "/" + e.Key, e }}
	// An event has no version: a hash of what ReplaceEvent may change takes its place.
	eventListing = listing[store.Event]{scanEvent, "e.seq::text || '/' || e.id",
		"('x' || substr(md5(e.customer_id || '/' || encode(e.data, 'hex')), 1, 16))::bit(64)::bigint",
		func(e *store.Event) (string, any) { return fmt.Sprint(e.Seq, "/", e.ID), nil }}
)

type versioned[R any] struct {
	row     R
	version int64
}

// read reads a list, which is a part of a place. touches matches the rows that it may
// have, before or after a write.
func (l listing[R]) read(ctx context.Context, a *attempt, s *selection, limit int, part place, touches func(place, any) bool) ([]R, error) {
	if err := a.ready(ctx); err != nil {
		return nil, err
	}
	if a.touched(touches) {
		if err := a.promote(ctx); err != nil {
			return nil, err
		}
	}
	s.limit(limit)
	columns := s.columns
	s.columns = columns + ", " + l.version
	a.statements++
	rows, err := all(ctx, a.session(), func(rows *sql.Rows, _ ...any) (v versioned[R], err error) {
		v.row, err = l.scan(rows, &v.version)
		return v, err
	}, s.text(), s.args...)
	if err != nil {
		return nil, a.fail(ctx, err)
	}
	found := make([]R, len(rows))
	for i, r := range rows {
		found[i] = r.row
	}
	if a.tx != nil || !storable(s.args...) { // it holds under the lock; by a text that cannot be stored there is none
		return found, nil
	}
	marks := make([]string, len(rows))
	for i, r := range rows {
		key, value := l.row(&r.row)
		marks[i] = fmt.Sprintf("%d:%s:%d", len(key), key, r.version)
		if value != nil {
			a.see(row{clone(value), r.version})
		}
	}
	s.columns = "octet_length(" + l.key + ") || ':' || " + l.key + " || ':' || " + l.version
	a.lists = append(a.lists, list{"SELECT array_to_string(ARRAY(" + s.text() + "), ',')", s.args, strings.Join(marks, ","), part, touches})
	return found, nil
}

// touched reports whether the attempt has written what touches matches.
func (a *attempt) touched(touches func(place, any) bool) bool {
	for p, w := range a.own {
		if touches(p, w.value) || touches(p, w.old) {
			return true
		}
	}
	return false
}

// Licenses implements [store.Reader], as do the methods below.
func (a *attempt) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, err := selectLicenses(q)
	if err != nil {
		return nil, about(errors.Join(a.ready(ctx), err), "licenses")
	}
	found, err := licenseListing.read(ctx, a, s, q.Limit, place{kind: licenseAt}, func(_ place, v any) bool {
		l, ok := v.(*store.License)
		return ok && (q.CustomerID == "" || q.CustomerID == l.CustomerID) && (q.ProductID == "" || q.ProductID == l.ProductID) &&
			(q.State == "" || q.State == l.State) && (q.IDs == nil || slices.Contains(q.IDs, l.ID))
	})
	return found, about(err, "licenses")
}

// Activations of a license that has none are one fact, which is cheaper to check than a
// list.
func (a *attempt) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, err := selectActivations(q)
	if err != nil {
		return nil, about(errors.Join(a.ready(ctx), err), "activations")
	}
	touches := func(p place, _ any) bool {
		return p.kind == activationAt && (q.LicenseID == "" || q.LicenseID == p.a)
	}
	none := place{seatsAt, q.LicenseID, ""}
	if v, ok := a.known(none, true); ok && v == nil && a.tx == nil && !a.touched(touches) {
		return []store.Activation{}, about(a.ready(ctx), "activations of license %s", q.LicenseID)
	}
	found, err := activationListing.read(ctx, a, s, q.Limit, none, touches)
	whole := q.LicenseID != "" && q.LiveAt.IsZero() && q.LeaseEnds.IsZero() && q.After == ""
	if err == nil && a.tx == nil && len(found) == 0 && whole && storable(q.LicenseID) {
		a.lists = a.lists[:len(a.lists)-1]
		a.facts[none] = row{}
	}
	return found, about(err, "activations of license %s", q.LicenseID)
}

func (a *attempt) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, err := selectEntries(q)
	if err != nil {
		return nil, about(errors.Join(a.ready(ctx), err), "%s entries", q.Kind)
	}
	found, err := entryListing.read(ctx, a, s, q.Limit, place{kindAt, q.Kind, ""}, func(p place, _ any) bool {
		return p.kind == entryAt && (q.Kind == "" || q.Kind == p.a && p.b >= q.From && (q.Before == "" || p.b < q.Before) &&
			(q.Keys == nil || slices.Contains(q.Keys, p.b)))
	})
	return found, about(err, "%s entries", q.Kind)
}

func (a *attempt) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	found, err := eventListing.read(ctx, a, selectEvents(q), q.Limit, place{kind: feedAt}, func(p place, _ any) bool { return p.kind == feedAt })
	return found, about(err, "events")
}

// FindLicenses and the methods below read under the lock.
func (a *attempt) FindLicenses(ctx context.Context, q store.LicenseQuery) (found []store.License, next string, err error) {
	found, err = underLock(ctx, a, func(r reader) (found []store.License, err error) {
		found, next, err = r.FindLicenses(ctx, q)
		return found, err
	})
	return found, next, err
}

func (a *attempt) CountLicenses(ctx context.Context, q store.LicenseQuery, edges ...store.Position) ([]int64, error) {
	return underLock(ctx, a, func(r reader) ([]int64, error) { return r.CountLicenses(ctx, q, edges...) })
}

func (a *attempt) LicenseNames(ctx context.Context, q store.NamesQuery) ([]store.NameCount, error) {
	return underLock(ctx, a, func(r reader) ([]store.NameCount, error) { return r.LicenseNames(ctx, q) })
}

// underLock calls read with a reader under the lock, whose reads are not recorded.
func underLock[R any](ctx context.Context, a *attempt, read func(reader) (R, error)) (r R, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err = a.ready(ctx); err == nil {
		err = a.promote(ctx)
	}
	if err != nil {
		return r, about(err, "read under the lock")
	}
	r, err = read(reader{a.tx})
	a.err = a.tx.err
	return r, err
}
