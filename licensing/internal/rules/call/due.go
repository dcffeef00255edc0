package call

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/seed-d8a106b4/licensekit/internal/entries"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/store"
)

// DoDue does the work that entries of a kind name which are due, up to limit of them in one
// Update, and reports whether there may be more. If that fails because of the work, each entry
// gets an Update of its own. One that fails even so is due again after [feed.PostponedFor], so
// that it delays no other, and the error is [feed.ErrPostponed].
//
// do gets the entries that are still due. It deletes or moves each whose work is done.
func (s *Call) DoDue(ctx context.Context, job, kind string, limit int, do func(tx *Tx, due []store.Entry) error) (more bool, err error) {
	due, err := s.Reader().Entries(ctx, entries.Expired(kind, s.Now(), limit))
	if err != nil || len(due) == 0 {
		return false, err
	}
	more = len(due) == limit
	if err = s.doDue(ctx, job, kind, due, do); !feed.IsOwn(ctx, err) {
		return more, err
	}
	var left error
	for i := range due {
		err := s.doDue(ctx, job, kind, due[i:i+1], do)
		if err != nil && !feed.IsOwn(ctx, err) {
			return more, err
		}
		if err == nil {
			continue
		}
		s.LogPostponed(ctx, job, due[i].Key, err)
		if left == nil {
			left = fmt.Errorf("%w: %s: %w", feed.ErrPostponed, due[i].Key, err)
		}
		err = s.doDue(ctx, job, kind, due[i:i+1], func(tx *Tx, late []store.Entry) error {
			for i := range late {
				late[i].ExpiresAt = tx.Now.Add(feed.PostponedFor)
			}
			return tx.PutEntries(ctx, late...)
		})
		if err != nil { // it stays first, and the next step tries it again
			left, more = err, false
		}
	}
	return more, left
}

// doDue calls do in an Update with those of some entries that are still due.
func (s *Call) doDue(ctx context.Context, job, kind string, due []store.Entry, do func(tx *Tx, due []store.Entry) error) error {
	keys := make([]string, len(due))
	for i, e := range due {
		keys[i] = e.Key
	}
	return feed.Contain(ctx, s.Opts.Logger, job, func() error {
		return s.Write(ctx, func(tx *Tx) error {
			stored, err := entries.Of(ctx, tx, kind, keys, func(e store.Entry) (store.Entry, error) { return e, nil })
			var still []store.Entry
			for _, key := range keys {
				if e, is := stored[key]; is && !e.ExpiresAt.After(tx.Now) {
					still = append(still, e)
				}
			}
			if err != nil || len(still) == 0 {
				return err
			}
			return do(tx, still)
		})
	})
}

// LogPostponed logs that work on a record has failed and is tried again later.
func (s *Call) LogPostponed(ctx context.Context, job, id string, err error) {
	s.Opts.Logger.LogAttrs(ctx, slog.LevelError, "licensing: background work on a record failed; it is tried again in an hour",
		slog.String("job", job), slog.String("record", id), slog.Any("error", err))
}
