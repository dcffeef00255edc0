package license

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/valid"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/record"
	"github.com/seed-d8a106b4/licensekit/store"
)

// The first byte of a cursor, so that the format can change.
const (
	cursorAfter  = 1 // the page after the position
	cursorBefore = 2 // the page before it
)

// A cursor is the position after which the next page of a list begins, or
// before which the previous page ends.
type cursor struct {
	scope  [16]byte  // digest of the filter, the order and the caller's product limit
	pinned time.Time // when the first page was read
	after  store.Position
	back   bool // the page before the position or, if that is zero, the last page
}

// errCursor is returned for a malformed cursor or one of another list.
var errCursor = api.Invalid("cursor", api.FieldInvalidFormat, "must be the next_cursor of a list with the same filters; omit it to start over")

// scope returns the digest of everything that positions in a list depend on.
// The page size is not included and may change between pages.
func (s *Service) scope(p api.ListLicensesParams) [16]byte {
	if p.IDs != nil {
		return scopeOf("licenses %q %q", p.IDs, s.products()) // filters apply on every page
	}
	return scopeOf("licenses %q %q %q %d %d %q %q %t %t %q",
		p.CustomerID, p.ProductID, p.Status, unixMillis(p.ExpiresBefore), unixMillis(p.ExpiresAfter),
		p.Search, p.KeyPart, p.NewestFirst, s.caller.Products != nil, s.products())
}

func scopeOf(format string, args ...any) [16]byte {
	sum := sha256.Sum256(fmt.Appendf(nil, format, args...))
	return [16]byte(sum[:])
}

// String encodes c in base64url: version, scope, both times in milliseconds,
// and the ID.
func (c cursor) String() string {
	version := byte(cursorAfter)
	if c.back {
		version = cursorBefore
	}
	b := append([]byte{version}, c.scope[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(unixMillis(c.pinned)))
	b = binary.BigEndian.AppendUint64(b, uint64(unixMillis(c.after.Time)))
	return base64.RawURLEncoding.EncodeToString(append(b, c.after.ID...))
}

// parseCursor decodes a cursor if it has the given scope and ID prefix; empty: any ID.
// Nothing in it is trusted: filters and the product limit apply again on
// every page.
func parseCursor(text string, scope [16]byte, prefix string) (c cursor, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) < 33 || b[0] != cursorAfter && b[0] != cursorBefore || [16]byte(b[1:17]) != scope {
		return cursor{}, false
	}
	c.scope, c.back = scope, b[0] == cursorBefore
	c.pinned = fromMillis(int64(binary.BigEndian.Uint64(b[17:])))
	c.after.Time = fromMillis(int64(binary.BigEndian.Uint64(b[25:])))
	c.after.ID = string(b[33:])
	if prefix != "" && !record.IsID(prefix, c.after.ID) && !(c.back && c.after.IsZero()) {
		return cursor{}, false
	}
	return c, valid.IsInstant(c.pinned) && (c.after.Time.IsZero() || valid.IsInstant(c.after.Time)) && c.String() == text
}

// unixMillis and fromMillis represent the zero time as the smallest integer.
func unixMillis(t time.Time) int64 {
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
