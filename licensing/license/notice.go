package license

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// clockActor is the actor of events caused by the passage of time.
const clockActor = "clock"

const (
	// noticeBatch is how many notices of one offset one Update appends.
	noticeBatch = 100
	// noticeLag is how far a watermark may lag while no notice is due, so
	// that most rounds write nothing.
	noticeLag = time.Hour
)

// A watermark records which licenses have received the notices of one
// offset: those up to a position in the order of (ExpiresAt, ID). It is the
// data of an entry.
type watermark struct {
	Time time.Time `json:"time"`
	ID   string    `json:"id,omitempty"`
}

// giveNotices appends a batch of due expiry notices: license.expiring at
// each of EventOptions.ExpiryNotices before a license's ExpiresAt, and
// license.expired at ExpiresAt. It reports whether more may be due.
//
// Each license gets each notice at most once, however many processes call
// giveNotices, and again only after ExpiresAt has moved later. If
// giveNotices has not run for a while, a license gets license.expired, or
// only the license.expiring notice nearest to its end. Revoked licenses get
// no notices. The first call for an offset appends nothing; notices start
// with licenses that become due after it. A license created or changed well
// after the time of a notice does not get that notice.
func (s *Service) giveNotices(ctx context.Context) (more bool, err error) {
	s = s.As(Caller{Actor: clockActor})
	offsets := append(slices.Sorted(slices.Values(s.opts.Events.ExpiryNotices)), 0)
	slices.Reverse(offsets[:len(offsets)-1]) // earliest first, expiry last
	for _, offset := range slices.Compact(offsets) {
		_, q, idle, err := s.noticesDue(ctx, s.reader(), offset, s.now())
		if err != nil {
			return false, fmt.Errorf("expiry notices: %w", err)
		}
		if idle {
			q.Limit = 1
			if recs, err := s.reader().Licenses(ctx, q); err != nil {
				return false, fmt.Errorf("expiry notices: %w", err)
			} else if len(recs) == 0 {
				continue
			}
		}
		full := false
		err = s.update(ctx, func(tx *transaction) (err error) {
			full, err = s.giveNoticesOf(ctx, tx, offset)
			return err
		})
		if err != nil {
			return false, fmt.Errorf("expiry notices: %w", err)
		}
		more = more || full
	}
	return more, nil
}

// noticesDue returns the watermark of an offset and the query for the
// licenses after it whose notice is due. If idle is true, the watermark need
// not move.
func (s *Service) noticesDue(ctx context.Context, r store.Reader, offset time.Duration, now time.Time) (w watermark, q store.LicenseQuery, idle bool, err error) {
	until := now.Add(offset)
	e, err := r.Entry(ctx, store.KindWatermark, watermarkKey(offset))
	switch {
	case errors.Is(err, store.ErrNotFound):
		w, err = watermark{Time: until}, nil
	case err == nil:
		err = decode(e.Data, &w)
		if idle = until.Sub(w.Time) < noticeLag; w.Time.After(until.Add(noticeLag)) {
			w, idle = watermark{Time: until}, false // the clock was ahead and has been corrected
		}
	}
	q = store.LicenseQuery{
		Expires: store.TimeRange{From: w.Time, Before: until},
		Order:   store.ByExpiresAt,
		After:   store.Position{Time: w.Time, ID: w.ID},
		Limit:   noticeBatch,
	}
	return w, q, idle, err
}

// giveNoticesOf appends a batch of notices of one offset and moves its
// watermark. It reports whether the batch was full.
func (s *Service) giveNoticesOf(ctx context.Context, tx *transaction, offset time.Duration) (full bool, err error) {
	w, q, _, err := s.noticesDue(ctx, tx, offset, tx.now)
	if err != nil {
		return false, err
	}
	var recs []store.License
	if q.Expires.From.Before(q.Expires.Before) {
		if recs, err = tx.Licenses(ctx, q); err != nil {
			return false, err
		}
	}
	for _, rec := range recs {
		w = watermark{Time: rec.ExpiresAt, ID: rec.ID}
		if rec.State == store.StateRevoked || s.isNoticeOutdated(offset, rec.ExpiresAt, tx.now) {
			continue
		}
		l, err := fromRecord(rec, tx.now)
		if err != nil {
			return false, err
		}
		eventType, data := EventLicenseExpired, EventData{}
		if offset > 0 {
			seconds := int64(offset / time.Second)
			eventType, data.NoticeSeconds = EventLicenseExpiring, &seconds
		}
		if err := s.append(ctx, tx, eventType, l, data); err != nil {
			return false, err
		}
	}
	if full = len(recs) == noticeBatch; !full && w.Time.Before(q.Expires.Before) {
		w = watermark{Time: q.Expires.Before}
	}
	return full, tx.PutEntries(ctx, store.Entry{Kind: store.KindWatermark, Key: watermarkKey(offset), Data: encode(w), CreatedAt: tx.now})
}

// isNoticeOutdated reports whether a notice is too late: the license has
// expired, or the notice of a smaller offset is also due.
func (s *Service) isNoticeOutdated(offset time.Duration, expiresAt, now time.Time) bool {
	if offset == 0 {
		return false
	}
	nearer := func(o time.Duration) bool { return o < offset && !now.Before(expiresAt.Add(-o)) }
	return nearer(0) || slices.ContainsFunc(s.opts.Events.ExpiryNotices, nearer)
}

func watermarkKey(offset time.Duration) string { return "expiry:" + offset.String() }
