package web

import (
	"context"
	"net/http"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
)

// An exchange is one request and its response: what handlers write to, and what
// the request log reports afterwards.
type exchange struct {
	Answer
	site  *Site
	id    string
	start time.Time

	resource *resource // what the path leads to; nil: nowhere
	values   []string  // what the parameters in the path stand for
	oauth    bool      // errors take the form of RFC 6749
	client   string    // the id of the client; empty: none
	grant    auth.Grant
	page     bool   // errors are pages
	operator string // the id of the operator; empty: none
	err      error  // that was answered with a 5xx, or ended the answer
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

// Params returns the decoded values of the route's path parameters.
func Params(r *http.Request) map[string]string {
	x := exchangeOf(r.Context())
	params := make(map[string]string, len(x.values))
	if x.resource != nil {
		for i, name := range x.resource.names {
			params[name] = x.values[i]
		}
	}
	return params
}

// pattern returns the template of the path, or "".
func (x *exchange) pattern() string {
	if x.resource == nil {
		return ""
	}
	return x.resource.pattern
}
