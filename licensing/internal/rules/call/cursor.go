package call

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"iter"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// The first byte of a cursor, so that the format can change.
const (
	cursorAfter  = 1 // the page after the position
	cursorBefore = 2 // the page before it
)

// A Cursor is the position after which the next page of a list begins, or
// before which the previous page ends.
type Cursor struct {
	Scope  [16]byte  // digest of the filter, the order and the caller's product limit
	Pinned time.Time // when the first page was read
	After  store.Position
	Back   bool // the page before the position or, if that is zero, the last page
}

// ErrCursor is returned for a malformed cursor or one of another list.
var ErrCursor = api.Invalid("cursor", api.FieldInvalidFormat, "must be the next_cursor of a list with the same filters; omit it to start over")

func ScopeOf(format string, args ...any) [16]byte {
	sum := sha256.Sum256(fmt.Appendf(nil, format, args...))
	return [16]byte(sum[:])
}

// String encodes c in base64url: version, scope, both times in milliseconds,
// and the ID.
func (c Cursor) String() string {
	version := byte(cursorAfter)
	if c.Back {
		version = cursorBefore
	}
	b := append([]byte{version}, c.Scope[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(Millis(c.Pinned)))
	b = binary.BigEndian.AppendUint64(b, uint64(Millis(c.After.Time)))
	return base64.RawURLEncoding.EncodeToString(append(b, c.After.ID...))
}

// ParseCursor decodes a cursor if it has the given scope and ID prefix; empty: any ID.
// Nothing in it is trusted: filters and the product limit apply again on
// every page.
func ParseCursor(text string, scope [16]byte, prefix string) (c Cursor, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) < 33 || b[0] != cursorAfter && b[0] != cursorBefore || [16]byte(b[1:17]) != scope {
		return Cursor{}, false
	}
	c.Scope, c.Back = scope, b[0] == cursorBefore
	c.Pinned = fromMillis(int64(binary.BigEndian.Uint64(b[17:])))
	c.After.Time = fromMillis(int64(binary.BigEndian.Uint64(b[25:])))
	c.After.ID = string(b[33:])
	if prefix != "" && !record.IsID(prefix, c.After.ID) && !(c.Back && c.After.IsZero()) {
		return Cursor{}, false
	}
	return c, valid.IsInstant(c.Pinned) && (c.After.Time.IsZero() || valid.IsInstant(c.After.Time)) && c.String() == text
}

// unixMillis and fromMillis represent the zero time as the smallest integer.
func Millis(t time.Time) int64 {
	if t.IsZero() {
		return -1 << 63
	}
	return t.UnixMilli()
}

func fromMillis(ms int64) time.Time {
	if ms == -1<<63 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// All iterates over the records of a list, page by page, and stops after the first
// error. read returns the page of a cursor, which is empty for the first page.
func All[T any](read func(cursor string) (api.Page[T], error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for cursor := ""; ; {
			page, err := read(cursor)
			if err != nil {
				yield(*new(T), err)
				return
			}
			for _, row := range page.Data {
				if !yield(row, nil) {
					return
				}
			}
			if !page.HasMore {
				return
			}
			cursor = page.NextCursor
		}
	}
}
