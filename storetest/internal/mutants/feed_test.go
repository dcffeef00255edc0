package mutants

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest/internal/pick"
)

// feedMutants break the rules about events.
var feedMutants = []mutant{
	{20, "draws Seqs early and commits late", func() store.Store { return newFeed(feed{early: new(atomic.Int64)}) }},
	{20, "reuses the Seqs of removed events", func() store.Store { return newFeed(feed{reuses: true}) }},
	{20, "assigns falling Seqs within an Update", func() store.Store { return newFeed(feed{falling: true}) }},

	{21, "removes the newest first", func() store.Store { return newFeed(feed{newestFirst: true}) }},
	{21, "ignores the limit", writing(func(tx store.Tx) store.Writer { return unlimited{tx} })},
	{21, "leaves the last one", writing(func(tx store.Tx) store.Writer { return leavesLast{tx} })},
	{21, "returns the limit as the count", writing(func(tx store.Tx) store.Writer { return countsLimit{tx} })},
	{21, "removes all for a negative limit", writing(func(tx store.Tx) store.Writer { return negativeIsAll{tx} })},
}

// A feed keeps events as entries, and is correct except for the faults that are
// set.
type feed struct {
	early       *atomic.Int64 // the last Seq drawn; Updates that only append run concurrently
	reuses      bool
	falling     bool
	newestFirst bool
}

const (
	feedKind = "\x00feed"
	lastKind = "\x00last"
)

type feedStore struct {
	spoiled
	feed
}

func newFeed(f feed) store.Store {
	inner := memory.New()
	return feedStore{spoiled{
		Reader: feedReader{inner}, inner: inner,
		read:  func(r store.Reader) store.Reader { return feedReader{r} },
		write: func(tx store.Tx) store.Writer { return &feedWriter{tx, tx, f, 0} },
	}, f}
}

var errNotBlind = errors.New("does more than append")

// Update runs an Update that only appends without the write lock, if Seqs are
// drawn early.
func (s feedStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	if s.early == nil {
		return s.spoiled.Update(ctx, fn)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	var rows []store.Event
	blind := true
	var dead store.Reader
	_ = s.inner.View(ctx, func(r store.Reader) error {
		dead = r
		return nil
	})
	refuse := func() store.Reader {
		blind = false
		return dead
	}
	err := fn(joined{pick.Reader{From: refuse}, blindWriter{hooked{func(context.Context, string, written) error {
		blind = false
		return errNotBlind
	}}, s.early, &rows}})
	if !blind || len(rows) == 0 {
		return s.spoiled.Update(ctx, fn)
	}
	if err != nil {
		return err
	}
	return s.inner.Update(context.WithoutCancel(ctx), func(tx store.Tx) error {
		for _, e := range rows {
			if err := putEvent(ctx, tx, e); err != nil {
				return err
			}
		}
		return nil
	})
}

type blindWriter struct {
	store.Writer
	last *atomic.Int64
	rows *[]store.Event
}

func (w blindWriter) AppendEvents(ctx context.Context, events ...store.Event) error {
	for _, e := range copies(events) {
		e.Seq = w.last.Add(1)
		*w.rows = append(*w.rows, e)
	}
	return ctx.Err()
}

func feedKey(seq int64) string { return fmt.Sprintf("%020d", seq) }

var errNotText = errors.New("not UTF-8")

// notText reports whether JSON would change the event.
func notText(e store.Event) bool {
	return !utf8.ValidString(e.ID + e.Type + e.Actor + e.RequestID + e.Subject + e.ProductID + e.CustomerID)
}

func putEvent(ctx context.Context, w store.Writer, e store.Event) error {
	e.Time = e.Time.Truncate(time.Millisecond)
	if notText(e) {
		return errNotText
	}
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return w.PutEntries(ctx, store.Entry{Kind: feedKind, Key: feedKey(e.Seq), Data: data})
}

type feedReader struct{ store.Reader }

func (r feedReader) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	var rows []store.Event
	page := store.EntryQuery{Kind: feedKind}
	if !q.Descending && q.After > 0 {
		page.After.ID = feedKey(q.After)
	}
	for {
		entries, err := r.Entries(ctx, page)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			var e store.Event
			if err := json.Unmarshal(entry.Data, &e); err != nil {
				return nil, err
			}
			e.Time = e.Time.UTC()
			rows = append(rows, e)
			page.After.ID = entry.Key
		}
		if len(entries) < store.MaxLimit {
			break
		}
	}
	if q.Descending {
		slices.Reverse(rows)
	}
	rows = slices.DeleteFunc(rows, func(e store.Event) bool {
		return q.Subject != "" && e.Subject != q.Subject || q.CustomerID != "" && e.CustomerID != q.CustomerID ||
			q.ProductID != "" && e.ProductID != q.ProductID ||
			q.After != 0 && (q.Descending && e.Seq >= q.After || !q.Descending && e.Seq <= q.After)
	})
	return rows[:min(len(rows), store.Limit(q.Limit))], nil
}

