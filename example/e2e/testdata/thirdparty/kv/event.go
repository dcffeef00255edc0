package kv

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/store"
)

func (t *tx) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	return do(ctx, t, "events", func() ([]store.Event, error) {
		prefix := key("E")
		switch {
		case q.Subject != "":
			prefix = key("event-subject", q.Subject)
		case q.CustomerID != "":
			prefix = key("event-customer", q.CustomerID)
		case q.ProductID != "":
			prefix = key("event-product", q.ProductID)
		}
		s := under(prefix)
		if q.After != 0 {
			s = s.after(prefix+key(ordinal(q.After)), q.Descending)
		}
		return list(t, walk{desc: q.Descending, spans: []span{s}}, q.Limit, func(e store.Event) bool {
			return is(q.Subject, e.Subject) && is(q.CustomerID, e.CustomerID) && is(q.ProductID, e.ProductID)
		})
	})
}
