package web

import (
	"net/http"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// requestIDHeader carries the request ID, in requests and responses.
const requestIDHeader = "X-Request-Id"

// newRequestID returns the request ID sent by the client, or a new one if it is
// missing or not safe to log.
func newRequestID(r *http.Request) string {
	if ids := r.Header[requestIDHeader]; len(ids) == 1 && goodRequestID(ids[0]) {
		return ids[0]
	}
	return store.NewID("req", time.Now())
}

func goodRequestID(id string) bool {
	for _, c := range []byte(id) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_', c == '-':
		default:
			return false
		}
	}
	return 0 < len(id) && len(id) <= 64
}
