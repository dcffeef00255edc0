package feed

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// cursorKind is the kind of entries that hold a position in the feed: Data is the
// Seq that was last read, in decimal digits, or a [subscriberRecord].
const cursorKind = "cursor"

// ReadCursor returns the position that a cursor holds, if it exists.
func ReadCursor(ctx context.Context, r store.Reader, key string) (seq int64, ok bool, err error) {
	e, err := r.Entry(ctx, cursorKind, key)
	if errors.Is(err, store.ErrNotFound) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("cursor %s: %w", key, err)
	}
	seq, err = cursorSeq(e)
	return seq, err == nil, err
}

// cursorSeq returns the position in the entry of a cursor.
func cursorSeq(e store.Entry) (int64, error) {
	if strings.HasPrefix(e.Key, subscriberCursor) {
		rec, err := readSubscriberEntry(e)
		return rec.Seq, err
	}
	return decimalSeq(e)
}

func decimalSeq(e store.Entry) (int64, error) {
	seq, err := strconv.ParseInt(string(e.Data), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("cursor %s: %w", e.Key, err)
	}
	return seq, nil
}

// Newest returns the position after the newest event.
func Newest(ctx context.Context, r store.Reader) (p Place, err error) {
	events, err := r.Events(ctx, store.EventQuery{Descending: true, Limit: 1})
	for _, e := range events {
		p = PlaceOf(e)
	}
	return p, err
}

// stored returns t as stores represent it.
func stored(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
