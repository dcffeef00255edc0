package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// An Error is a response that reports a failure. errors.Is compares its Code:
// errors.Is(err, api.CodeStale).
type Error struct {
	api.Problem

	// RetryAfter is how long to wait before the next request; 0: not said.
	RetryAfter time.Duration `json:"-"`

	operation    string // such as "POST /license"
	afterUnknown bool   // an earlier attempt may have had its effect
}

// Error returns one line: the operation, the status, the code, the detail, the
// invalid fields and the request ID. It contains no credential.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d %s", e.operation, e.Status, e.Code)
	if e.Detail != "" {
		fmt.Fprintf(&b, ": %s", e.Detail)
	}
	for _, f := range e.Errors {
		fmt.Fprintf(&b, " %s %s;", f.Pointer+f.Parameter+f.Header, f.Detail)
	}
	if e.RequestID != "" {
		fmt.Fprintf(&b, " (request %s)", e.RequestID)
	}
	return b.String()
}

// Is reports whether target is the Code of the error.
func (e *Error) Is(target error) bool {
	code, ok := target.(api.Code)
	return ok && code == e.Code
}

// maxProblem is the maximum length of an error body that is read.
const maxProblem = 1 << 20

// newError returns the error of a response whose status is not a success. It
// reads the body, and does not close it.
func newError(operation string, resp *http.Response) *Error {
	e := &Error{}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	var oauth struct {
		Error       api.Code `json:"error"`
		Description string   `json:"error_description"`
	}
	isJSON := isJSON(resp.Header)
	switch {
	case isJSON && json.Unmarshal(body, &e.Problem) == nil && e.Code != "":
	case isJSON && json.Unmarshal(body, &oauth) == nil && oauth.Error != "":
		e.Problem = api.Problem{Code: oauth.Error, Detail: oauth.Description}
	default:
		e.Problem = api.Problem{Code: CodeUnexpectedResponse, Detail: "the response is not from the licensing service; check the URL and the proxy"}
	}
	e.Status, e.operation = resp.StatusCode, operation
	e.RequestID = resp.Header.Get("X-Request-Id")
	e.RetryAfter = retryAfter(resp.Header)
	return e
}

// unexpected returns the error of a success that the service did not send.
func unexpected(operation string, resp *http.Response, why string) *Error {
	return &Error{operation: operation, Problem: api.Problem{
		Status: resp.StatusCode, Code: CodeUnexpectedResponse, RequestID: resp.Header.Get("X-Request-Id"),
		Detail: why + "; check the URL and the proxy",
	}}
}

// isJSON reports whether a body is JSON, or a problem document.
func isJSON(h http.Header) bool {
	mediaType, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	switch strings.ToLower(strings.TrimSpace(mediaType)) {
	case "application/json", "application/problem+json":
		return true
	}
	return false
}

// retryAfter returns the wait in Retry-After, in seconds or as a date, or 0.
func retryAfter(h http.Header) time.Duration {
	v := h.Get("Retry-After")
	if n, err := strconv.ParseInt(v, 10, 32); err == nil {
		return max(0, time.Duration(n)*time.Second)
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
