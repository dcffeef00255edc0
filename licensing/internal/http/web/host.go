package web

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// SetHeaders sets headers to copies of their values.
func SetHeaders(h, values http.Header) {
	for name, value := range values {
		h[name] = slices.Clone(value)
	}
}

// AskHost asks the host application who makes a request, with the function of an option. If
// the host writes a response, that is a page of its own, without the headers of the pages here.
// If it refuses the request without one, AskHost returns an error.
func AskHost[T any](w http.ResponseWriter, r *http.Request, headers http.Header, option string, ask func(http.ResponseWriter, *http.Request) (T, bool)) (who T, ok bool, err error) {
	for name := range headers {
		w.Header().Del(name)
	}
	answer := &Answer{ResponseWriter: w}
	who, ok = ask(answer, r)
	if !ok && answer.Status == 0 && r.Context().Err() == nil {
		err = errors.New(option + " returned false without writing a response")
	}
	if ok || err != nil {
		SetHeaders(w.Header(), headers)
	}
	return who, ok, err
}

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
