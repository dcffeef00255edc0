package kv

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/seed-d8a106b4/licensekit/store"
)

// change writes the record with a key of its own, or removes it if it has none, and
// its rows in the indexes: old is where it was, and index where it is.
func (t *tx) change(own string, record []byte, old, index []string) {
	var rows []Row
	for _, k := range old {
		if !slices.Contains(index, k) {
			rows = append(rows, Row{k, nil})
		}
	}
	for _, k := range index {
		if !slices.Contains(old, k) {
			rows = append(rows, Row{k, []byte(own)})
		}
	}
	t.set(append(rows, Row{own, record})...)
}

// set keeps rows, which the end of the Update writes.
func (t *tx) set(rows ...Row) {
	t.wrote = true
	for _, r := range rows {
		if _, again := t.own[r.Key]; !again {
			t.sorted = nil
		}
		t.own[r.Key] = r.Value
	}
}

// put adds records or replaces those with their keys, or does nothing if one of them
// cannot be stored.
func put[R any](t *tx, keys keysOf[R], records ...R) error {
	records = slices.Clone(records)
	encoded, ahead := make([][]byte, len(records)), make([]string, len(records))
	for i := range records {
		b, err := encode(&records[i])
		if err != nil {
			return err
		}
		encoded[i] = b
		ahead[i], _ = keys(records[i])
	}
	t.ahead(ahead...)
	for i, r := range records {
		own, index := keys(r)
		var was []string
		switch old, err := get[R](t, own); {
		case err == nil:
			_, was = keys(old)
		case !errors.Is(err, store.ErrNotFound):
			return err
		}
		t.change(own, encoded[i], was, index)
	}
	return nil
}

// remove removes the records with keys of their own, or none if one is missing.
func remove[R any](t *tx, keys keysOf[R], own []string) error {
	var old []R
	t.ahead(own...)
	for _, k := range own {
		r, err := get[R](t, k)
		if err != nil {
			return err
		}
		old = append(old, r)
	}
	for i, k := range own {
		_, index := keys(old[i])
		t.change(k, nil, index, nil)
	}
	return nil
}

// each returns the own keys of the records with the ids.
func each(prefix string, ids []string) (keys []string) {
	for _, id := range ids {
		keys = append(keys, prefix+key(id))
	}
	return keys
}

