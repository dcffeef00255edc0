package sales

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/store"
)

// passAfter is how often in a row counting fails before events are counted one by one.
const passAfter = 10

// A passing counts, and passes the events that can never be counted, which would hold up all
// later ones and their removal.
type passing struct {
	Service
	failures int // in a row
	single   int // how many events are counted one by one
}

// count is [Service.Count]. After ten failures it counts each event of a batch in an Update of
// its own, and passes one that fails.
func (p *passing) count(ctx context.Context) (n int, more bool, err error) {
	var before *count
	err = feed.Contain(ctx, p.Opts.Logger, "sales", func() (err error) {
		if p.single == 0 {
			n, more, err = p.Count(ctx)
			return err
		}
		if before, err = readCount(ctx, p.Store, p.Clock()); err == nil {
			n, more, err = p.countSome(ctx, 1, 1)
		}
		return err
	})
	switch own := feed.IsOwn(ctx, err); {
	case err == nil:
		p.failures, p.single = 0, max(0, p.single-1)
	case own && p.single > 0 && before != nil:
		p.single, n, more = countBatch, 0, true
		err = p.pass(ctx, before, err)
	case own && p.single == 0:
		if p.failures++; p.failures == passAfter {
			p.single = countBatch
		}
	}
	return n, more, err
}

// pass passes the event or, if there is none, the license that follows what was counted,
// because counting it failed. It passes nothing if another process was first, or if licenses
// cannot be read, for which no event is the cause.
func (s Service) pass(ctx context.Context, counted *count, cause error) error {
	id := ""
	err := feed.Contain(ctx, s.Opts.Logger, "sales", func() error {
		return s.Store.Update(ctx, func(tx store.Tx) error {
			c, err := readCount(ctx, tx, s.Clock())
			if err != nil || c.at != counted.at || c.Scanned != counted.Scanned {
				return err
			}
			events, err1 := tx.Events(ctx, store.EventQuery{After: c.at.Seq(), Limit: 1})
			rows, err2 := tx.Licenses(ctx, store.LicenseQuery{After: store.Position{ID: c.Scanned}, Limit: 1})
			switch err := cmp.Or(err1, err2); {
			case err != nil:
				return err
			case len(events) > 0:
				id, c.at = events[0].ID, feed.PlaceOf(events[0])
			case len(rows) > 0:
				id, c.Scanned = rows[0].ID, rows[0].ID
			default:
				return cause
			}
			if c.Uncounted++; c.Uncounted == 1 {
				c.FirstUncounted = id
			}
			return c.put(ctx, tx)
		})
	})
	if err == nil && id != "" {
		s.Opts.Logger.LogAttrs(ctx, slog.LevelError, "licensing: an event cannot be counted; sales do not have it", slog.String("id", id), slog.Any("error", cause))
	}
	return err
}

// Uncounted returns how many events and licenses could not be counted since the counts were
// begun, and the ID of the first.
func (s Service) Uncounted(ctx context.Context, r store.Reader) (n int64, first string, err error) {
	stored, err := entries.Of(ctx, r, stateKind, []string{stateKind}, call.ReadJSON[state])
	if err != nil {
		err = fmt.Errorf("uncounted events: %w", err)
	}
	return stored[stateKind].Uncounted, stored[stateKind].FirstUncounted, err
}
