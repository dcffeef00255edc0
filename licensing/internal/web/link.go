package web

import (
	"net/http"
	"net/url"
	"strings"
)

// Link returns the relative reference that leads from the resource of r to
// the one at the given segments below the mount. It is right wherever the
// handler is mounted and whatever proxy stands before it, because it only
// climbs as far as the path that is left once the mount is stripped.
func Link(r *http.Request, segments ...string) string {
	var b strings.Builder
	for range strings.Count(r.URL.EscapedPath(), "/") - 1 {
		b.WriteString("../")
	}
	for i, s := range segments {
		if i > 0 {
			b.WriteByte('/')
		}
		b.WriteString(url.PathEscape(s))
	}
	return b.String()
}

// nextLink returns the Link field (RFC 8288) to the page of a list behind the
// cursor: the same resource with the same query, but for the cursor.
func nextLink(r *http.Request, cursor string) string {
	q := r.URL.Query()
	q.Set("cursor", cursor)
	return "<?" + q.Encode() + `>; rel="next"`
}
