package web

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// An Answer is an [http.ResponseWriter] that remembers what was answered.
type Answer struct {
	http.ResponseWriter
	Head   bool // the request is HEAD: the answer has the header of that to GET, and no body
	Status int  // 0: not begun
}

// WriteHeader implements [http.ResponseWriter].
func (a *Answer) WriteHeader(status int) {
	if status >= 200 && a.Status == 0 {
		a.Status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (a *Answer) Write(p []byte) (int, error) {
	if a.Status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if a.Head {
		return len(p), nil
	}
	return a.ResponseWriter.Write(p)
}

// Unwrap is for [http.ResponseController].
func (a *Answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

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

// lines is an answer of NDJSON that goes out line by line. It begins with the
// first line: what fails before is answered like any error, and what fails
// after cuts the answer off.
type lines struct {
	w     http.ResponseWriter
	begun bool
}

// newLines returns an answer without a line.
func newLines(w http.ResponseWriter) *lines { return &lines{w: w} }

// Write implements [io.Writer].
func (l *lines) Write(p []byte) (int, error) {
	l.begin()
	return l.w.Write(p)
}

// end begins an answer that has no line.
func (l *lines) end() { l.begin() }

func (l *lines) begin() {
	if !l.begun {
		l.begun = true
		l.w.Header().Set("Content-Type", NDJSON)
		l.w.WriteHeader(http.StatusOK)
	}
}

// timeAnswer bounds the time that the caller may take to read the answer to r,
// on a server that does not bound it. A write after that fails.
func timeAnswer(w http.ResponseWriter, r *http.Request, most time.Duration) {
	if server, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && server.WriteTimeout > 0 {
		return
	}
	if http.NewResponseController(w).SetWriteDeadline(time.Now().Add(most)) == nil {
		CloseAfter(w, r)
	}
}

// CloseAfter closes an HTTP/1 connection after the answer to r, if the server
// does not set a write deadline for each request: one that was set for this
// answer would apply to the next.
func CloseAfter(w http.ResponseWriter, r *http.Request) {
	server, ok := r.Context().Value(http.ServerContextKey).(*http.Server)
	if r.ProtoMajor == 1 && (!ok || server.WriteTimeout <= 0) {
		w.Header().Set("Connection", "close")
	}
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
