package licenses

import (
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// NoticeKind is the kind of the entries of notices that are due at ExpiresAt. Key is the
// ID of a license that has expired, for the notice that its grace period has ended.
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
