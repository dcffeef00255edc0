package webhook

import (
	"errors"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/outbox"
)

// bringForward makes the pending deliveries to a webhook due as soon as they would be
// if their last attempt were made now, because they were stored while a clock was
// ahead. If clocks differ, this happens often: it must not use up the attempts of a
// delivery faster than the schedule does.
func (b *batch) bringForward() error {
	var last outbox.Delivery
	for more := true; more; {
		from := last
		err := b.fenced(func(tx *transaction) error {
			pending, err := outbox.Pending(b.Work, tx, b.hook.ID, from, purgeBatch)
			if err != nil {
				return err
			}
			var early []outbox.Delivery
			for _, d := range pending {
				if due := tx.now.Add(longestWait(d.Attempts)).Truncate(time.Millisecond); d.DueAt.After(due) {
					d.DueAt, d.UpdatedAt = due, tx.now
					early = append(early, d)
				}
				last = d
			}
			if err := outbox.Put(b.Work, tx, early...); err != nil {
				return err
			}
			if more = len(pending) == purgeBatch; more {
				return nil
			}
			rec, err := b.findWebhook(b.Work, tx, b.hook.ID)
			if errors.Is(err, api.ErrNotFound) {
				return nil
			}
			if err != nil {
				return err
			}
			return tx.editCursor(b.Work, rec, func(cursor *hookCursor) { cursor.Until = time.Time{} })
		})
		if err != nil {
			return err
		}
	}
	b.forget()
	return nil
}
