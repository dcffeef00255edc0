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
	l.StartsAt, l.ExpiresAt = cut(l.StartsAt), cut(l.ExpiresAt)
	l.Document = bytes.Clone(l.Document)
	return l
}

func copyActivation(a store.Activation) store.Activation {
	a.LeaseEndsAt, a.EndedAt = cut(a.LeaseEndsAt), cut(a.EndedAt)
	a.Document = bytes.Clone(a.Document)
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
