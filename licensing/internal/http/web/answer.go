package web

import (
	"net/http"
	"strconv"
	"time"
)

// An Answer is an [http.ResponseWriter] that records the response status.
type Answer struct {
	http.ResponseWriter
	Head   bool // HEAD request: send the header of the GET response without a body
	Status int  // 0: not started
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

// timeAnswer limits how long the client may take to read the response, unless
// the server has a write timeout. Later writes fail. An HTTP/1 connection is closed
// after the response.
func timeAnswer(w http.ResponseWriter, r *http.Request, most time.Duration) {
	if server, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && server.WriteTimeout > 0 {
		return
	}
	if http.NewResponseController(w).SetWriteDeadline(time.Now().Add(most)) == nil && r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close") // the deadline would also apply to the next response
	}
}

func writeBody(w http.ResponseWriter, status int, mediaType string, body []byte) {
	h := w.Header()
	values := [...]string{mediaType, strconv.Itoa(len(body))} // one allocation
	h["Content-Type"] = values[0:1:1]
	h["Content-Length"] = values[1:2:2]
	w.WriteHeader(status)
	_, _ = w.Write(body) // fails only if the client is gone
}
