package license

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// cursorVersion is the first byte of a cursor, so that its form can change.
const cursorVersion = 1

// A cursor is the place where the next page of a list begins.
type cursor struct {
	scope  [16]byte  // a digest of what the list selects, and for whom
	pinned time.Time // the instant at which the list was begun
	after  store.Position
}

// errCursor is returned for a cursor that is none, or of another list.
var errCursor = Invalid("cursor", CodeInvalidFormat, "must be the next_cursor of a list with the same filter; begin again without it")

// scope returns the digest of all that the places in a list depend on. The
// size of a page is not part of it, and may change on the way.
func (s *Service) scope(p ListParams) [16]byte {
	return scopeOf("licenses %q %q %q %d %d %q %t %t %q",
		p.CustomerID, p.ProductID, p.Status, unixMillis(p.ExpiresBefore), unixMillis(p.ExpiresAfter),
		p.Search, p.NewestFirst, s.caller.Products != nil, s.products())
}

func scopeOf(format string, args ...any) [16]byte {
	sum := sha256.Sum256(fmt.Appendf(nil, format, args...))
	return [16]byte(sum[:])
}

// String returns c in base64url: the version, the scope, the two times in
// milliseconds and the id.
func (c cursor) String() string {
	b := append([]byte{cursorVersion}, c.scope[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(unixMillis(c.pinned)))
	b = binary.BigEndian.AppendUint64(b, uint64(unixMillis(c.after.Time)))
	return base64.RawURLEncoding.EncodeToString(append(b, c.after.ID...))
}

// parseCursor reads what String writes, if it is of that scope and its id has
// that prefix. What else is in it needs no trust: the filters and the caller's
// limit hold for every page anew.
func parseCursor(text string, scope [16]byte, prefix string) (c cursor, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) < 33 || b[0] != cursorVersion || [16]byte(b[1:17]) != scope || !isID(prefix, string(b[33:])) {
		return cursor{}, false
	}
	c.scope = scope
	c.pinned = fromMillis(int64(binary.BigEndian.Uint64(b[17:])))
	c.after.Time = fromMillis(int64(binary.BigEndian.Uint64(b[25:])))
	c.after.ID = string(b[33:])
	return c, isInstant(c.pinned) && (c.after.Time.IsZero() || isInstant(c.after.Time)) && c.String() == text
}

// unixMillis and fromMillis carry the zero time as the smallest number.
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
