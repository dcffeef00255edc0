package memory

import (
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A tx is the reader of an Update's own copy of the state, and writes to it.
type tx struct{ reader }

// change calls fn with a copy of the state, which becomes the state of the Update
// unless fn returns an error. So a method that returns an error has done nothing,
// whatever it did before it found out.
func (t tx) change(ctx context.Context, fn func(s *state) error) error {
	s, err := t.state(ctx)
	if err != nil {
		return err
	}
	next := *s
	if err := fn(&next); err != nil {
		return fmt.Errorf("memory: %w", err)
	}
	*s = next
	return nil
}

func (t tx) CreateLicenses(ctx context.Context, licenses ...store.License) error {
	return t.change(ctx, func(s *state) error {
		for _, l := range licenses {
			if s.licenses.get(place{id: l.ID}) != nil {
				return fmt.Errorf("create license %s: %w", l.ID, store.ErrExists)
			}
			if s.licensesByKey.get(place{id: l.Key}) != nil {
				return fmt.Errorf("create license %s: its key: %w", l.ID, store.ErrExists)
			}
			for range s.activations.in(group(l.ID), false) {
				return fmt.Errorf("create license %s: activations of a deleted license: %w", l.ID, store.ErrExists)
			}
			row := copyLicense(&l)
			s.setLicense(row, row)
		}
		return nil
	})
}

func (t tx) UpdateLicense(ctx context.Context, l store.License) error {
	return t.change(ctx, func(s *state) error {
		old := s.licenses.get(place{id: l.ID})
		if old == nil {
			return fmt.Errorf("update license %s: %w", l.ID, store.ErrNotFound)
		}
		if other := s.licensesByKey.get(place{id: l.Key}); other != nil && other.ID != l.ID {
			return fmt.Errorf("update license %s: its key: %w", l.ID, store.ErrExists)
		}
		row := copyLicense(&l)
		s.setLicense(old, nil)
		s.setLicense(row, row)
		return nil
	})
}

func (t tx) DeleteLicense(ctx context.Context, id string) error {
	return t.change(ctx, func(s *state) error {
		old := s.licenses.get(place{id: id})
		if old == nil {
			return fmt.Errorf("delete license %s: %w", id, store.ErrNotFound)
		}
		s.setLicense(old, nil)
		return nil
	})
}

func (t tx) PutActivations(ctx context.Context, activations ...store.Activation) error {
	return t.change(ctx, func(s *state) error {
		for _, a := range activations {
			if s.licenses.get(place{id: a.LicenseID}) == nil {
				return fmt.Errorf("put activation %s: license %s: %w", a.ID, a.LicenseID, store.ErrNotFound)
			}
			if other := s.byFingerprint.get(place{group: a.Fingerprint, id: a.LicenseID}); other != nil && other.ID != a.ID {
				return fmt.Errorf("put activation %s of license %s: its fingerprint: %w", a.ID, a.LicenseID, store.ErrExists)
			}
			if old := s.activations.get(place{group: a.LicenseID, id: a.ID}); old != nil {
				s.setActivation(old, nil)
			}
			row := copyActivation(&a)
			s.setActivation(row, row)
		}
		return nil
	})
}

func (t tx) DeleteActivations(ctx context.Context, licenseID string, ids ...string) error {
	return t.change(ctx, func(s *state) error {
		for _, id := range ids {
			old := s.activations.get(place{group: licenseID, id: id})
			if old == nil {
				return fmt.Errorf("delete activation %s of license %s: %w", id, licenseID, store.ErrNotFound)
			}
			s.setActivation(old, nil)
		}
		return nil
	})
}

func (t tx) AppendEvents(ctx context.Context, events ...store.Event) error {
	return t.change(ctx, func(s *state) error {
		for _, e := range events {
			row := copyEvent(&e)
			row.Seq = max(e.Seq, s.lastSeq+1)
			s.lastSeq = row.Seq
			s.events = s.events.set(place{at: row.Seq}, row)
		}
		return nil
	})
}

func (t tx) ReplaceEvent(ctx context.Context, e store.Event) error {
	return t.change(ctx, func(s *state) error {
		old := s.events.get(place{at: e.Seq})
		if old == nil {
			return fmt.Errorf("replace event %d: %w", e.Seq, store.ErrNotFound)
		}
		row := *old
		row.CustomerID, row.Data = e.CustomerID, e.Data
		s.events = s.events.set(place{at: row.Seq}, copyEvent(&row))
		return nil
	})
}

func (t tx) DeleteEvents(ctx context.Context, through int64, limit int) (n int, err error) {
	err = t.change(ctx, func(s *state) error {
		for e := range s.events.in(group(""), false) { // the tree before the loop
			if e.Seq > through || n >= limit {
				break
			}
			s.events = s.events.set(place{at: e.Seq}, nil)
			n++
		}
		return nil
	})
	return n, err
}

func (t tx) PutEntries(ctx context.Context, entries ...store.Entry) error {
	return t.change(ctx, func(s *state) error {
		for _, e := range entries {
			if err := e.Check(); err != nil {
				return err
			}
			if old := s.entries.get(place{group: e.Kind, id: e.Key}); old != nil {
				s.setEntry(old, nil)
			}
			row := copyEntry(&e)
			s.setEntry(row, row)
		}
		return nil
	})
}

func (t tx) DeleteEntries(ctx context.Context, kind string, keys ...string) error {
	return t.change(ctx, func(s *state) error {
		for _, key := range keys {
			if old := s.entries.get(place{group: kind, id: key}); old != nil {
				s.setEntry(old, nil)
			}
		}
		return nil
	})
}

// Want reads nothing, because no read takes a round trip.
func (t tx) Want(ctx context.Context, _ store.Wanted) error {
	_, err := t.state(ctx)
	return err
}
