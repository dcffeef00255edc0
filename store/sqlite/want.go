package sqlite

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/store"
)

// kinds reports of kinds of entries whether the transaction of a group has none of them, as
// far as an update of the group has asked.
type kinds map[string]bool

// Want asks whether there is any entry of the kinds whose entries are most probably absent,
// so that [tx.Entry] need not look for one. All else is read when it is read, because no
// read takes a round trip.
func (t *tx) Want(ctx context.Context, w store.Wanted) error {
	for _, e := range w.Absent {
		kind := e[0]
		if _, asked, err := t.none(ctx, kind); err != nil || asked {
			continue
		}
		none := true
		if err := t.query(ctx, single, `SELECT 1 FROM entries WHERE kind = ? LIMIT 1`, []any{kind}, func(*row) { none = false }); err != nil {
			return wrap(err, "want")
		}
		t.mu.Lock()
		t.kinds[kind] = none
		t.mu.Unlock()
	}
	return t.ready(ctx)
}

// none reports whether there is no entry of a kind, and whether that was asked.
func (t *tx) none(ctx context.Context, kind string) (none, asked bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	none, asked = t.kinds[kind]
	return none, asked, t.usable(ctx)
}

// adds says that there may be entries of these kinds from now on.
func (t *tx) adds(entries []store.Entry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range entries {
		if t.kinds[e.Kind] {
			t.kinds[e.Kind] = false
		}
	}
}

// Entry looks in the table unless it has no entry of the kind.
func (t *tx) Entry(ctx context.Context, kind, key string) (store.Entry, error) {
	if none, _, err := t.none(ctx, kind); err == nil && none {
		return store.Entry{}, store.ErrNotFound
	}
	return t.reader.Entry(ctx, kind, key)
}
