package sales

import (
	"context"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	readBatch  = 1000 // events that one Update passes
	countBatch = 500  // events of them, or licenses, that it counts
	countPause = 2 * time.Second
	countCheck = time.Hour
	batchPause = time.Second // a hundredth of a core, if the batches are full
)

// CountTask returns the task of Run that counts what was sold. It rests after it has
// counted, so that many changes share an Update, and between batches, so that a busy
// store works for its callers.
func (s Service) CountTask(r *feed.Run) feed.Task {
	p := passing{Service: s}
	return feed.Task{Name: "sales", Bell: r.NewBell(), Feed: true, Step: func(context.Context) (feed.Next, error) {
		switch n, more, err := p.count(r.Work); {
		case more && p.single > 0: // of a batch that failed, each event by itself
			return feed.Next{After: batchPause / countBatch, Deaf: true}, err
		case more:
			return feed.Next{After: batchPause, Deaf: true}, err
		case n > 0:
			return feed.Next{After: countPause, Deaf: true}, err
		default:
			return feed.In(countCheck), err
		}
	}}
}

// Count counts a batch of events or, if there are none, looks at a batch of the licenses
// that were there before the first event. It returns how many it has counted, and whether
// there may be more.
func (s Service) Count(ctx context.Context) (n int, more bool, err error) {
	return s.countSome(ctx, readBatch, countBatch)
}

// countSome reads the events outside the Update, because most of them change no number.
func (s Service) countSome(ctx context.Context, read, counted int) (n int, more bool, err error) {
	var next events
	var idle bool
	err = s.Store.View(ctx, func(r store.Reader) error {
		c, err := readCount(ctx, r, s.Clock())
		if err != nil {
			return err
		}
		next, err = c.readEvents(ctx, r, read, counted)
		idle = c.Whole && next.n == 0 && !c.lost
		return err
	})
	if err == nil && !idle {
		err = s.Store.Update(ctx, func(tx store.Tx) error {
			n, more = 0, true
			c, err := readCount(ctx, tx, s.Clock())
			switch {
			case err != nil:
				return err
			case c.lost: // continue with the next event
				return c.put(ctx, tx)
			case c.at != next.after: // another process was first
				return nil
			}
			if err := c.addEvents(ctx, tx, next); err != nil {
				return err
			}
			n, more = next.n, next.more
			if n == 0 && !c.Whole {
				n, err = c.scan(ctx, tx, counted)
			}
			more = more || !c.Whole
			if err == nil {
				err = c.put(ctx, tx)
			}
			if err == nil {
				err = putNear(ctx, tx, c.touched, c.reached, c.now)
			}
			return err
		})
	}
	if err != nil {
		return 0, false, fmt.Errorf("count sales: %w", err)
	}
	return n, more, nil
}

// scan adds the licenses that the events have not shown to the totals, up to limit of
// them. All events were counted, so no later one shows an earlier state.
func (c *count) scan(ctx context.Context, r store.Reader, limit int) (n int, err error) {
	rows, err := r.Licenses(ctx, store.LicenseQuery{After: store.Position{ID: c.Scanned}, Limit: limit})
	if err != nil {
		return 0, err
	}
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	if err := c.load(ctx, r, ids); err != nil {
		return 0, err
	}
	for _, row := range rows {
		c.Scanned, c.touched[row.ID] = row.ID, true
		if _, known := c.standings[row.ID]; known || row.State == store.StateRevoked {
			continue
		}
		l, err := licenses.FromRow(row, c.now)
		if err != nil {
			return 0, err
		}
		if is := standingOf(l); !is.over(c.now) {
			c.know(row.ID, is)
		}
	}
	if c.Whole = len(rows) < limit; c.Whole {
		c.Scanned = ""
	}
	return len(rows), nil
}

// Needs keeps the events that were not counted; see [feed.Needs].
func (s Service) Needs(ctx context.Context, r store.Reader, bound int64) (int64, error) {
	c, err := readCount(ctx, r, s.Clock())
	if err != nil {
		return 0, err
	}
	return min(bound, c.at.Seq()+1), nil
}