type feedWriter struct {
	store.Writer
	tx store.Tx
	feed
	appended int64
}

func (w *feedWriter) AppendEvents(ctx context.Context, events ...store.Event) error {
	if slices.ContainsFunc(events, notText) { // all are refused with it
		return errNotText
	}
	for _, e := range events {
		if err := w.appendEvent(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

func (w *feedWriter) appendEvent(ctx context.Context, e store.Event) error {
	last, err := w.tx.Entry(ctx, lastKind, "")
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	brought := e.Seq
	if e.Seq = 0; err == nil {
		_ = json.Unmarshal(last.Data, &e.Seq)
	}
	if e.Seq = max(e.Seq+1, brought); w.early != nil {
		e.Seq = w.early.Add(1)
	}
	next := e.Seq
	if w.falling { // each Update has a range of a hundred thousand, and starts at its end
		next = (e.Seq/100_000 + 1) * 100_000
		if w.appended > 0 {
			next = e.Seq - 1
		}
		e.Seq, w.appended = next-w.appended, w.appended+1
	}
	data, _ := json.Marshal(next)
	if err := w.PutEntries(ctx, store.Entry{Kind: lastKind, Data: data}); err != nil {
		return err
	}
	return putEvent(ctx, w, e)
}

func (w *feedWriter) ReplaceEvent(ctx context.Context, e store.Event) error {
	rows, err := feedReader{w.tx}.Events(ctx, store.EventQuery{After: e.Seq - 1, Limit: 1})
	if err != nil {
		return err
	}
	if len(rows) == 0 || rows[0].Seq != e.Seq {
		return store.ErrNotFound
	}
	rows[0].CustomerID, rows[0].Data = e.CustomerID, e.Data
	return putEvent(ctx, w, rows[0])
}

func (w *feedWriter) DeleteEvents(ctx context.Context, through int64, limit int) (all int, err error) {
	for {
		n, err := w.deletePage(ctx, through, limit-all)
		if all += n; n == 0 || err != nil {
			return all, err
		}
	}
}

func (w *feedWriter) deletePage(ctx context.Context, through int64, limit int) (int, error) {
	rows, err := feedReader{w.tx}.Events(ctx, store.EventQuery{})
	if err != nil {
		return 0, err
	}
	rows = slices.DeleteFunc(rows, func(e store.Event) bool { return e.Seq > through })
	if w.newestFirst {
		slices.Reverse(rows)
	}
	rows = rows[:max(0, min(len(rows), limit))]
	for _, e := range rows {
		if err := w.DeleteEntries(ctx, feedKind, feedKey(e.Seq)); err != nil {
			return 0, err
		}
	}
	if left, _ := (feedReader{w.tx}).Events(ctx, store.EventQuery{Limit: 1}); w.reuses && len(left) == 0 {
		_ = w.DeleteEntries(ctx, lastKind, "")
	}
	return len(rows), nil
}

// Rule 21.

type unlimited struct{ store.Writer }

func (w unlimited) DeleteEvents(ctx context.Context, through int64, limit int) (int, error) {
	return w.Writer.DeleteEvents(ctx, through, max(limit, store.MaxLimit))
}

type leavesLast struct{ store.Writer }

func (w leavesLast) DeleteEvents(ctx context.Context, through int64, limit int) (int, error) {
	return w.Writer.DeleteEvents(ctx, through-1, limit)
}

type countsLimit struct{ store.Writer }

func (w countsLimit) DeleteEvents(ctx context.Context, through int64, limit int) (int, error) {
	_, err := w.Writer.DeleteEvents(ctx, through, limit)
	return limit, err
}

type negativeIsAll struct{ store.Writer }

func (w negativeIsAll) DeleteEvents(ctx context.Context, through int64, limit int) (int, error) {
	if limit < 0 {
		limit = store.MaxLimit
	}
	return w.Writer.DeleteEvents(ctx, through, limit)
}
