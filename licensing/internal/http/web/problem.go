package web

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A Problem is an error that defines its own response. Handlers return Problems
// for HTTP errors; the table in errors.go converts all other errors. Its type,
// title and request ID are filled in when it is written.
type Problem struct {
	api.Problem
	Header http.Header // additional response headers
	Cause  error       // for the log, never for the client
}

// NewProblem returns a Problem with a detail that says what is wrong and how to
// fix it.
func NewProblem(status int, code api.Code, detail string) *Problem {
	return &Problem{Problem: api.Problem{Status: status, Code: code, Detail: detail}, Header: http.Header{}}
}

// WithCause sets the cause of p and returns p.
func (p *Problem) WithCause(err error) *Problem {
	p.Cause = err
	return p
}

// WithHeader sets a response header of p and returns p.
func (p *Problem) WithHeader(name, value string) *Problem {
	p.Header.Set(name, value)
	return p
}

// maxErrors is how many errors one response lists: enough to fix a request,
// without repeating a large invalid body.
const maxErrors = 50

func (p *Problem) Error() string {
	if p.Cause != nil {
		return string(p.Code) + ": " + p.Cause.Error()
	}
	return string(p.Code) + ": " + p.Detail
}

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Cause }

// Fail responds to a request inside a Site with the problem for err.
func Fail(w http.ResponseWriter, r *http.Request, err error) {
	x := exchangeOf(r.Context())
	if r.Context().Err() == context.DeadlineExceeded { // an error page may need time
		r = r.WithContext(x.ctx)
	}
	WriteError(x.site.cfg.Logger, w, r, err)
}

// WriteError responds to any request with the problem for err.
func WriteError(logger *slog.Logger, w http.ResponseWriter, r *http.Request, err error) {
	x := exchangeOf(r.Context())
	if x == nil { // a request of the host application
		x = &exchange{id: newRequestID(r)}
		standardHeader(w.Header(), x.id)
	}
	p := ProblemOf(err)
	x.code = p.Code
	if p.Status >= 500 && r.Context().Err() != context.Canceled {
		logger.LogAttrs(r.Context(), slog.LevelError, "licensing: request failed",
			slog.String("request_id", x.id), slog.Any("error", err))
		x.err = err
	}
	maps.Copy(w.Header(), p.Header)
	switch {
	case x.Status != 0:
		panic(http.ErrAbortHandler) // abort: a partial response must not look complete
	case x.page:
		x.site.pages.Fail(w, r, p)
	default:
		p.write(w, x.id, x.route != nil && x.route.OAuth)
	}
}

// write sends p as a problem document. Its type is about:blank, so the title is the
// status text; the code identifies the problem. An OAuth endpoint sends it in the
// format of RFC 6749 section 5.2.
func (p *Problem) write(w http.ResponseWriter, requestID string, oauth bool) {
	document := p.Problem
	document.Type = "about:blank"
	document.Title = http.StatusText(p.Status)
	document.RequestID = requestID
	document.Errors = p.Errors[:min(len(p.Errors), maxErrors)]
	mediaType, body := "application/problem+json", any(document)
	if oauth {
		code := api.CodeServerError
		switch p.Status {
		case http.StatusTooManyRequests:
			code = api.CodeRateLimited
		case http.StatusServiceUnavailable:
			code = api.CodeTemporarilyUnavailable
		}
		w.Header().Set("Pragma", "no-cache") // like every response of the OAuth endpoints
		mediaType, body = JSON, map[string]string{"error": string(code), "error_description": p.Detail}
	}
	text, err := Marshal(body)
	if err != nil {
		panic(err) // unreachable: every field can be encoded
	}
	writeBody(w, p.Status, mediaType, text)
}

// pointer converts the path of a field to a JSON Pointer in URI fragment form
// (RFC 6901 section 6).
func pointer(field string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/"
	switch {
	case field == "":
		return "#"
	case strings.Trim(field, plain) == "": // the usual case, which needs no escapes
		return "#/" + field
	}
	return (&url.URL{Fragment: "/" + field}).String()
}
