package web

import (
	"net/http"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// requestIDHeader carries the request ID, in requests and responses.
const requestIDHeader = "X-Request-Id"

// newRequestID returns the request ID sent by the client, or a new one if it is
// missing or not safe to log.
func newRequestID(r *http.Request) string {
	const safe = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
	if ids := r.Header[requestIDHeader]; len(ids) == 1 && ids[0] != "" && len(ids[0]) <= 64 && strings.Trim(ids[0], safe) == "" {
		return ids[0]
	}
	return store.NewID("req", time.Now())
}
