package webhook

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/record"
)

// A listScope is the digest of everything that a position in a list depends on.
type listScope string

func newScope(format string, args ...any) listScope {
	sum := sha256.Sum256(fmt.Appendf(nil, format, args...))
	return listScope(sum[:16])
}

// scopeOf returns the scope of a list of deliveries.
func scopeOf(p api.ListDeliveriesParams) listScope {
	return newScope("deliveries %q %q", p.WebhookID, p.Status)
}

// cursorAfter returns the cursor of the page after an ID.
func (s listScope) cursorAfter(id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(string(s) + id))
}

// after returns the ID before the page of a cursor, or "" for the first page. It
// returns an [*api.InvalidError] if the cursor is malformed or belongs to
// another list.
func (s listScope) after(cursor, prefix string) (id string, err error) {
	if cursor == "" {
		return "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	id, ok := strings.CutPrefix(string(text), string(s))
	if err != nil || !ok || !record.IsID(prefix, id) || s.cursorAfter(id) != cursor {
		return "", api.Invalid("cursor", api.FieldInvalidFormat, "must be the next_cursor of a list with the same filters; omit it to start over")
	}
	return id, nil
}
