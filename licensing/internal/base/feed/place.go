package feed

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// cursorVersion is the first byte of a cursor of the feed.
const cursorVersion = 2

// A Place is a position in the feed: after the event with a Seq. The digest
// of that event's ID distinguishes it from another event that got the same
// Seq after a backup was restored. The zero Place is before the first event.
type Place struct {
	seq    int64
	digest [8]byte
}

// PlaceOf returns the position after an event.
func PlaceOf(e store.Event) Place {
	sum := sha256.Sum256([]byte(e.ID))
	return Place{e.Seq, [8]byte(sum[:])}
}

// PlaceAt returns a position for lists that are newest first. They begin below
// seq and ignore which event has it.
func PlaceAt(seq int64) Place { return PlaceOf(store.Event{Seq: seq}) }

// Seq returns the Seq of the event before the position.
func (p Place) Seq() int64 { return p.seq }

// String returns the cursor: the version, the Seq and the digest, in base64url.
func (p Place) String() string {
	b := binary.BigEndian.AppendUint64([]byte{cursorVersion}, uint64(p.seq))
	return base64.RawURLEncoding.EncodeToString(append(b, p.digest[:]...))
}

// ParsePlace decodes a cursor. An empty cursor is the zero Place.
func ParsePlace(cursor string) (p Place, ok bool) {
	if cursor == "" {
		return Place{}, true
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) != 17 || b[0] != cursorVersion {
		return Place{}, false
	}
	p = Place{int64(binary.BigEndian.Uint64(b[1:])), [8]byte(b[9:])}
	return p, p.seq >= 0 && p.String() == cursor
}

// Newest returns the position after the newest event.
func Newest(ctx context.Context, r store.Reader) (p Place, err error) {
	events, err := r.Events(ctx, store.EventQuery{Descending: true, Limit: 1})
	for _, e := range events {
		p = PlaceOf(e)
	}
	return p, err
}

// Check returns [api.ErrCursorGone] unless the feed, given what was purged,
// continues at p.
func (p Place) Check(ctx context.Context, r store.Reader, purged Place) error {
	switch {
	case p == purged:
		return nil
	case p.seq <= purged.seq:
		return fmt.Errorf("event %d: retention removed later events: %w", p.seq, api.ErrCursorGone)
	}
	exists, err := p.Exists(ctx, r)
	if err == nil && !exists {
		err = fmt.Errorf("event %d is not the event of the cursor: %w", p.seq, api.ErrCursorGone)
	}
	return err
}

// Exists reports whether the feed has the event before p. It returns false if that
// event was lost, as by a failover or a restored backup, also after another event got
// its Seq. It returns true for the zero Place.
func (p Place) Exists(ctx context.Context, r store.Reader) (bool, error) {
	if p == (Place{}) {
		return true, nil
	}
	at, err := r.Events(ctx, store.EventQuery{After: p.seq - 1, Limit: 1})
	return len(at) > 0 && PlaceOf(at[0]) == p, err
}

// purgedKind is the kind of the single entry that records up to which event
// the feed was purged. Its data is a [Place].
const purgedKind = "purged"

// ReadPurged returns the position up to which the feed was purged.
func ReadPurged(ctx context.Context, r store.Reader) (Place, error) {
	e, err := r.Entry(ctx, purgedKind, purgedKind)
	if errors.Is(err, store.ErrNotFound) {
		return Place{}, nil
	}
	if err != nil {
		return Place{}, err
	}
	p, ok := ParsePlace(string(e.Data))
	if !ok {
		return Place{}, fmt.Errorf("the %s entry is damaged", purgedKind)
	}
	return p, nil
}

// purgeEvents removes the oldest events through the given one and records
// the position.
func purgeEvents(ctx context.Context, tx store.Tx, through store.Event, now time.Time) (n int, err error) {
	if n, err = tx.DeleteEvents(ctx, through.Seq, purgeBatch); err != nil || n == 0 {
		return n, err
	}
	before, err := ReadPurged(ctx, tx)
	if err != nil || before.seq >= through.Seq {
		return n, err
	}
	return n, tx.PutEntries(ctx, store.Entry{Kind: purgedKind, Key: purgedKind, Data: []byte(PlaceOf(through).String()), CreatedAt: now})
}

// PurgedThrough returns the Seq of the last purged event, or zero if none was
// purged.
func PurgedThrough(ctx context.Context, r store.Reader) (seq int64, err error) {
	p, err := ReadPurged(ctx, r)
	return p.seq, err
}
