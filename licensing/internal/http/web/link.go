package web

import (
	"net/http"
	"net/url"
	"strings"
)

// link returns a relative reference from the resource of r to the path with the
// given segments below the mount. It works at any mount and behind any proxy,
// because it depends only on the path that is left after the prefix is
// stripped.
func link(r *http.Request, segments ...string) string {
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return strings.Repeat("../", strings.Count(r.URL.EscapedPath(), "/")-1) + strings.Join(segments, "/")
}

// nextLink returns the Link header (RFC 8288) for the next page of a list: the
// same resource and query with the given cursor.
func nextLink(r *http.Request, cursor string) string {
	q := r.URL.Query()
	q.Set("cursor", cursor)
	return "<?" + q.Encode() + `>; rel="next"`
}
