package license

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/seed-d8a106b4/licensekit/store"
)

// feedCursorVersion is the first byte of a cursor of the feed.
const feedCursorVersion = 2

// A place is a position in the feed: after the event with a Seq. The digest
// of that event's ID distinguishes it from another event that got the same
// Seq after a backup was restored. The zero place is before the first event.
type place struct {
	seq    int64
	digest [8]byte
}

// placeOf returns the position after an event.
func placeOf(e store.Event) place {
	sum := sha256.Sum256([]byte(e.ID))
	return place{e.Seq, [8]byte(sum[:])}
}

// String returns the cursor: the version, the Seq and the digest, in base64url.
func (p place) String() string {
	b := binary.BigEndian.AppendUint64([]byte{feedCursorVersion}, uint64(p.seq))
	return base64.RawURLEncoding.EncodeToString(append(b, p.digest[:]...))
}

// parsePlace decodes a cursor. An empty cursor is the zero place.
func parsePlace(cursor string) (p place, ok bool) {
	if cursor == "" {
		return place{}, true
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) != 17 || b[0] != feedCursorVersion {
		return place{}, false
	}
	p = place{int64(binary.BigEndian.Uint64(b[1:])), [8]byte(b[9:])}
	return p, p.seq >= 0 && p.String() == cursor
}

// check returns [ErrCursorGone] unless the feed, given what was purged,
// continues at p.
func (p place) check(ctx context.Context, r store.Reader, purged place) error {
	switch {
	case p == purged:
		return nil
	case p.seq <= purged.seq:
		return fmt.Errorf("event %d: retention removed later events: %w", p.seq, ErrCursorGone)
	}
	at, err := r.Events(ctx, store.EventQuery{After: p.seq - 1, Limit: 1})
	if err != nil {
		return err
	}
	if len(at) == 0 || placeOf(at[0]) != p {
		return fmt.Errorf("event %d is not the event of the cursor: %w", p.seq, ErrCursorGone)
	}
	return nil
}

// purgedKind is the kind of the single entry that records up to which event
// the feed was purged. Its data is a place.
const purgedKind = "purged"

// readPurged returns the position up to which the feed was purged.
func readPurged(ctx context.Context, r store.Reader) (place, error) {
	e, err := r.Entry(ctx, purgedKind, purgedKind)
	if errors.Is(err, store.ErrNotFound) {
		return place{}, nil
	}
	if err != nil {
		return place{}, err
	}
	p, ok := parsePlace(string(e.Data))
	if !ok {
		return place{}, fmt.Errorf("the %s entry is damaged", purgedKind)
	}
	return p, nil
}

// PurgedThrough returns the Seq of the last purged event, or zero if none
// was purged. Code that reads the feed directly from a store uses it.
func PurgedThrough(ctx context.Context, r store.Reader) (seq int64, err error) {
	p, err := readPurged(ctx, r)
	return p.seq, err
}

// purgeEvents removes the oldest events through the given one and records
// the position.
func (tx *transaction) purgeEvents(ctx context.Context, through store.Event) (n int, err error) {
	if n, err = tx.DeleteEvents(ctx, through.Seq, purgeBatch); err != nil || n == 0 {
		return n, err
	}
	before, err := readPurged(ctx, tx)
	if err != nil || before.seq >= through.Seq {
		return n, err
	}
	return n, tx.PutEntries(ctx, store.Entry{Kind: purgedKind, Key: purgedKind, Data: []byte(placeOf(through).String()), CreatedAt: tx.now})
}
