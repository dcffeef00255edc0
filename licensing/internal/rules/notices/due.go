package notices

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/licenses"
	"github.com/seed-d8a106b4/licensekit/store"
)

// giveDue appends a batch of the notices that have an entry, once each: license.lapsed of
// licenses whose grace period has ended, and license.expiring of those of which a base ends
// before the license does. Each entry is removed, or moved to the next notice, with the
// event. A license has the first kind of entry from license.expired on, or from a change of
// its end after that.
func (s Service) giveDue(ctx context.Context) (more bool, err error) {
	return s.DoDue(ctx, noticesJob, licenses.NoticeKind, noticeBatch, func(tx *call.Tx, due []store.Entry) error {
		byID := map[string][]store.Entry{}
		var keys []string
		for _, e := range due {
			id, _, _ := strings.Cut(e.Key, "/")
			byID[id], keys = append(byID[id], e), append(keys, e.Key)
		}
		if err := tx.DeleteEntries(ctx, licenses.NoticeKind, keys...); err != nil {
			return err
		}
		rows, err := tx.Licenses(ctx, store.LicenseQuery{IDs: slices.Collect(maps.Keys(byID)), Limit: noticeBatch})
		for _, row := range rows {
			if err == nil && row.State != store.StateRevoked {
				err = s.giveDueOf(ctx, tx, row, byID[row.ID])
			}
		}
		return err
	})
}

// giveDueOf appends the notices of a license whose entries are due.
func (s Service) giveDueOf(ctx context.Context, tx *call.Tx, row store.License, due []store.Entry) error {
	rec, err := licenses.Read(row, tx.Now)
	if err != nil {
		return err
	}
	l, err := licenses.FromRecord(rec, tx.Now)
	for _, e := range due {
		switch {
		case err != nil:
			return err
		case e.Key == rec.ID:
			err = s.lapse(ctx, tx, rec, l)
		case strings.HasPrefix(e.Key, lateKey(rec.ID, "")):
			err = s.giveLate(ctx, tx, rec, l, e)
		default:
			err = s.baseEnds(ctx, tx, rec, l, e)
		}
	}
	return err
}

// lapse appends the event that the grace period of a license has ended, unless its end has
// become later.
func (s Service) lapse(ctx context.Context, tx *call.Tx, rec record.License, l api.License) error {
	switch end := licenses.GraceEnd(rec); {
	case rec.ExpiresAt.IsZero():
		return nil
	case end.After(tx.Now):
		return tx.PutEntries(ctx, licenses.LapseEntry(rec, tx.Now))
	}
	return s.Append(ctx, tx, api.EventLicenseLapsed, l, api.EventData{})
}

// baseEnds appends the latest notice that is due of a base, unless the base has ended or was
// renewed.
func (s Service) baseEnds(ctx context.Context, tx *call.Tx, rec record.License, l api.License, e store.Entry) error {
	ends, err := licenses.BaseEnds(rec)
	c, ok := ends[e.Key]
	if err != nil || !ok || !c.Ends.After(tx.Now) {
		return err
	}
	for _, offset := range slices.Sorted(slices.Values(s.Opts.ExpiryNotices)) {
		if c.Ends.Add(-offset).After(tx.Now) {
			continue
		}
		data := api.EventData{NoticeSeconds: new(int64(offset / time.Second)), GraceEndsAt: &c.At, Ended: c.Ended}
		if err := s.Append(ctx, tx, api.EventLicenseExpiring, l, data); err != nil {
			return err
		}
		break
	}
	if e.ExpiresAt = licenses.Of(s.Call).NextNotice(c.Ends, tx.Now); e.ExpiresAt.IsZero() {
		return nil
	}
	return tx.PutEntries(ctx, e)
}

// lateKey returns the key of the entry of a notice of an offset that was postponed.
func lateKey(id, offset string) string { return id + "/late:" + offset }

// giveLate appends a notice that was postponed, unless the end of the license has become later
// or the license has the notice.
func (s Service) giveLate(ctx context.Context, tx *call.Tx, rec record.License, l api.License, e store.Entry) error {
	offset, err := time.ParseDuration(strings.TrimPrefix(e.Key, lateKey(rec.ID, "")))
	if err != nil || rec.ExpiresAt.IsZero() || rec.ExpiresAt.After(tx.Now.Add(offset)) || s.isNoticeOutdated(offset, rec.ExpiresAt, tx.Now) {
		return err
	}
	eventType, data := noticeOf(offset)
	last, err := lastSeq(ctx, tx)
	if err != nil {
		return err
	}
	if given, _, err := wasGiven(ctx, tx, l, eventType, data.NoticeSeconds, last); err != nil || given {
		return err
	}
	if err := s.Append(ctx, tx, eventType, l, data); err != nil || offset > 0 {
		return err
	}
	return tx.PutEntries(ctx, licenses.LapseEntry(rec, tx.Now))
}
