package web

import (
	"bufio"
	"bytes"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// The media types of bodies.
const (
	JSON       = "application/json"
	MergePatch = "application/merge-patch+json" // RFC 7396
	NDJSON     = "application/x-ndjson"         // one JSON object per line
	CSV        = "text/csv; charset=utf-8"
)

// hasBody reports whether r has a body of at least one byte, or one that cannot be
// read. If the length is unknown, as with chunked encoding, it waits for a byte.
func hasBody(r *http.Request) bool {
	if r.ContentLength >= 0 {
		return r.ContentLength > 0
	}
	body := bufio.NewReader(r.Body)
	r.Body = struct {
		io.Reader
		io.Closer
	}{body, r.Body}
	_, err := body.Peek(1)
	return err != io.EOF
}

// bodies are the buffers of bodies. A body of the maximum size costs more memory than
// everything else that an invalid request needs.
var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// maxPooled is the capacity of the largest buffer that is kept.
const maxPooled = 128 << 10

// freeBody returns a buffer, of which nothing is used any more, to bodies.
func freeBody(b *bytes.Buffer) {
	if b.Cap() <= maxPooled {
		b.Reset()
		bodies.Put(b)
	}
}

// readBody reads the body of r, with one of the media types, into a buffer, within the size
// and time limits.
func readBody(x *exchange, r *http.Request, into *bytes.Buffer, most int64, types []string) ([]byte, error) {
	isCoded := func(coding string) bool { return !strings.EqualFold(coding, "identity") }
	given := r.Header.Values("Content-Type")
	switch {
	case slices.ContainsFunc(r.Header.Values("Content-Encoding"), isCoded):
		return nil, NewProblem(http.StatusUnsupportedMediaType, api.CodeUnsupportedMediaType,
			"Send the body without Content-Encoding.").WithHeader("Accept-Encoding", "identity")
	case len(given) != 1 || !isOneOf(types, given[0]):
		p := NewProblem(http.StatusUnsupportedMediaType, api.CodeUnsupportedMediaType,
			"Send the body with Content-Type: "+strings.Join(types, " or ")+".").WithHeader("Accept", strings.Join(types, ", "))
		if r.Method == http.MethodPatch {
			p.Header.Set("Accept-Patch", strings.Join(types, ", "))
		}
		return nil, p
	case r.ContentLength > most:
		return nil, BodyError("body", &http.MaxBytesError{Limit: most}) // before any of it is sent
	}
	into.Grow(int(min(max(r.ContentLength, 0), maxPooled-bytes.MinRead)) + bytes.MinRead)
	if _, err := into.ReadFrom(http.MaxBytesReader(x.ResponseWriter, r.Body, most)); err != nil {
		return nil, BodyError("body", err)
	}
	data := into.Bytes()
	if len(data) == 0 && r.ContentLength > 0 { // net/http would have returned an error
		return nil, NewProblem(http.StatusBadRequest, api.CodeIncompleteBody,
			"The body was read before the service got it; mount the service outside of middleware that reads bodies.")
	}
	return data, nil
}

// isOneOf reports whether a Content-Type is one of the media types, in UTF-8.
func isOneOf(types []string, given string) bool {
	const longest = 255 // bytes, so that parsing its parameters costs little
	if slices.Contains(types, given) {
		return true
	}
	if len(given) > longest {
		return false
	}
	mediaType, params, err := mime.ParseMediaType(given)
	charset, has := params["charset"]
	return err == nil && slices.Contains(types, mediaType) && (!has || strings.EqualFold(charset, "utf-8"))
}

// A timedBody is a body with a read deadline. The deadline is cleared once the
// body has been read to its end: the server continues to read from the
// connection to detect that it closes, and must not see a timeout. An unread
// body keeps the deadline, because the server discards the rest of it before it
// responds.
type timedBody struct {
	io.ReadCloser
	connection *http.ResponseController
}

func (b timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.connection.SetReadDeadline(time.Time{})
	}
	return n, err
}

// timeBody limits how long the body of r may take. It does nothing if the
// host's server has a read timeout, because a later deadline would override it,
// or if the writer does not support deadlines.
func timeBody(w http.ResponseWriter, r *http.Request, most time.Duration) {
	if r.ContentLength == 0 {
		return
	}
	if server, ok := r.Context().Value(http.ServerContextKey).(*http.Server); ok && server.ReadTimeout > 0 {
		return
	}
	b := timedBody{r.Body, http.NewResponseController(w)}
	if b.connection.SetReadDeadline(time.Now().Add(most)) == nil {
		r.Body = b
	}
}
