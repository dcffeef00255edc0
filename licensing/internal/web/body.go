package web

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/input"
)

// The media types of bodies.
const (
	JSON       = "application/json"
	MergePatch = "application/merge-patch+json" // RFC 7396
	NDJSON     = "application/x-ndjson"         // a JSON object a line
)

// readObject reads the body of r: a JSON object, as one of the media types.
func readObject(r *http.Request, types ...string) (input.Object, error) {
	if err := checkContent(r, types); err != nil {
		return nil, err
	}
	data, err := readBody(r, exchangeOf(r.Context()).site.cfg.Limits.MaxBody)
	if err != nil {
		return nil, err
	}
	o, err := input.JSON(data)
	if syntax, ok := errors.AsType[*input.SyntaxError](err); ok {
		return nil, &Problem{Status: http.StatusBadRequest, Code: "invalid_json", Detail: "The body " + syntax.Detail + "."}
	}
	return o, err
}

// readOptionalObject is readObject for a request whose members are all
// optional: no body is an object without members.
func readOptionalObject(r *http.Request, types ...string) (input.Object, error) {
	present, err := hasBody(r)
	if err != nil {
		return nil, err
	}
	if !present {
		return input.Object{}, nil
	}
	return readObject(r, types...)
}

// hasBody reports whether r has a body of at least one byte. If the length is
// unknown, as with chunked encoding, it reads the first byte and puts it back.
func hasBody(r *http.Request) (bool, error) {
	if r.ContentLength >= 0 {
		return r.ContentLength > 0, nil
	}
	var first [1]byte
	if _, err := io.ReadFull(r.Body, first[:]); err == io.EOF {
		return false, nil
	} else if err != nil {
		return false, bodyError(err)
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(first[:]), r.Body), r.Body}
	return true, nil
}

// readRows reads the body of r as it is: NDJSON, of at most that many bytes.
func readRows(r *http.Request, most int64) ([]byte, error) {
	if err := checkContent(r, []string{NDJSON}); err != nil {
		return nil, err
	}
	return readBody(r, most)
}

// noBody refuses a request that has a body where none is read: what the caller
// meant by it would not happen.
func noBody(r *http.Request) error {
	if present, err := hasBody(r); err != nil || !present {
		return err
	}
	return &Problem{Status: http.StatusBadRequest, Code: "unexpected_body", Detail: "This request takes no body; leave it out."}
}

func checkContent(r *http.Request, types []string) error {
	for _, coding := range r.Header.Values("Content-Encoding") {
		if !strings.EqualFold(coding, "identity") {
			return unsupported("Send the body without Content-Encoding.", "Accept-Encoding", "identity")
		}
	}
	if given := r.Header.Values("Content-Type"); len(given) == 1 {
		if slices.Contains(types, given[0]) {
			return nil
		}
		mediaType, params, err := mime.ParseMediaType(given[0])
		charset, has := params["charset"]
		if err == nil && slices.Contains(types, mediaType) && (!has || strings.EqualFold(charset, "utf-8")) {
			return nil
		}
	}
	p := unsupported("Send the body with Content-Type: "+strings.Join(types, " or ")+".", "Accept", strings.Join(types, ", "))
	if r.Method == http.MethodPatch {
		p.Header.Set("Accept-Patch", strings.Join(types, ", "))
	}
	return p
}

func unsupported(detail, header, value string) *Problem {
	return &Problem{
		Status: http.StatusUnsupportedMediaType, Code: "unsupported_media_type", Detail: detail,
		Header: http.Header{header: {value}},
	}
}

// readBody reads the body of r within the bounds of size and time.
func readBody(r *http.Request, most int64) ([]byte, error) {
	x := exchangeOf(r.Context())
	if r.ContentLength > most {
		return nil, tooLarge()
	}
	data, err := io.ReadAll(http.MaxBytesReader(x.ResponseWriter, r.Body, most))
	if err != nil {
		return nil, bodyError(err)
	}
	return data, nil
}

// A timedBody is a body that must have arrived in time. The deadline goes when
// the body has been read to its end, because the server goes on listening for
// the end of the connection, which must not be taken for that. What is refused
// unread keeps it, because the server reads the rest away before it answers.
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

// TimeBody bounds the time that the body of r may take. Where the host's
// server bounds it, nothing is done: a later deadline would take that bound
// away. A writer that has no deadlines has none here either.
func TimeBody(w http.ResponseWriter, r *http.Request, most time.Duration) {
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
