package webhook

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

// defaultLimit is the default number of deliveries on a page.
const defaultLimit = 50

// scope returns the digest of everything that a position in a list of
// deliveries depends on.
func (p DeliveriesParams) scope() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "deliveries %q %q", p.WebhookID, p.Status))
	return string(sum[:16])
}

// cursorAfter returns the cursor of the page after a delivery.
func (p DeliveriesParams) cursorAfter(id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(p.scope() + id))
}

// after returns the ID of the delivery before the page, or "" for the first page.
// It returns false if the cursor is malformed or belongs to another list.
func (p DeliveriesParams) after() (id string, ok bool) {
	if p.Cursor == "" {
		return "", true
	}
	text, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	id, ok = strings.CutPrefix(string(text), p.scope())
	return id, err == nil && ok && isID("dlv", id) && p.cursorAfter(id) == p.Cursor
}
