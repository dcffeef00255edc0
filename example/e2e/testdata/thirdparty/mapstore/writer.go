package mapstore

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/seed-d8a106b4/licensekit/store"
)

// whole calls write, and undoes what it wrote if it fails.
func (t *tx) whole(ctx context.Context, write func() error) error {
	all, err := t.records(ctx)
	if err != nil {
		return err
	}
	before := maps.Clone(all.rows)
	if err := write(); err != nil {
		all.rows = before
		return err
	}
	return nil
}

func (t *tx) CreateLicenses(ctx context.Context, licenses ...store.License) error {
	return t.whole(ctx, func() error {
		all, err := t.records(ctx)
		if err != nil {
			return err
		}
		keys, left := map[string]bool{}, map[string]bool{} // by license
		for _, row := range all.rows {
			switch row := row.(type) {
			case store.License:
				keys[row.Key] = true
			case store.Activation:
				left[row.LicenseID] = true
			}
		}
		for _, l := range licenses {
			n := name{table: "license", id: l.ID}
			if _, exists := all.rows[n]; exists || keys[l.Key] || left[l.ID] {
				return fmt.Errorf("mapstore: license %s, its key, or activations of a deleted one: %w", l.ID, store.ErrExists)
			}
			all.rows[n], keys[l.Key] = copyLicense(l), true
		}
		return nil
	})
}

func (t *tx) UpdateLicense(ctx context.Context, l store.License) error {
	n := name{table: "license", id: l.ID}
	if err := t.present(ctx, n); err != nil {
		return err
	}
	holder, err := find(ctx, t.reader, func(o store.License) bool { return o.Key == l.Key && o.ID != l.ID }, copyLicense)
	if err != nil {
		return err
	}
	if len(holder) > 0 {
		return fmt.Errorf("mapstore: key of license %s: %w", l.ID, store.ErrExists)
	}
	return t.put(ctx, n, copyLicense(l))
}

func (t *tx) DeleteLicense(ctx context.Context, id string) error {
	return t.remove(ctx, name{table: "license", id: id})
}

func (t *tx) PutActivations(ctx context.Context, activations ...store.Activation) error {
	return t.whole(ctx, func() error {
		for _, a := range activations {
			if err := t.putActivation(ctx, a); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *tx) putActivation(ctx context.Context, a store.Activation) error {
	if err := t.present(ctx, name{table: "license", id: a.LicenseID}); err != nil {
		return err
	}
	holder, err := find(ctx, t.reader, func(o store.Activation) bool {
		return o.LicenseID == a.LicenseID && o.Fingerprint == a.Fingerprint && o.ID != a.ID
	}, copyActivation)
	if err != nil {
		return err
	}
	if len(holder) > 0 {
		return fmt.Errorf("mapstore: fingerprint of activation %s: %w", a.ID, store.ErrExists)
	}
	return t.put(ctx, name{table: "activation", group: a.LicenseID, id: a.ID}, copyActivation(a))
}

func (t *tx) DeleteActivations(ctx context.Context, licenseID string, ids ...string) error {
	return t.removeAll(ctx, "activation", licenseID, ids)
}

func (t *tx) AppendEvents(ctx context.Context, events ...store.Event) (seqs []int64, err error) {
	all, err := t.records(ctx)
	if err != nil {
		return nil, err
	}
	for _, e := range events {
		e.Seq = max(e.Seq, all.lastSeq+1)
		all.lastSeq = e.Seq
		all.rows[name{table: "event", id: feedPlace(e.Seq)}] = copyEvent(e)
		seqs = append(seqs, e.Seq)
	}
	return seqs, nil
}

func (t *tx) ReplaceEvent(ctx context.Context, e store.Event) error {
	n := name{table: "event", id: feedPlace(e.Seq)}
	was, err := get(ctx, t.reader, n, copyEvent)
	if err != nil {
		return err
	}
	was.CustomerID, was.Data = e.CustomerID, e.Data
	return t.put(ctx, n, copyEvent(was))
}

func (t *tx) DeleteEvents(ctx context.Context, through int64, limit int) (int, error) {
	old, err := find(ctx, t.reader, func(e store.Event) bool { return e.Seq <= through }, copyEvent)
	if err != nil {
		return 0, err
	}
	slices.SortFunc(old, func(a, b store.Event) int { return int(a.Seq - b.Seq) })
	old = old[:max(0, min(limit, len(old)))]
	for _, e := range old {
		if err := t.remove(ctx, name{table: "event", id: feedPlace(e.Seq)}); err != nil {
			return 0, err
		}
	}
	return len(old), nil
}

func (t *tx) PutEntries(ctx context.Context, entries ...store.Entry) error {
	for _, e := range entries {
		if err := e.Check(); err != nil {
			return fmt.Errorf("mapstore: put entries: %w", err)
		}
	}
	for _, e := range entries {
		if err := t.put(ctx, name{table: "entry", group: e.Kind, id: e.Key}, copyEntry(e)); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) DeleteEntries(ctx context.Context, kind string, keys ...string) error {
	return t.removeAll(ctx, "entry", kind, keys)
}

func (t *tx) removeAll(ctx context.Context, table, group string, ids []string) error {
	return t.whole(ctx, func() error {
		for _, id := range ids {
			if err := t.remove(ctx, name{table: table, group: group, id: id}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *tx) put(ctx context.Context, n name, row any) error {
	all, err := t.records(ctx)
	if err != nil {
		return err
	}
	all.rows[n] = row
	return nil
}

func (t *tx) remove(ctx context.Context, n name) error {
	if err := t.present(ctx, n); err != nil {
		return err
	}
	all, err := t.records(ctx)
	if err != nil {
		return err
	}
	delete(all.rows, n)
	return nil
}

// present returns ErrNotFound unless there is a record of that name.
func (t *tx) present(ctx context.Context, n name) error {
	all, err := t.records(ctx)
	if err != nil {
		return err
	}
	if _, ok := all.rows[n]; !ok {
		return fmt.Errorf("mapstore: %s: %w", n.table, store.ErrNotFound)
	}
	return nil
}
