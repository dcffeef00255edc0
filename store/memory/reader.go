package memory

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A reader reads one state. The Store reads through one as well, each time
// from what is committed.
type reader struct {
	// state returns the state to read, or the reason why there is none:
	// the context has ended, the function has returned, the store is closed.
	state func(context.Context) (*state, error)
}

// one returns a copy of a row, or ErrNotFound with what was looked for.
func one[R any](row *R, clone func(*R) *R, format string, args ...any) (R, error) {
	if row == nil {
		var none R
		return none, fmt.Errorf("memory: "+format+": %w", append(args, store.ErrNotFound)...)
	}
	return *clone(row), nil
}

// list returns copies of the first rows that match, at most limit of them.
func list[R any](rows iter.Seq[*R], match func(*R) bool, clone func(*R) *R, limit int) []R {
	var found []R
	for row := range rows {
		if !match(row) {
			continue
		}
		found = append(found, *clone(row))
		if len(found) == store.Limit(limit) {
			break
		}
	}
	return found
}

// matches reports whether want is unset or equal to got.
func matches[S ~string](want, got S) bool { return want == "" || want == got }

// License looks in the tree of IDs.
func (r reader) License(ctx context.Context, id string) (store.License, error) {
	s, err := r.state(ctx)
	if err != nil {
		return store.License{}, err
	}
	return one(s.licenses.get(place{id: id}), copyLicense, "license %s", id)
}

// LicenseByKey looks in the tree of keys.
func (r reader) LicenseByKey(ctx context.Context, key string) (store.License, error) {
	s, err := r.state(ctx)
	if err != nil {
		return store.License{}, err
	}
	return one(s.licensesByKey.get(place{id: key}), copyLicense, "license by key") // a key is a credential
}

// Licenses walks the tree of the order asked for, from After on, and leaves
// out what does not match.
func (r reader) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	s, err := r.state(ctx)
	if err == nil {
		err = q.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	table, after := s.licenses, place{id: q.After.ID}
	switch q.Order {
	case store.ByExpiresAt:
		table, after = s.licensesByExpiry, at("", q.After.Time, q.After.ID)
	case store.ByStartsAt:
		table, after = s.licensesByStart, at("", q.After.Time, q.After.ID)
	}
	if q.After.IsZero() || q.Order == store.ByID && q.After.ID == "" {
		after = end("", q.Descending)
	}
	rows := table.beyond(after, q.Descending)
	if q.IDs != nil {
		rows = s.licensesOf(q, after)
	}
	return list(rows, func(l *store.License) bool {
		return matches(q.CustomerID, l.CustomerID) && matches(q.ProductID, l.ProductID) && matches(q.State, l.State) &&
			q.Starts.Contains(l.StartsAt) && q.Expires.Contains(l.ExpiresAt)
	}, copyLicense, q.Limit), nil
}

// licensesOf looks for the IDs of q, in the order of ID.
func (s *state) licensesOf(q store.LicenseQuery, after place) iter.Seq[*store.License] {
	ids := slices.Compact(slices.Sorted(slices.Values(q.IDs)))
	if q.Descending {
		slices.Reverse(ids)
	}
	return func(yield func(*store.License) bool) {
		for _, id := range ids {
			c := place{id: id}.compare(after)
			if l := s.licenses.get(place{id: id}); l != nil && (c > 0) != q.Descending && c != 0 && !yield(l) {
				return
			}
		}
	}
}

// Activation looks in the tree of fingerprints.
func (r reader) Activation(ctx context.Context, licenseID, fingerprint string) (store.Activation, error) {
	s, err := r.state(ctx)
	if err != nil {
		return store.Activation{}, err
	}
	row := s.byFingerprint.get(place{group: licenseID, id: fingerprint})
	return one(row, copyActivation, "activation of license %s by %q", licenseID, fingerprint)
}

// Activations walks the license's part of the tree of activations, or of leases.
func (r reader) Activations(ctx context.Context, q store.ActivationQuery) ([]store.Activation, error) {
	s, err := r.state(ctx)
	if err != nil {
		return nil, err
	}
	after := end(q.LicenseID, false)
	if q.After != "" {
		after = place{group: q.LicenseID, id: q.After}
	}
	rows := s.activations.beyond(after, false)
	if !q.LeaseEnds.IsZero() {
		rows = s.leases(q)
	}
	return list(rows, live(q), copyActivation, q.Limit), nil
}

