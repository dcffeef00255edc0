package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// replayedHeader marks an answer that was given before.
const replayedHeader = "Idempotency-Replayed"

// A Reply is the answer to a change, in a form that can be kept and given
// again byte for byte.
type Reply struct {
	Status   int    `json:"status"`
	Location string `json:"location,omitempty"`
	ETag     string `json:"etag,omitempty"`
	Body     []byte `json:"-"` // JSON
}

func (p Reply) write(w http.ResponseWriter) {
	if p.Location != "" {
		w.Header().Set("Location", p.Location)
	}
	if p.ETag != "" {
		w.Header().Set("ETag", p.ETag)
	}
	writeBody(w, p.Status, JSON, p.Body)
}

// keep writes p as a line of what goes before the body, and the body.
func (p Reply) keep() ([]byte, error) {
	head, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	return append(append(head, '\n'), p.Body...), nil
}

func keptReply(kept []byte) (p Reply, err error) {
	head, body, _ := bytes.Cut(kept, []byte("\n"))
	if err := json.Unmarshal(head, &p); err != nil {
		return Reply{}, fmt.Errorf("reading a kept reply: %w", err)
	}
	p.Body = body
	return p, nil
}

// A Change is a change that a request asks for.
type Change struct {
	Body *Object // that of the request, with all members taken
	// Prepare, if there is one, is what must happen before the change and
	// outside of its Update. It does not happen for a reply that is given
	// again.
	Prepare func() error
	Do      func(*license.Service) (Reply, error)
}

// Once makes the change and answers with its reply. If the request has an
// Idempotency-Key, the reply is kept in the same Update, and a request that is
// the same gets it again instead of making the change again. Keys belong to
// the client. A change that failed has had no effect, and keeps nothing.
func Once(w http.ResponseWriter, r *http.Request, s *license.Service, c Change) error {
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	if key == "" {
		reply, err := c.Do(s)
		if err != nil {
			return err
		}
		reply.write(w)
		return nil
	}
	kept, again, err := c.once(r, s, key)
	if err != nil {
		return err
	}
	reply, err := keptReply(kept)
	if err != nil {
		return err
	}
	if again {
		w.Header().Set(replayedHeader, "true")
	}
	reply.write(w)
	return nil
}

func (c Change) once(r *http.Request, s *license.Service, key string) (kept []byte, again bool, err error) {
	print, err := fingerprint(r, c.Body)
	if err != nil {
		return nil, false, err
	}
	if c.Prepare != nil {
		kept, again, err = s.Replay(r.Context(), key, print)
		if again || err != nil {
			return kept, again, err
		}
		if err := c.Prepare(); err != nil {
			return nil, false, err
		}
	}
	return s.Once(r.Context(), key, print, func(s *license.Service) ([]byte, error) {
		reply, err := c.Do(s)
		if err != nil {
			return nil, err
		}
		return reply.keep()
	})
}

// fingerprint is a digest of what makes two requests the same: the method,
// the address below the mount, and the body but for order and white space.
func fingerprint(r *http.Request, body *Object) (string, error) {
	canonical, err := body.canonical()
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintf(h, "%s %s?%s\n", r.Method, r.URL.EscapedPath(), r.URL.Query().Encode())
	h.Write(canonical)
	return hex.EncodeToString(h.Sum(nil)), nil
}

// idempotencyKey returns the Idempotency-Key of r, or "". The header is
// written as a string in quotes (RFC 9651) or, as many do, without them; both
// are the same key.
func idempotencyKey(r *http.Request) (string, error) {
	lines := r.Header.Values("Idempotency-Key")
	if len(lines) == 0 {
		return "", nil
	}
	key := strings.Trim(lines[0], " \t")
	good := len(lines) == 1
	if quoted, ok := strings.CutPrefix(key, `"`); ok {
		key, good = unquote(quoted, good)
	}
	if !good || key == "" || len(key) > 255 || strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return "", Invalid(Fault{Header: "Idempotency-Key", Code: license.CodeInvalidFormat,
			Detail: "must be one key of 1 to 255 visible ASCII characters, such as a UUID"})
	}
	return key, nil
}

// unquote reads the rest of a string of RFC 9651 behind its first quote.
func unquote(rest string, good bool) (string, bool) {
	var key []byte
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '"':
			return string(key), good && i == len(rest)-1
		case c == '\\':
			i++
			if i == len(rest) || rest[i] != '"' && rest[i] != '\\' {
				return "", false
			}
			key = append(key, rest[i])
		default:
			key = append(key, c)
		}
	}
	return "", false
}
