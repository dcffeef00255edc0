package memory

import (
	"context"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A tx is the reader of an Update's own copy of the state, and writes to it. A
// method that returns an error has written nothing: it has looked before it
// wrote, or it wrote to a copy of the state.
type tx struct{ reader }

func (t tx) CreateLicenses(ctx context.Context, licenses ...store.License) error {
	s, err := t.state(ctx)
	if err != nil {
		return err
	}
	next := *s
	for _, l := range licenses {
		if next.licenses.get(place{id: l.ID}) != nil {
			return fmt.Errorf("memory: create license %s: %w", l.ID, store.ErrExists)
		}
		if next.licensesByKey.get(place{id: l.Key}) != nil {
			return fmt.Errorf("memory: create license %s: its key: %w", l.ID, store.ErrExists)
		}
		for range next.activations.beyond(end(l.ID, false), false) {
			return fmt.Errorf("memory: create license %s: activations of a deleted license: %w", l.ID, store.ErrExists)
		}
		next.addLicense(copyLicense(&l))
	}
	*s = next
	return nil
}

func (t tx) UpdateLicense(ctx context.Context, l store.License) error {
	s, err := t.state(ctx)
	if err != nil {
		return err
	}
	old := s.licenses.get(place{id: l.ID})
	if old == nil {
		return fmt.Errorf("memory: update license %s: %w", l.ID, store.ErrNotFound)
	}
	if other := s.licensesByKey.get(place{id: l.Key}); other != nil && other.ID != l.ID {
		return fmt.Errorf("memory: update license %s: its key: %w", l.ID, store.ErrExists)
	}
	s.removeLicense(old)
	s.addLicense(copyLicense(&l))
	return nil
}

func (t tx) DeleteLicense(ctx context.Context, id string) error {
	s, err := t.state(ctx)
	if err != nil {
		return err
	}
	old := s.licenses.get(place{id: id})
	if old == nil {
		return fmt.Errorf("memory: delete license %s: %w", id, store.ErrNotFound)
	}
	s.removeLicense(old)
	return nil
}

func (t tx) PutActivations(ctx context.Context, activations ...store.Activation) error {
	s, err := t.state(ctx)
	if err != nil {
		return err
	}
	next := *s
	for _, a := range activations {
		if next.licenses.get(place{id: a.LicenseID}) == nil {
			return fmt.Errorf("memory: put activation %s: license %s: %w", a.ID, a.LicenseID, store.ErrNotFound)
		}
		if other := next.byFingerprint.get(place{group: a.LicenseID, id: a.Fingerprint}); other != nil && other.ID != a.ID {
			return fmt.Errorf("memory: put activation %s of license %s: its fingerprint: %w", a.ID, a.LicenseID, store.ErrExists)
		}
		if old := next.activations.get(place{group: a.LicenseID, id: a.ID}); old != nil {
			next.removeActivation(old)
		}
		next.addActivation(copyActivation(&a))
	}
	*s = next
	return nil
}

func (t tx) DeleteActivations(ctx context.Context, licenseID string, ids ...string) error {
	s, err := t.state(ctx)
	if err != nil {
		return err
	}
	next := *s
	for _, id := range ids {
		old := next.activations.get(place{group: licenseID, id: id})
		if old == nil {
			return fmt.Errorf("memory: delete activation %s of license %s: %w", id, licenseID, store.ErrNotFound)
		}
		next.removeActivation(old)
	}
	*s = next
	return nil
}

func (t tx) AppendEvents(ctx context.Context, events ...store.Event) (seqs []int64, err error) {
	s, err := t.state(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		row := copyEvent(&e)
		row.Seq = max(e.Seq, s.lastSeq+1)
		s.lastSeq = row.Seq
		s.events = s.events.with(place{at: row.Seq}, row)
		seqs = append(seqs, row.Seq)
	}
	return seqs, nil
}

func (t tx) ReplaceEvent(ctx context.Context, e store.Event) error {
	s, err := t.state(ctx)
	if err != nil {
		return err
	}
	old := s.events.get(place{at: e.Seq})
	if old == nil {
		return fmt.Errorf("memory: replace event %d: %w", e.Seq, store.ErrNotFound)
	}
	row := *old
	row.CustomerID, row.Data = e.CustomerID, e.Data
	s.events = s.events.with(place{at: row.Seq}, copyEvent(&row))
	return nil
}

func (t tx) DeleteEvents(ctx context.Context, through int64, limit int) (int, error) {
	s, err := t.state(ctx)
	if err != nil {
		return 0, err
	}
	n := 0
	for e := range s.events.beyond(end("", false), false) { // the tree before the loop
		if e.Seq > through || n >= limit {
			break
		}
		s.events = s.events.without(place{at: e.Seq})
		n++
	}
	return n, nil
}

func (t tx) PutEntries(ctx context.Context, entries ...store.Entry) error {
	s, err := t.state(ctx)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if old := s.entries.get(place{group: e.Kind, id: e.Key}); old != nil {
			s.removeEntry(old)
		}
		s.addEntry(copyEntry(&e))
	}
	return nil
}

func (t tx) DeleteEntries(ctx context.Context, kind string, keys ...string) error {
	s, err := t.state(ctx)
	if err != nil {
		return err
	}
	next := *s
	for _, key := range keys {
		old := next.entries.get(place{group: kind, id: key})
		if old == nil {
			return fmt.Errorf("memory: delete %s entries: %w", kind, store.ErrNotFound)
		}
		next.removeEntry(old)
	}
	*s = next
	return nil
}
