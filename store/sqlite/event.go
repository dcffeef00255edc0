package sqlite

import (
	"context"
	"slices"

	"github.com/seed-d8a106b4/licensekit/store"
)

const eventColumns = `seq, id, type, time, actor, request_id, subject, product_id, customer_id, data`

var selectEvents = `SELECT ` + results(``, eventColumns) + ` FROM events`

func scanEvent(r *row) store.Event {
	return store.Event{
		Seq: r.integer(), ID: r.text(), Type: r.text(), Time: r.time(), Actor: r.text(), RequestID: r.text(),
		Subject: r.text(), ProductID: r.text(), CustomerID: r.text(), Data: r.bytes(),
	}
}

// Events walks the feed, or the part of it that one subject, one customer or one
// product has in an index. A Seq is assigned and committed under the write lock, so that
// none appears below one that has been read.
func (r reader) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	s := &selection{}
	s.add(selectEvents)
	switch {
	case q.Subject != "":
		s.add(` INDEXED BY events_subject`)
	case q.CustomerID != "":
		s.add(` INDEXED BY events_customer`)
	case q.ProductID != "":
		s.add(` INDEXED BY events_product`)
	}
	if q.Subject != "" {
		s.and(`subject = ?`, q.Subject)
	}
	if q.CustomerID != "" {
		s.and(`customer_id = ? AND customer_id <> ''`, q.CustomerID)
	}
	if q.ProductID != "" {
		s.and(`product_id = ? AND product_id <> ''`, q.ProductID)
	}
	if q.Descending && q.After != 0 {
		s.and(`seq < ?`, q.After)
	} else if q.Descending {
		s.and(`seq > 0`)
	} else {
		s.and(`seq > ?`, q.After)
	}
	filters := 0
	for _, value := range []string{q.Subject, q.CustomerID, q.ProductID} {
		if value != "" {
			filters++
		}
	}
	s.exact = filters <= 1
	s.order(q.Descending, q.Limit, `seq`)
	found, err := list(ctx, r, scanEvent, s)
	return found, wrap(err, "events")
}

// OR FAIL, because no constraint refuses an event; see together.
var appendEvents = forRows(places(10), func(rows string) string {
	return `INSERT OR FAIL INTO events (` + eventColumns + `) VALUES ` + rows
})

// AppendEvents adds rows at the end. The engine gives the Seqs, unless an event
// brings one.
func (t *tx) AppendEvents(ctx context.Context, events ...store.Event) error {
	if len(events) == 0 {
		return t.ready(ctx)
	}
	var given []any // nil: the engine gives them
	if slices.ContainsFunc(events, func(e store.Event) bool { return e.Seq > 0 }) {
		last, err := one(ctx, t.reader, (*row).integer, `SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'events'`)
		if err != nil {
			return wrap(err, "append event %s", events[0].ID)
		}
		for _, e := range events {
			last = max(e.Seq, last+1)
			given = append(given, last)
		}
	}
	done := 0
	args := make([]any, 0, 10*min(len(events), rowsPerStatement))
	err := together(ctx, t, events, func(ctx context.Context, chunk []store.Event) error {
		args = args[:0]
		for i, e := range chunk {
			seq := any([]byte(nil)) // NULL: the next one
			if given != nil {
				seq = given[done+i]
			}
			args = append(args, seq, e.ID, e.Type, e.Time, e.Actor, e.RequestID, e.Subject, e.ProductID, e.CustomerID, e.Data)
		}
		done += len(chunk)
		_, err := t.exec(ctx, appendEvents[len(chunk)], args...)
		return err
	}, nil)
	return wrap(err, "append event %s", events[0].ID)
}

// ReplaceEvent changes two columns.
func (t *tx) ReplaceEvent(ctx context.Context, e store.Event) error {
	err := t.change(ctx, `UPDATE events SET customer_id = ?, data = ? WHERE seq = ?`, e.CustomerID, e.Data, e.Seq)
	return wrap(err, "replace event %d", e.Seq)
}

// DeleteEvents removes the first rows.
func (t *tx) DeleteEvents(ctx context.Context, through int64, limit int) (int, error) {
	n, err := t.count(ctx, `DELETE FROM events WHERE seq IN (SELECT seq FROM events WHERE seq <= ? ORDER BY seq LIMIT ? + 0)`,
		through, max(limit, 0)) // to the engine, a negative limit is none
	return int(n), wrap(err, "delete events through %d", through)
}
