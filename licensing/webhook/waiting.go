package webhook

import (
	"context"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/outbox"
	"github.com/seed-d8a106b4/licensekit/store"
)

// waiting counts the events that a webhook selects and that wait for their first attempt:
// those after its position, but for those of the deliveries in its queue. If it stops
// before the newest event, more is true.
func (s *Service) waiting(ctx context.Context, r store.Reader, rec webhookRecord, position int64, queue []outbox.Delivery) (n int, more bool, err error) {
	counted := make(map[int64]bool, len(queue))
	for _, d := range queue {
		counted[d.EventSeq] = true
	}
	w := rec.webhook(s.now())
	q := store.EventQuery{After: position, Limit: store.MaxLimit}
	for examined := 0; examined < examinedMost; examined += q.Limit {
		events, err := r.Events(ctx, q)
		for _, e := range events {
			if q.After = e.Seq; wants(w, e) && !counted[e.Seq] {
				n++
			}
		}
		if err != nil || len(events) < q.Limit {
			return n, false, err
		}
	}
	return n, true, nil
}
