package web

import (
	"context"
	"log/slog"
	"maps"
	"net/http"
	"net/url"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// A Problem is an error that says by itself how it is answered: as
// application/problem+json (RFC 9457). Handlers return one for what belongs to
// HTTP alone; errors of the rules become one through the table in errors.go.
type Problem struct {
	Type      string  `json:"type"`  // filled in when written
	Title     string  `json:"title"` // filled in when written
	Status    int     `json:"status"`
	Code      string  `json:"code"`             // stable, for programs
	Detail    string  `json:"detail,omitempty"` // for people: what is wrong, and the mend
	RequestID string  `json:"request_id"`       // filled in when written
	Faults    []Fault `json:"errors,omitempty"` // each part of the request that is wrong

	IDs  []string `json:"ids,omitempty"`  // of all that an ambiguous request could mean
	From string   `json:"from,omitempty"` // the states between which there is no move
	To   string   `json:"to,omitempty"`

	Verdict *license.Verdict `json:"verdict,omitempty"` // why a license admits nobody

	Header http.Header `json:"-"` // goes with the answer
	Cause  error       `json:"-"` // for the log, never for the caller
}

// A Fault is one wrong part of a request. One of the first three says which.
type Fault struct {
	Pointer   string `json:"pointer,omitempty"`   // into the body: a JSON Pointer as a URI fragment (RFC 6901)
	Parameter string `json:"parameter,omitempty"` // of the query
	Header    string `json:"header,omitempty"`
	Detail    string `json:"detail"`
	Code      string `json:"code"`
}

// maxFaults is how many faults one answer lists: enough to mend a request,
// not an echo of a body that is nothing but faults.
const maxFaults = 50

func (p *Problem) Error() string {
	if p.Cause != nil {
		return p.Code + ": " + p.Cause.Error()
	}
	return p.Code + ": " + p.Detail
}

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Cause }

// Fail answers a request inside a Site with the problem that err is.
func Fail(w http.ResponseWriter, r *http.Request, err error) {
	WriteError(exchangeOf(r.Context()).site.cfg.Logger, w, r, err)
}

// WriteError answers any request with the problem that err is.
func WriteError(logger *slog.Logger, w http.ResponseWriter, r *http.Request, err error) {
	x := exchangeOf(r.Context())
	var id string
	if x != nil {
		id = x.id
	} else {
		id = NewRequestID(r)
		standardHeader(w.Header(), id)
	}
	p := ProblemOf(err)
	if p.Status >= 500 && r.Context().Err() != context.Canceled {
		logger.LogAttrs(r.Context(), slog.LevelError, "licensing: request failed",
			slog.String("request_id", id), slog.Any("error", err))
	}
	switch {
	case x == nil:
		p.write(w, id)
	case x.Status != 0:
		panic(http.ErrAbortHandler) // cut off what has begun: half an answer must not look whole
	case x.oauth:
		p.writeOAuth(w)
	case x.page:
		maps.Copy(w.Header(), p.Header)
		x.site.pages.Fail(w, r, p)
	default:
		p.write(w, id)
	}
}

// write answers with p. The type is about:blank, and so the title is the
// status in words: the code says what exactly happened.
func (p *Problem) write(w http.ResponseWriter, requestID string) {
	document := *p
	document.Type = "about:blank"
	document.Title = http.StatusText(p.Status)
	document.RequestID = requestID
	document.Faults = p.Faults[:min(len(p.Faults), maxFaults)]
	p.send(w, "application/problem+json", document)
}

// writeOAuth answers with p in the form of RFC 6749 section 5.2.
func (p *Problem) writeOAuth(w http.ResponseWriter) {
	code := "server_error"
	if p.Status == http.StatusTooManyRequests || p.Status == http.StatusServiceUnavailable {
		code = "temporarily_unavailable"
	}
	w.Header().Set("Pragma", "no-cache") // as every answer of those endpoints has it
	p.send(w, JSON, map[string]string{"error": code, "error_description": p.Detail})
}

func (p *Problem) send(w http.ResponseWriter, mediaType string, document any) {
	maps.Copy(w.Header(), p.Header)
	if err := writeJSON(w, p.Status, mediaType, document); err != nil {
		panic(err) // unreachable: every field has a JSON form
	}
}

// pointer makes a JSON Pointer in the form of a URI fragment (RFC 6901
// section 6) of the path of a field.
func pointer(field string) string {
	if field == "" {
		return "#"
	}
	u := url.URL{Fragment: "/" + field}
	return u.String()
}
