package mapstore

import (
	"bytes"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// What goes in and what comes out is copied, and its times are cut to
// milliseconds in UTC.

func cut(t time.Time) time.Time { return t.Truncate(time.Millisecond).UTC() }

func copyLicense(l store.License) store.License {
	l.StateAt, l.StartsAt, l.ExpiresAt = cut(l.StateAt), cut(l.StartsAt), cut(l.ExpiresAt)
	l.CreatedAt, l.UpdatedAt = cut(l.CreatedAt), cut(l.UpdatedAt)
	l.Entitlements, l.Metadata = bytes.Clone(l.Entitlements), bytes.Clone(l.Metadata)
	return l
}

func copyActivation(a store.Activation) store.Activation {
	a.LeaseEndsAt, a.EndedAt = cut(a.LeaseEndsAt), cut(a.EndedAt)
	a.CreatedAt, a.LastSeenAt = cut(a.CreatedAt), cut(a.LastSeenAt)
	a.Metadata = bytes.Clone(a.Metadata)
	return a
}

func copyEvent(e store.Event) store.Event {
	e.Time = cut(e.Time)
	e.Data = bytes.Clone(e.Data)
	return e
}

func copyEntry(e store.Entry) store.Entry {
	e.ExpiresAt, e.CreatedAt = cut(e.ExpiresAt), cut(e.CreatedAt)
	e.Data = bytes.Clone(e.Data)
	return e
}
