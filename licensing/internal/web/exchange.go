package web

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// An exchange is one request and its answer: what the handlers write to, and
// what the log says when they are done.
type exchange struct {
	http.ResponseWriter
	site   *Site
	id     string
	head   bool // the answer has no body
	status int  // of the answer; 0: not begun
	start  time.Time

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

// WriteHeader implements [http.ResponseWriter].
func (x *exchange) WriteHeader(status int) {
	if status >= 200 && x.status == 0 {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter]. The answer to HEAD has the header
// of the answer to GET and no body.
func (x *exchange) Write(p []byte) (int, error) {
	if x.status == 0 {
		x.WriteHeader(http.StatusOK)
	}
	if x.head {
		return len(p), nil
	}
	return x.ResponseWriter.Write(p)
}

// Unwrap is for [http.ResponseController].
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

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

// Marshal writes v as JSON, as it goes over the wire: "<" stays "<", and a
// newline ends it.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// WriteJSON answers with v. It is made into JSON before the first byte goes
// out, so that an answer is whole or an error.
func WriteJSON(w http.ResponseWriter, status int, v any) error {
	return writeJSON(w, status, JSON, v)
}

func writeJSON(w http.ResponseWriter, status int, mediaType string, v any) error {
	body, err := Marshal(v)
	if err != nil {
		return err
	}
	writeBody(w, status, mediaType, body)
	return nil
}

func writeBody(w http.ResponseWriter, status int, mediaType string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails when the caller has gone, and nobody is left to tell
}
