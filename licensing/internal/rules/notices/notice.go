package notices

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
	"github.com/seed-d8a106b4/licensekit/store"
)

const (
	noticesJob    = "expiry_notices"
	watermarkKind = "watermark" // kind of entries
	// noticeBatch is how many notices of one offset one Update appends.
	noticeBatch = 100
	// noticeLag is how far a watermark may lag while no notice is due, so
	// that most rounds write nothing.
	noticeLag = time.Hour
	// noticeLook is how many events of one license are read, in pages, to see
	// whether it has received a notice. An Update that has read as many continues
	// with no further license.
	noticeLook = 1000
	noticePage = 100
)

// A watermark records which licenses have received the notices of one
// offset: those up to a position in the order of (ExpiresAt, ID). It is the
// data of an entry.
type watermark struct {
	Time time.Time `json:"time"`
	ID   string    `json:"id,omitempty"`

	// After the clock was turned back, licenses up to the time Given may have
	// received the notice already; their events up to Seq say so.
	Given time.Time `json:"given,omitzero"`
	Seq   int64     `json:"seq,omitempty"`
}

// GiveNotices appends a batch of due notices: license.expiring at each of
// EventOptions.ExpiryNotices before a license's ExpiresAt, license.expired at ExpiresAt,
// and license.lapsed at the end of its grace period. It reports whether more may be due.
func (s Service) GiveNotices(ctx context.Context) (more bool, err error) {
	byClock := s.As(call.Caller{Actor: call.ClockActor})
	clock := Of(&byClock)
	more, err = clock.giveExpiryNotices(ctx)
	if !more && (err == nil || errors.Is(err, feed.ErrPostponed)) { // license.lapsed comes after license.expired
		var late error
		more, late = clock.giveDue(ctx)
		err = cmp.Or(late, err)
	}
	if err != nil {
		err = fmt.Errorf("expiry notices: %w", err)
	}
	return more, err
}

