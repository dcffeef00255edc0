package auth

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/store"
)

// serve answers a request to an OAuth endpoint with what fn returns: an
// object for 200, or an error. Nothing it answers may be kept by a cache.
func (a *Auth) serve(w http.ResponseWriter, r *http.Request, methods []string, fn func() (any, error)) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Pragma", "no-cache")
	if !slices.Contains(methods, r.Method) {
		h.Set("Allow", strings.Join(methods, ", "))
		a.refuse(w, r, &Error{
			Status: http.StatusMethodNotAllowed, Code: "invalid_request",
			Description: "The method must be " + strings.Join(methods, " or ") + ".",
		})
		return
	}
	answer, err := fn()
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, "application/json", answer)
}

// refuse answers an error in the form of RFC 6749 section 5.2. One that is
// not an Error is a failure of the store, of which the caller learns only
// that it may try again, and the log the rest.
func (a *Auth) refuse(w http.ResponseWriter, r *http.Request, err error) {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		a.logFailure(r.Context(), err)
		e = storeFailed("temporarily_unavailable", err)
	}
	e.setHeaders(w.Header())
	writeJSON(w, e.Status, "application/json", struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
	}{e.Code, e.Description})
}

// storeFailed returns what a caller is told when the store fails.
func storeFailed(code string, err error) *Error {
	return &Error{
		Status: http.StatusServiceUnavailable, Code: code,
		Description: "The service cannot answer at the moment; try again soon.",
		RetryAfter:  5 * time.Second, err: err,
	}
}

// logFailure tells the log of a failure, unless the caller has gone away.
func (a *Auth) logFailure(ctx context.Context, err error) {
	if ctx.Err() == nil {
		a.opts.Logger.ErrorContext(ctx, "auth: the store failed", "error", err)
	}
}

// setHeaders sets what an error says outside its body.
func (e *Error) setHeaders(h http.Header) {
	if e.Challenge != "" {
		h.Set("WWW-Authenticate", e.Challenge)
	}
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(e.RetryAfter.Seconds()))))
	}
}

func writeJSON(w http.ResponseWriter, status int, contentType string, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // only our own structs of strings and numbers come here
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body)
}

// A verified client has shown a right secret.
type verified struct {
	clientRecord
	secretID string
	creds    credentials
	at       time.Time
	data     []byte // the record as it was read
}

// nobody stands in for a client that does not exist, so that refusing one
// takes the same work.
var nobody = store.Entry{Data: []byte(`{"name":"-","scopes":["license:read","license:write"],` +
	`"secrets":[{"id":"-","hint":"-","created_at":"2000-01-01T00:00:00Z","digest":"` + noDigest + `"}],` +
	`"updated_at":"2000-01-01T00:00:00Z"}`)}

// errBadClient is the one answer to all who do not authenticate.
var errBadClient = errors.New("auth: the client is unknown or disabled, or the secret is wrong")

// authenticate checks a client's credentials. Whoever fails is told so in the
// same words for every cause, or to wait if it fails often; the check comes
// first, so that no one can lock out a client by failing in its name.
func (a *Auth) authenticate(r *http.Request, creds credentials) (verified, error) {
	v, err := a.verify(r.Context(), creds)
	if errors.Is(err, errBadClient) {
		err = a.failed(r, creds)
	}
	return v, err
}

// verify reads the client and compares the secret. Both causes of failure
// that depend on what is stored, an unknown client and a wrong secret, take
// one read, one decoding and the same comparisons; what cannot be right takes
// none, which shows only what the caller can compute.
func (a *Auth) verify(ctx context.Context, creds credentials) (verified, error) {
	v := verified{creds: creds, at: a.now()}
	if !wellFormed(clientPrefix, creds.id) || !wellFormed(secretPrefix, creds.secret) {
		return v, errBadClient
	}
	e, err := a.st.Entry(ctx, kindClient, creds.id)
	known := err == nil
	if errors.Is(err, store.ErrNotFound) {
		e, err = nobody, nil
	}
	if err != nil {
		return v, err
	}
	return v, v.accept(e, known)
}

// accept makes the stored client e the one that is verified, if the secret is
// its own and it is not disabled.
func (v *verified) accept(e store.Entry, known bool) (err error) {
	if v.clientRecord, err = readClient(e); err != nil {
		return err
	}
	id, ok := v.match(digest(v.creds.secret), v.at)
	if !ok || !known || v.Disabled {
		return errBadClient
	}
	v.secretID, v.data = id, e.Data
	return nil
}

// failed counts a failed authentication and returns the answer to it.
func (a *Auth) failed(r *http.Request, creds credentials) *Error {
	if wait := a.failures.fail(creds.id, a.opts.ClientIP(r), a.now()); wait > 0 {
		return &Error{
			Status: http.StatusTooManyRequests, Code: "temporarily_unavailable",
			Description: "Too many failed attempts; check the client's credentials and try again later.",
			RetryAfter:  wait,
		}
	}
	return &Error{
		Status: http.StatusUnauthorized, Code: "invalid_client",
		Description: "The client id or the client secret is not right.",
		Challenge:   `Basic realm="` + a.opts.Realm + `", charset="UTF-8"`,
	}
}
