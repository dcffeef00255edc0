package auth

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// serve answers a request to an OAuth endpoint with the object or the error that
// fn returns. Caches must not store the answer.
func (a *Auth) serve(w http.ResponseWriter, r *http.Request, methods []string, fn func() (any, error)) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Pragma", "no-cache")
	if !slices.Contains(methods, r.Method) {
		h.Set("Allow", strings.Join(methods, ", "))
		a.refuse(w, r, &Error{
			Status: http.StatusMethodNotAllowed, Code: "invalid_request",
			Description: "The method must be " + strings.Join(methods, " or ") + ".",
		})
		return
	}
	answer, err := fn()
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, "application/json", answer)
}

// refuse answers with an error as in RFC 6749 section 5.2. An error that is not an
// *Error is a failure of the store: it is logged, and the answer only says to try
// again.
func (a *Auth) refuse(w http.ResponseWriter, r *http.Request, err error) {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		a.logFailure(r.Context(), err)
		a.seen(r, "", err)
		e = storeFailed("temporarily_unavailable", err)
	}
	e.setHeaders(w.Header())
	writeJSON(w, e.Status, "application/json", struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}{e.Code, e.Description})
}

// storeFailed returns the answer to a request for which the store failed.
func storeFailed(code string, err error) *Error {
	return &Error{
		Status: http.StatusServiceUnavailable, Code: code,
		Description: "The service is temporarily unavailable; try again soon.",
		RetryAfter:  5 * time.Second, err: err,
	}
}

// logFailure logs a failure of the store, unless the caller has disconnected.
func (a *Auth) logFailure(ctx context.Context, err error) {
	if ctx.Err() == nil {
		a.opts.Logger.ErrorContext(ctx, "auth: store failed", "error", err)
	}
}

// setHeaders sets the headers of the answer to e.
func (e *Error) setHeaders(h http.Header) {
	if e.Challenge != "" {
		h.Set("WWW-Authenticate", e.Challenge)
	}
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
}

func writeJSON(w http.ResponseWriter, status int, contentType string, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // v is always a struct of strings and numbers
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body)
}
