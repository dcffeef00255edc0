package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// A versioned result has an entity tag.
type versioned interface{ Version() api.Version }

// A Document is the result of a read that caches may keep for a while. Its entity tag
// is a digest of it.
type Document struct {
	MediaType string
	Keep      time.Duration
	Body      []byte
	Packed    []byte // Body in gzip, for clients that accept it; nil: none
}

// tag returns the entity tag of a form of a document.
func tag(body []byte) string {
	sum := sha256.Sum256(body)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:16]) + `"`
}

// Pack returns a text in gzip, with a level of compression of its package.
func Pack(text []byte, level int) []byte {
	var packed bytes.Buffer
	w, _ := gzip.NewWriterLevel(&packed, level) // one that exists
	_, _ = w.Write(text)                        // a buffer takes everything
	_ = w.Close()
	return packed.Bytes()
}

// AcceptsGzip reports whether the client takes gzip (RFC 9110 section 12.5.3).
func AcceptsGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, weight, _ := strings.Cut(coding, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			value, weighted := strings.CutPrefix(strings.ToLower(strings.TrimSpace(weight)), "q=")
			q, err := strconv.ParseFloat(value, 64)
			return !weighted || err == nil && q > 0
		}
	}
	return false
}

// A list is one page of a list on the wire.
type list struct {
	Object     string  `json:"object"`
	Data       any     `json:"data"`
	HasMore    bool    `json:"has_more"`
	NextCursor *string `json:"next_cursor"`
}

func listOf[T any](p *api.Page[T]) list {
	l := list{Object: "list", Data: p.Data, HasMore: p.HasMore}
	if p.NextCursor != "" {
		l.NextCursor = &p.NextCursor
	}
	return l
}

// answer sends the result of a call without storing it for a replay.
func (e *Endpoint) answer(x *exchange, r *http.Request, route *Route, result any) error {
	if l, ok := result.(*list); ok && l.HasMore && e.cursor && route.Method == http.MethodGet {
		x.Header().Set("Link", nextLink(r, *l.NextCursor))
	}
	reply, err := e.reply(r, route, result)
	if err != nil {
		return err
	}
	if route.Method == http.MethodGet && reply.ETag != "" {
		if v, ok := result.(versioned); ok {
			wanted, _, err := ifMatch(r)
			if err != nil {
				return err
			}
			if wanted != nil && !slices.Contains(wanted, v.Version()) {
				return &api.StaleError{Current: v.Version()}
			}
		}
		if reply.known, err = notModified(r, reply.ETag); err != nil {
			return err
		}
		if d := reply.document; d.Packed != nil && !reply.known && r.Header.Get("If-None-Match") != "" {
			for _, form := range [][]byte{d.Body, d.Packed} { // the client can have either
				other := tag(form)
				if has, _ := notModified(r, other); has {
					reply.known, reply.ETag = true, other
				}
			}
		}
	}
	return reply.send(x, r)
}

// reply returns the response for a result.
func (e *Endpoint) reply(r *http.Request, route *Route, result any) (reply, error) {
	if d, ok := result.(*Document); ok {
		body := d.Body
		if d.Packed != nil && AcceptsGzip(r) {
			body = d.Packed
		}
		return reply{Status: route.status(), ETag: tag(body), Body: body, document: *d}, nil
	}
	body, err := Marshal(result)
	if err != nil {
		return reply{}, err
	}
	p := reply{Status: route.status(), Body: body}
	if v, ok := result.(versioned); ok {
		p.ETag = v.Version().ETag()
	}
	if f, ok := result.(withFile); ok {
		p.File = f.FileClaims()
	}
	if route.Created != nil {
		if at := route.Created(result); at != nil {
			p.Status, p.Location = http.StatusCreated, link(r, at...)
		}
	}
	if route.Pending != nil && route.Pending(result) {
		p.Status = http.StatusAccepted
	}
	return p, nil
}

// A reply is the response to a change, in a form that can be stored and replayed
// byte for byte.
type reply struct {
	Status   int    `json:"status"`
	Location string `json:"location,omitempty"`
	ETag     string `json:"etag,omitempty"`
	// File, if set, is a license file that is signed after the commit and
	// added to the body, which is an object.
	File *licensefile.Claims `json:"file,omitempty"`
	Body []byte              `json:"-"` // JSON, unless document is set

	document Document // of which Body is the body
	known    bool     // the client has it already
}

// withFile is a result with a license file that must be signed; nil: none.
type withFile interface{ FileClaims() *licensefile.Claims }

// send signs the license file of p, if it has one, and writes p. It is called
// after the change has been committed, so signing holds nothing up, and no file
// exists without what it needs.
func (p reply) send(x *exchange, r *http.Request) error {
	if p.File != nil {
		text, err := x.site.cfg.SignFile(r.Context(), *p.File)
		if err != nil {
			return err
		}
		p.Body = fmt.Appendf(bytes.TrimSuffix(p.Body, []byte("}\n")), `,"file":"%s"}`+"\n", text)
	}
	h, mediaType := x.Header(), JSON
	if p.Location != "" {
		h.Set("Location", p.Location)
	}
	if p.ETag != "" {
		h.Set("ETag", p.ETag)
	}
	if p.document.MediaType != "" {
		mediaType = p.document.MediaType
		h.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", int(p.document.Keep.Seconds())))
	}
	if packed := p.document.Packed; packed != nil {
		h.Add("Vary", "Accept-Encoding")
		if !p.known && &p.Body[0] == &packed[0] {
			h.Set("Content-Encoding", "gzip")
		}
	}
	if p.known {
		x.WriteHeader(http.StatusNotModified)
		return nil
	}
	writeBody(x, p.Status, mediaType, p.Body)
	return nil
}

// keep encodes p for storage: a line with the header, then the body.
func (p reply) keep() ([]byte, error) {
	head, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return append(append(head, '\n'), p.Body...), nil
}

func keptReply(kept []byte) (p reply, err error) {
	head, body, _ := bytes.Cut(kept, []byte("\n"))
	if err := json.Unmarshal(head, &p); err != nil {
		return reply{}, fmt.Errorf("reading a stored reply: %w", err)
	}
	p.Body = body
	return p, nil
}
