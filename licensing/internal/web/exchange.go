package web

import (
	"context"
	"net/http"
	"slices"
	"time"
)

// An exchange is one request and its answer: what the handlers write to, and
// what the log says when they are done.
type exchange struct {
	Answer
	site  *Site
	id    string
	start time.Time

	resource *resource // what the path leads to; nil: nowhere
	values   []string  // what the parameters in the path stand for
	oauth    bool      // errors take the form of RFC 6749
	client   string    // the id of the client; empty: none
}

type exchangeKey struct{}

// exchangeOf returns the exchange of a request inside a Site, or nil.
func exchangeOf(ctx context.Context) *exchange {
	x, _ := ctx.Value(exchangeKey{}).(*exchange)
	return x
}

// RequestID returns the id of the request whose context this is, or "".
func RequestID(ctx context.Context) string {
	if x := exchangeOf(ctx); x != nil {
		return x.id
	}
	return ""
}

// Param returns what a parameter of the route's template stands for, with
// percent-encoding undone.
func Param(r *http.Request, name string) string {
	x := exchangeOf(r.Context())
	return x.values[slices.Index(x.resource.names, name)]
}

// pattern returns the template of the path, or "".
func (x *exchange) pattern() string {
	if x.resource == nil {
		return ""
	}
	return x.resource.pattern
}
