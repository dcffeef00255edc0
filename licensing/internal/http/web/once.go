package web

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/input"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// replayedHeader marks an idempotent replay.
const replayedHeader = "Idempotency-Replayed"

// serveOnce applies a change and sends its reply, which it stores in the same
// Update. A later request with the same key and content gets the stored reply
// instead of changing anything. Keys are scoped to the client. A failed change
// has no effect and stores nothing.
func (e *Endpoint) serveOnce(x *exchange, r *http.Request, route *Route, rules *license.Service, key string, body []byte, params any) error {
	print := fingerprint(r, body)
	ctx := r.Context()
	var p reply
	prepare, change := e.parts(ctx, rules, params)
	kept, replayed, err := inner.Of(rules).OncePrepared(ctx, key, print, prepare, func(in *license.Service) ([]byte, error) {
		result, err := change(in)
		if err == nil {
			p, err = e.reply(r, route, result)
		}
		if err != nil {
			return nil, err
		}
		return p.keep()
	})
	if err == nil && replayed {
		p, err = keptReply(kept)
	}
	if err != nil {
		return err
	}
	if replayed {
		x.Header().Set(replayedHeader, "true")
	}
	return p.send(x, r)
}

// fingerprint returns a digest that is equal for equal requests: it covers the
// method, the path below the mount, the query, and the body without regard to
// member order and white space.
func fingerprint(r *http.Request, body []byte) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s %s?%s\n", r.Method, r.URL.EscapedPath(), r.URL.Query().Encode())
	h.Write(input.Canonical(body))
	return hex.EncodeToString(h.Sum(nil))
}

// idempotencyKeyFor returns the Idempotency-Key of r, or "" if there is none or
// the route does not use it: a PUT can be repeated without one. Responses with a secret are not stored, so their
// requests cannot be replayed; those of changes in steps are repeated instead.
func idempotencyKeyFor(r *http.Request, route *Route) (string, error) {
	fault := api.FieldError{Header: "Idempotency-Key", Code: api.FieldUnknown}
	switch {
	case r.Header.Get("Idempotency-Key") == "":
	case route.Secret:
		fault.Detail = "not supported: the response contains a secret and is not stored; omit the header"
		return "", invalid(fault)
	case route.Steps:
		fault.Detail = "not supported: the change is made in steps; repeat a request that was interrupted; omit the header"
		return "", unprocessable(fault)
	}
	if route.reads() || route.Steps || route.Method == http.MethodPut || route.Scope == "" || route.Rows > 0 {
		return "", nil
	}
	return idempotencyKey(r)
}

// keyForm is an Idempotency-Key: a quoted string (RFC 9651) or, as many clients send
// it, the same string without quotes.
var keyForm = regexp.MustCompile(`^[ \t]*(?:"((?:[!#-\[\]-~]|\\["\\])+)"|([!#-~][!-~]*))[ \t]*$`)

var unescaped = strings.NewReplacer(`\"`, `"`, `\\`, `\`)

// idempotencyKey returns the Idempotency-Key of r, or "".
func idempotencyKey(r *http.Request) (string, error) {
	lines := r.Header["Idempotency-Key"]
	if len(lines) == 0 {
		return "", nil
	}
	form := keyForm.FindStringSubmatch(lines[0])
	if form != nil {
		form[1] = unescaped.Replace(form[1])
	}
	if form == nil || len(lines) > 1 || len(form[1]+form[2]) > 255 {
		return "", invalid(api.FieldError{Header: "Idempotency-Key", Code: api.FieldInvalidFormat,
			Detail: "must be a single key of 1 to 255 visible ASCII characters, such as a UUID"})
	}
	return form[1] + form[2], nil
}