// write runs a method that returns nothing but an error.
func (t *tx) write(ctx context.Context, what string, f func() error) error {
	_, err := do(ctx, t, what, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

func (t *tx) CreateLicenses(ctx context.Context, ls ...store.License) error {
	return t.write(ctx, "create licenses", func() error {
		var ahead []string
		for _, l := range ls {
			ahead = append(ahead, key("L", l.ID), key("key", l.Key))
		}
		t.ahead(ahead...)
		taken := map[string]bool{}
		for _, l := range ls {
			id, k := key("L", l.ID), key("key", l.Key)
			left := false // whether there are activations of a deleted license
			for range t.rows(false, 1, under(key("A", l.ID))) {
				left = true
				break
			}
			if left || taken[id] || taken[k] || t.has(id) || t.has(k) {
				return fmt.Errorf("%s: %w", l.ID, store.ErrExists)
			}
			taken[id], taken[k] = true, true
		}
		return put(t, licenses, ls...)
	})
}

func (t *tx) UpdateLicense(ctx context.Context, l store.License) error {
	return t.write(ctx, "update license "+l.ID, func() error {
		t.ahead(key("L", l.ID), key("key", l.Key))
		old, err := get[store.License](t, key("L", l.ID))
		if err != nil {
			return err
		}
		if l.Key != old.Key && t.has(key("key", l.Key)) {
			return store.ErrExists
		}
		return put(t, licenses, l)
	})
}

func (t *tx) DeleteLicense(ctx context.Context, id string) error {
	return t.write(ctx, "delete license "+id, func() error { return remove(t, licenses, each(key("L"), []string{id})) })
}

func (t *tx) PutActivations(ctx context.Context, as ...store.Activation) error {
	return t.write(ctx, "put activations", func() error {
		var ahead []string
		for _, a := range as {
			ahead = append(ahead, key("L", a.LicenseID), key("fingerprint", a.Fingerprint, a.LicenseID), key("A", a.LicenseID, a.ID))
		}
		t.ahead(ahead...)
		holder, held := map[string]string{}, map[string]string{} // who has a fingerprint, and which one it has, at that point of the call
		for _, a := range as {
			if !t.has(key("L", a.LicenseID)) {
				return fmt.Errorf("%s of license %s: %w", a.ID, a.LicenseID, store.ErrNotFound)
			}
			k, mine := key("fingerprint", a.Fingerprint, a.LicenseID), key("A", a.LicenseID, a.ID)
			by, put := holder[k]
			if !put {
				if b := t.read(k)[0]; b != nil {
					by = string(b)
				}
			}
			if by != "" && by != mine {
				return fmt.Errorf("%s of license %s: %w", a.ID, a.LicenseID, store.ErrExists)
			}
			if held[mine] != "" {
				holder[held[mine]] = ""
			} else if old, err := get[store.Activation](t, mine); err == nil {
				holder[key("fingerprint", old.Fingerprint, old.LicenseID)] = ""
			} else if !errors.Is(err, store.ErrNotFound) {
				return err
			}
			holder[k], held[mine] = mine, k
		}
		return put(t, activations, as...)
	})
}

func (t *tx) DeleteActivations(ctx context.Context, licenseID string, ids ...string) error {
	return t.write(ctx, "delete activations of license "+licenseID, func() error {
		return remove(t, activations, each(key("A", licenseID), ids))
	})
}

// last is the key of the highest Seq that was given.
const last = "seq"

func (t *tx) AppendEvents(ctx context.Context, es ...store.Event) error {
	return t.write(ctx, "append events", func() error {
		var seq int64
		if b := t.read(last)[0]; b != nil {
			seq = int64(binary.BigEndian.Uint64(b))
		}
		es = slices.Clone(es)
		for i := range es {
			seq = max(seq+1, es[i].Seq)
			es[i].Seq = seq
			t.known[key("E", ordinal(seq))] = nil // there is none
		}
		if err := put(t, events, es...); err != nil {
			return err
		}
		t.set(Row{last, []byte(ordinal(seq))})
		return nil
	})
}

func (t *tx) ReplaceEvent(ctx context.Context, e store.Event) error {
	return t.write(ctx, fmt.Sprintf("replace event %d", e.Seq), func() error {
		t.ahead(key("E", ordinal(e.Seq)))
		now, err := get[store.Event](t, key("E", ordinal(e.Seq)))
		if err != nil {
			return err
		}
		now.CustomerID, now.Data = e.CustomerID, e.Data
		return put(t, events, now)
	})
}

func (t *tx) DeleteEvents(ctx context.Context, through int64, limit int) (int, error) {
	return do(ctx, t, "delete events", func() (int, error) {
		var oldest []string // collected first: no engine has to scan what is being removed
		for k := range t.keys(false, span{key("E"), key("E", ordinal(max(0, through))) + "\x00"}) {
			if len(oldest) >= limit {
				break
			}
			oldest = append(oldest, k)
		}
		return len(oldest), remove(t, events, oldest)
	})
}

func (t *tx) PutEntries(ctx context.Context, es ...store.Entry) error {
	return t.write(ctx, "put entries", func() error {
		for _, e := range es {
			if err := refused(e.Check()); err != nil {
				return err
			}
		}
		return put(t, entries, es...)
	})
}

func (t *tx) DeleteEntries(ctx context.Context, kind string, keys ...string) error {
	return t.write(ctx, "delete entries of kind "+kind, func() error {
		var there []string
		own := each(key("N", kind), keys)
		t.ahead(own...)
		for _, k := range own {
			if t.has(k) && !slices.Contains(there, k) {
				there = append(there, k)
			}
		}
		return remove(t, entries, there)
	})
}

// Want reads the rows that its records are found by.
func (t *tx) Want(ctx context.Context, w store.Wanted) error {
	return t.write(ctx, "want", func() error {
		ahead := []string{key("L", w.LicenseID), key("key", w.LicenseKey)}
		for _, print := range w.Fingerprints {
			ahead = append(ahead, key("fingerprint", print, w.LicenseID))
		}
		for _, e := range slices.Concat(w.Entries, w.Absent) {
			ahead = append(ahead, key("N", e[0], e[1]))
		}
		t.ahead(ahead...)
		return nil
	})
}
