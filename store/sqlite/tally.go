package sqlite

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/store"
)

func scanTally(r *row) store.Tally {
	return store.Tally{Kind: r.text(), Name: r.text(), N: r.integer()}
}

// Tallies walks the kind's part of the table.
func (r reader) Tallies(ctx context.Context, q store.TallyQuery) ([]store.Tally, error) {
	s := &selection{}
	s.add(`SELECT kind, name, n FROM tally`)
	s.and(`kind = ? AND n <> 0`, q.Kind)
	// Of two bounds on the side where the list begins, the closer one.
	switch {
	case q.After != "" && !q.Descending && q.After >= q.From:
		s.and(`name > ?`, q.After)
	default:
		s.and(`name >= ?`, q.From)
	}
	switch {
	case q.After != "" && q.Descending && (q.Before == "" || q.After < q.Before):
		s.and(`name < ?`, q.After)
	case q.Before != "":
		s.and(`name < ?`, q.Before)
	}
	s.order(q.Descending, q.Limit, `name`)
	found, err := list(ctx, r, scanTally, s)
	return found, wrap(err, "%s tallies", q.Kind)
}

// AddTally adds to a row, makes it, or removes it when it has come down to
// zero. A row that came up to zero stays, and is not listed.
func (t *tx) AddTally(ctx context.Context, kind, name string, delta int64) error {
	_, err := t.exec(ctx, `
		INSERT INTO tally (kind, name, n) VALUES (?, ?, ?)
		ON CONFLICT (kind, name) DO UPDATE SET n = n + excluded.n`, kind, name, delta)
	if err == nil && delta <= 0 {
		_, err = t.exec(ctx, `DELETE FROM tally WHERE kind = ? AND name = ? AND n = 0`, kind, name)
	}
	return wrap(err, "add to %s tally %q", kind, name)
}