// leases walks the part of the tree of leases that holds the LeaseEnds of q.
func (s *state) leases(q store.ActivationQuery) iter.Seq[*store.Activation] {
	after := end(q.LicenseID, false)
	switch {
	case q.LeaseEnds.OrNone:
	case q.LeaseEnds.From.IsZero():
		after = at(q.LicenseID, time.Time{}, "\xff") // after those without a lease
	default:
		after = at(q.LicenseID, q.LeaseEnds.From.Add(-time.Millisecond), "")
	}
	return func(yield func(*store.Activation) bool) {
		for a := range s.byLease.beyond(after, false) {
			if !q.LeaseEnds.Before.IsZero() && !a.LeaseEndsAt.Before(q.LeaseEnds.Before) || !yield(a) {
				return
			}
		}
	}
}

// Events walks the feed from After on.
func (r reader) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	s, err := r.state(ctx)
	if err != nil {
		return nil, err
	}
	after := place{at: q.After}
	if q.After == 0 {
		after = end("", q.Descending)
	}
	return list(s.events.beyond(after, q.Descending), func(e *store.Event) bool {
		return matches(q.Subject, e.Subject) && matches(q.CustomerID, e.CustomerID) && matches(q.ProductID, e.ProductID)
	}, copyEvent, q.Limit), nil
}

// Entry looks in the tree of kinds and keys.
func (r reader) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	s, err := r.state(ctx)
	if err != nil {
		return store.Entry{}, err
	}
	return one(s.entries.get(place{group: kind, id: key}), copyEntry, "%s entry", kind) // a key may be a credential
}

// Entries walks the kind's part of the tree of keys or of that of expiries, from
// After on.
func (r reader) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	s, err := r.state(ctx)
	if err == nil {
		err = q.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	rows, match := s.entriesByKey(q), func(*store.Entry) bool { return true }
	switch {
	case q.Kind == "":
		rows = s.entries.rest(place{group: q.AfterKind, id: q.After.ID})
	case q.Order == store.ByExpiry:
		after := end(q.Kind, false)
		if !q.After.IsZero() {
			after = at(q.Kind, q.After.Time, q.After.ID)
		}
		rows = s.entriesByExpiry.beyond(after, false)
		match = func(e *store.Entry) bool { return matches(q.Owner, e.Owner) && q.Expires.Contains(e.ExpiresAt) }
	}
	return list(rows, match, copyEntry, q.Limit), nil
}

// entriesByKey walks the tree of keys between the bounds of q, or looks for its
// keys.
func (s *state) entriesByKey(q store.EntryQuery) iter.Seq[*store.Entry] {
	if q.Keys != nil {
		keys := slices.Compact(slices.Sorted(slices.Values(q.Keys)))
		if q.Descending {
			slices.Reverse(keys)
		}
		return func(yield func(*store.Entry) bool) {
			for _, key := range keys {
				if e := s.entries.get(place{group: q.Kind, id: key}); e != nil && !yield(e) {
					return
				}
			}
		}
	}
	after := end(q.Kind, q.Descending)
	switch {
	case q.After.ID != "":
		after = place{group: q.Kind, id: q.After.ID}
	case q.Descending && q.Before != "":
		after = place{group: q.Kind, id: q.Before}
	}
	return func(yield func(*store.Entry) bool) {
		if from := (place{group: q.Kind, id: q.From}); !q.Descending && from.compare(after) > 0 {
			if e := s.entries.get(from); e != nil && e.Key != q.After.ID && (q.Before == "" || e.Key < q.Before) && !yield(e) {
				return
			}
			after = from
		}
		for e := range s.entries.beyond(after, q.Descending) {
			if q.Descending && q.Before != "" && e.Key >= q.Before {
				continue // only if After is above Before
			}
			if q.Descending && e.Key < q.From || !q.Descending && q.Before != "" && e.Key >= q.Before || !yield(e) {
				return
			}
		}
	}
}

// live returns the filter of q.
func live(q store.ActivationQuery) func(*store.Activation) bool {
	return func(a *store.Activation) bool {
		return (q.LiveAt.IsZero() || a.EndedAt.IsZero() && (a.LeaseEndsAt.IsZero() || a.LeaseEndsAt.After(q.LiveAt))) &&
			q.LeaseEnds.Contains(a.LeaseEndsAt)
	}
}