// giveExpiryNotices appends a batch of license.expiring and license.expired.
//
// Each license gets each notice at most once, however many processes call
// giveNotices, and again only after ExpiresAt has moved. After the clock was
// turned back, the license's events say which notices it has, unless retention
// has removed them. If giveNotices has not run for a while, a license gets
// license.expired, or only the license.expiring notice nearest to its end.
// Revoked licenses get no notices. The first call for an offset appends nothing; notices start
// with licenses that become due after it. A license created or changed well
// after the time of a notice does not get that notice.
func (s Service) giveExpiryNotices(ctx context.Context) (more bool, err error) {
	due, lagging, err := s.noticesDue(ctx)
	if err != nil {
		return false, err
	}
	var left error // of the notices that were postponed
	for _, offset := range due {
		full, err := s.giveBatch(ctx, offset)
		if err != nil && !errors.Is(err, feed.ErrPostponed) {
			return false, err
		}
		more, left = more || full, cmp.Or(left, err)
	}
	if len(lagging) > 0 { // one Update moves all watermarks for which no notice is due
		err = s.Write(ctx, func(tx *call.Tx) error {
			for _, offset := range lagging {
				if _, _, err := s.giveNoticesOf(ctx, tx, offset, noticeBatch, false); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return more, cmp.Or(err, left)
}

// giveBatch appends a batch of notices of one offset. If that fails because of the work, each
// license gets an Update of its own, and the notice of one that fails even so is given later.
func (s Service) giveBatch(ctx context.Context, offset time.Duration) (full bool, left error) {
	var id string
	give := func(limit int, postpone bool) error {
		return feed.Contain(ctx, s.Opts.Logger, noticesJob, func() error {
			return s.Write(ctx, func(tx *call.Tx) (err error) {
				full, id, err = s.giveNoticesOf(ctx, tx, offset, limit, postpone)
				return err
			})
		})
	}
	err := give(noticeBatch, false)
	if !feed.IsOwn(ctx, err) {
		return full, err
	}
	full = true
	for i := 0; i < noticeBatch && full; i++ {
		if err = give(1, false); feed.IsOwn(ctx, err) {
			cause := err
			if err = give(1, true); err == nil {
				s.LogPostponed(ctx, noticesJob, id, cause)
				left = cmp.Or(left, fmt.Errorf("%w: %s: %w", feed.ErrPostponed, id, cause))
			}
		}
		if err != nil {
			return false, err
		}
	}
	return full, left
}

// noticesDue returns the offsets with notices that are due, and those without
// if any of their watermarks has to move.
func (s Service) noticesDue(ctx context.Context) (due, lagging []time.Duration, err error) {
	marks, err := s.Reader().Entries(ctx, store.EntryQuery{Kind: watermarkKind})
	if err != nil {
		return nil, nil, err
	}
	offsets := append(slices.Sorted(slices.Values(s.Opts.ExpiryNotices)), 0)
	slices.Reverse(offsets[:len(offsets)-1]) // earliest first, expiry last
	move := false
	for _, offset := range slices.Compact(offsets) {
		i := slices.IndexFunc(marks, func(e store.Entry) bool { return e.Key == watermarkKey(offset) })
		w, found := watermark{}, i >= 0
		if found {
			if err := call.Decode(marks[i].Data, &w); err != nil {
				return nil, nil, err
			}
		}
		w, q, idle := s.noticesAfter(w, found, offset, s.Now())
		if q.Expires.From.Before(q.Expires.Before) {
			q.Limit = 1
			if recs, err := s.Reader().Licenses(ctx, q); err != nil {
				return nil, nil, err
			} else if len(recs) > 0 {
				due = append(due, offset)
				continue
			}
		}
		lagging, move = append(lagging, offset), move || !idle
	}
	if !move {
		lagging = nil
	}
	return due, lagging, nil
}

// noticesAfter returns a watermark, corrected, and the query for the licenses
// after it whose notice is due. If idle is true, the watermark need not move.
func (s Service) noticesAfter(w watermark, found bool, offset time.Duration, now time.Time) (moved watermark, q store.LicenseQuery, idle bool) {
	until := terms.Capped(now.Add(offset)) // so that no notice is due for the last instant
	idle = found && until.Sub(w.Time) < noticeLag
	if !found {
		w = watermark{Time: until}
	} else if w.Time.After(until.Add(feed.WaitFor)) { // the clock was ahead and has been corrected
		if w.Given.Before(w.Time) {
			w.Given = w.Time
		}
		w, idle = watermark{Time: until, Given: w.Given}, false
	}
	q = store.LicenseQuery{
		Expires: store.TimeRange{From: w.Time, Before: until},
		Order:   store.ByExpiresAt,
		After:   store.Position{Time: w.Time, ID: w.ID},
		Limit:   noticeBatch,
	}
	return w, q, idle
}

// giveNoticesOf appends notices of one offset, up to limit, or postpones them, and moves its
// watermark. It reports whether there were as many, and the ID of the last license.
func (s Service) giveNoticesOf(ctx context.Context, tx *call.Tx, offset time.Duration, limit int, postpone bool) (full bool, id string, err error) {
	var w watermark
	e, err := tx.Entry(ctx, watermarkKind, watermarkKey(offset))
	found := err == nil
	if found {
		err = call.Decode(e.Data, &w)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return false, "", err
	}
	w, q, _ := s.noticesAfter(w, found, offset, tx.Now)
	q.Limit = limit
	if !w.Given.IsZero() && w.Seq == 0 { // the clock has just been corrected
		if w.Seq, err = lastSeq(ctx, tx); err != nil {
			return false, "", err
		}
	}
	var recs []store.License
	if q.Expires.From.Before(q.Expires.Before) {
		if recs, err = tx.Licenses(ctx, q); err != nil {
			return false, "", err
		}
	}
	full = len(recs) == limit
	looked := 0
	put := []store.Entry{{Kind: watermarkKind, Key: watermarkKey(offset), CreatedAt: tx.Now}}
	for _, row := range recs {
		if looked >= noticeLook {
			full = true
			break
		}
		w.Time, w.ID, id = row.ExpiresAt, row.ID, row.ID
		if row.State == store.StateRevoked || s.isNoticeOutdated(offset, row.ExpiresAt, tx.Now) {
			continue
		}
		if postpone {
			put = append(put, store.Entry{Kind: licenses.NoticeKind, Key: lateKey(row.ID, offset.String()), ExpiresAt: tx.Now.Add(feed.PostponedFor), CreatedAt: tx.Now})
			continue
		}
		rec, err := licenses.Read(row, tx.Now)
		if err != nil {
			return false, "", err
		}
		l, err := licenses.FromRecord(rec, tx.Now)
		if err != nil {
			return false, "", err
		}
		eventType, data := noticeOf(offset)
		if !row.ExpiresAt.After(w.Given) {
			given, n, err := wasGiven(ctx, tx, l, eventType, data.NoticeSeconds, w.Seq)
			if err != nil {
				return false, "", err
			}
			if looked += n; given {
				continue
			}
		}
		if err := s.Append(ctx, tx, eventType, l, data); err != nil {
			return false, "", err
		}
		if offset == 0 {
			put = append(put, licenses.LapseEntry(rec, tx.Now))
		}
	}
	if !full && w.Time.Before(q.Expires.Before) {
		w.Time, w.ID = q.Expires.Before, ""
	}
	if w.Time.After(w.Given) {
		w.Given, w.Seq = time.Time{}, 0
	}
	put[0].Data = record.Encode(w)
	return full, id, tx.PutEntries(ctx, put...)
}

// noticeOf returns the event of an offset.
func noticeOf(offset time.Duration) (eventType string, data api.EventData) {
	if offset == 0 {
		return api.EventLicenseExpired, data
	}
	return api.EventLicenseExpiring, api.EventData{NoticeSeconds: new(int64(offset / time.Second))}
}

// lastSeq returns the Seq of the newest event.
func lastSeq(ctx context.Context, r store.Reader) (int64, error) {
	newest, err := r.Events(ctx, store.EventQuery{Descending: true, Limit: 1})
	if err != nil || len(newest) == 0 {
		return 0, err
	}
	return newest[0].Seq, nil
}

// wasGiven reports whether the last events of a license up to a Seq include a
// notice of its present end, and how many events it has read.
func wasGiven(ctx context.Context, r store.Reader, l api.License, eventType string, noticeSeconds *int64, through int64) (given bool, read int, err error) {
	q := store.EventQuery{Subject: l.ID, Descending: true, After: through + 1, Limit: noticePage}
	for read < noticeLook {
		events, err := r.Events(ctx, q)
		if err != nil {
			return false, read, err
		}
		for _, e := range events {
			read++
			if e.Type != eventType {
				continue
			}
			var data api.EventData
			if err := call.Decode(e.Data, &data); err != nil {
				return false, read, err
			}
			if data.License != nil && len(data.Ended) == 0 && call.SameTime(data.License.ExpiresAt, l.ExpiresAt) && call.SameCount(data.NoticeSeconds, noticeSeconds) {
				return true, read, nil
			}
		}
		if len(events) < q.Limit {
			return false, read, nil
		}
		q.After = events[len(events)-1].Seq
	}
	return false, read, nil
}

// isNoticeOutdated reports whether a notice is too late: the license has
// expired, or the notice of a smaller offset is also due.
func (s Service) isNoticeOutdated(offset time.Duration, expiresAt, now time.Time) bool {
	if offset == 0 {
		return false
	}
	nearer := func(o time.Duration) bool { return o < offset && !now.Before(expiresAt.Add(-o)) }
	return nearer(0) || slices.ContainsFunc(s.Opts.ExpiryNotices, nearer)
}

func watermarkKey(offset time.Duration) string { return "expiry:" + offset.String() }
