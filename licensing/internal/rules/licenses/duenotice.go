package licenses

import (
	"bytes"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/terms"
	"github.com/seed-d8a106b4/licensekit/store"
)

// NoticeKind is the kind of the entries of notices that are due at ExpiresAt. Key is the
// ID of a license that has expired, for the notice that its grace period has ended. For
// the notices that a base will end before the license does, a slash and the end follow, and
// for a notice that was postponed, "/late:" and its offset.
const NoticeKind = "license_notice"

// LapseEntry returns the entry of the notice that the grace period of a license has ended.
func LapseEntry(rec record.License, now time.Time) store.Entry {
	return store.Entry{Kind: NoticeKind, Key: rec.ID, ExpiresAt: GraceEnd(rec), CreatedAt: now}
}

// LapsesAnew reports whether a change gives an expired license another end of its grace
// period, unless that has passed before and after the change. Without a change, the
// notice that the license has expired stores the entry.
func LapsesAnew(was, is record.License, now time.Time) bool {
	if !isExpired(is, now) || was.ExpiresAt.Equal(is.ExpiresAt) && was.GraceSeconds == is.GraceSeconds {
		return false
	}
	endless := was.ID != "" && was.ExpiresAt.IsZero()
	return endless || GraceEnd(was).After(now) || GraceEnd(is).After(now)
}

func isExpired(rec record.License, now time.Time) bool {
	return !rec.ExpiresAt.IsZero() && !now.Before(rec.ExpiresAt)
}

// BaseEnds returns the changes to come at which a base ends before the license does, by
// the keys of their notices.
func BaseEnds(rec record.License) (ends map[string]terms.Change, err error) {
	changes, err := ChangesOf(rec)
	for _, c := range changes {
		if !outlives(rec, c) {
			continue
		}
		if ends == nil {
			ends = map[string]terms.Change{}
		}
		ends[BaseEndKey(rec.ID, c.Ends)] = c
	}
	return ends, err
}

// BaseEndKey returns the key of an entry about an end of a license that is not its last.
func BaseEndKey(id string, end time.Time) string {
	return id + "/" + end.UTC().Format(time.RFC3339Nano)
}

// outlives reports whether a base ends with a change before the license does.
func outlives(rec record.License, c terms.Change) bool {
	return !c.Ends.IsZero() && (rec.ExpiresAt.IsZero() || c.Ends.Before(rec.ExpiresAt))
}

// NextNotice returns when the next notice that something ends is due; zero: never.
func (s Service) NextNotice(ends, now time.Time) (at time.Time) {
	for _, offset := range slices.Sorted(slices.Values(s.Opts.ExpiryNotices)) {
		if due := ends.Add(-offset); due.After(now) {
			at = due
		}
	}
	return at
}

// notices returns the entries of the notices that a change of a license brings. Those
// that it makes outdated are removed when they are due.
func (s Service) notices(was, is record.License, now time.Time) (due []store.Entry, err error) {
	if LapsesAnew(was, is, now) {
		due = append(due, LapseEntry(is, now))
	}
	if len(is.Changes) == 0 || bytes.Equal(was.Changes, is.Changes) && was.ExpiresAt.Equal(is.ExpiresAt) {
		return due, nil
	}
	before, err := BaseEnds(was)
	if err != nil {
		return nil, err
	}
	after, err := BaseEnds(is)
	for key, c := range after {
		if _, ok := before[key]; ok {
			continue
		}
		if at := s.NextNotice(c.Ends, now); !at.IsZero() {
			due = append(due, store.Entry{Kind: NoticeKind, Key: key, ExpiresAt: at, CreatedAt: now})
		}
	}
	return due, err
}
