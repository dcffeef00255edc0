package web

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// An exchange is one request and its response: what handlers write to, and what
// the request log reports afterwards.
type exchange struct {
	Answer
	site  *Site
	outer *http.Request   // as the Site got it
	ctx   context.Context // of the request, without the time limit
	url   *url.URL        // as the client sent it, without the path of the mount
	id    string
	start time.Time

	route    *Route // nil: none
	pattern  string // the template of the path; empty: no route has the path
	grant    auth.Grant
	page     bool     // errors are pages
	operator string   // the id of the operator; empty: none
	customer string   // the ID of the customer; empty: none
	claimed  string   // the ID of the client that an OAuth request names, whether or not it has proved it; empty: none
	err      error    // that was answered with a 5xx, or ended the answer
	code     api.Code // of the problem that was the answer; empty: none
}

type exchangeKey struct{}

// exchangeOf returns the exchange of a request inside a Site, or nil.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// RequestID returns the ID of the request of a context, or "".
func RequestID(ctx context.Context) string {
	if x := exchangeOf(ctx); x != nil {
		return x.id
	}
	return ""
}

// SetOperator records the operator of a page request for the log.
func SetOperator(r *http.Request, id string) { exchangeOf(r.Context()).operator = id }

// SetCustomer records the customer of a page request for the observer. The log does
// not get it, because the erasure of a customer does not reach the log.
func SetCustomer(r *http.Request, id string) { exchangeOf(r.Context()).customer = id }

// SetClient records the client of a request to an OAuth endpoint, which answers
// errors itself, for the log and the observer, and an error of the store. Empty and
// nil values change nothing.
func SetClient(r *http.Request, id string, failed error) {
	if x := exchangeOf(r.Context()); x != nil { // otherwise the host serves the endpoint
		x.claimed, x.err = cmp.Or(id, x.claimed), cmp.Or(failed, x.err)
	}
}
