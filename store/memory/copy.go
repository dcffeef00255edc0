package memory

import (
	"bytes"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// A row in a tree is shared by all states that hold it, so it is copied on the
// way in and on the way out (rule 13), and its times are brought to the form in
// which the contract returns them (rule 8).

func millis(t time.Time) time.Time { return t.Truncate(time.Millisecond).UTC() }

func copyLicense(l *store.License) *store.License {
	c := *l
	c.StartsAt, c.ExpiresAt = millis(l.StartsAt), millis(l.ExpiresAt)
	c.Document = bytes.Clone(l.Document)
	return &c
}

func copyActivation(a *store.Activation) *store.Activation {
	c := *a
	c.LeaseEndsAt, c.EndedAt = millis(a.LeaseEndsAt), millis(a.EndedAt)
	c.Document = bytes.Clone(a.Document)
	return &c
}

func copyEvent(e *store.Event) *store.Event {
	c := *e
	c.Time = millis(e.Time)
	c.Data = bytes.Clone(e.Data)
	return &c
}

func copyEntry(e *store.Entry) *store.Entry {
	c := *e
	c.ExpiresAt, c.CreatedAt = millis(e.ExpiresAt), millis(e.CreatedAt)
	c.Data = bytes.Clone(e.Data)
	return &c
}
