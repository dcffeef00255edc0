package auth

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/rate"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A verified client has sent a valid secret.
type verified struct {
	clientRecord
	secretID string
	creds    credentials
	at       time.Time
	data     []byte // the stored record
}

// unknownClient is checked in place of a client that does not exist, so that
// refusing it takes the same work.
var unknownClient = store.Entry{Data: []byte(`{"name":"-","scopes":["license:read","license:write"],` +
	`"secrets":[{"id":"-","hint":"-","created_at":"2000-01-01T00:00:00Z","digest":"` + noDigest + `"}],` +
	`"updated_at":"2000-01-01T00:00:00Z"}`)}

// errBadClient is the answer to every failed authentication, whatever the cause.
var errBadClient = errors.New("auth: the client is unknown or disabled, or the secret is wrong")

// authenticate checks the credentials of a client. The answer to a failure does
// not depend on the cause, and says to wait if there were many. The credentials
// are checked first, so that failures of others cannot lock out a client.
//
// If reloads is true, the caller verifies the client again in its update, so that
// authenticate need not read the client.
func (a *Auth) authenticate(r *http.Request, creds credentials, reloads bool) (verified, error) {
	v, err := a.verify(r.Context(), creds, reloads)
	if errors.Is(err, errBadClient) {
		err = a.failed(r, creds)
	}
	if err == nil && a.opts.Limit != nil {
		if wait := a.opts.Limit(r.Context(), v.ID); wait > 0 {
			return v, &Error{
				Status: http.StatusTooManyRequests, Code: string(api.CodeRateLimited),
				Description: "Too many requests; wait for the time in Retry-After.",
				RetryAfter:  wait,
			}
		}
	}
	return v, err
}

// verify reads the client and compares the secret. An unknown client and a wrong
// secret take one read, one decoding and the same comparisons. Malformed
// credentials take none; this shows only what the caller can compute.
func (a *Auth) verify(ctx context.Context, creds credentials, reloads bool) (verified, error) {
	v := verified{creds: creds, at: a.now()}
	if !wellFormed(clientPrefix, creds.id) || !wellFormed(secretPrefix, creds.secret) {
		return v, errBadClient
	}
	if reloads && v.recall(a.clients) {
		return v, nil
	}
	e, err := a.st.Entry(ctx, kindClient, creds.id)
	known := err == nil
	if errors.Is(err, store.ErrNotFound) {
		e, err = unknownClient, nil
	}
	if err == nil {
		err = v.accept(e, known)
	}
	return v, err
}

// accept sets the verified client to the stored client e, if e has the secret and
// is not disabled.
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

// failed counts a failed authentication and returns the answer.
func (a *Auth) failed(r *http.Request, creds credentials) *Error {
	if wait := a.failures.Take(rate.Key(creds.id, a.opts.ClientIP(r)), a.now()); wait > 0 {
		return &Error{
			Status: http.StatusTooManyRequests, Code: string(api.CodeRateLimited),
			Description: "Too many failed attempts; check the credentials of the client and try again later.",
			RetryAfter:  wait,
		}
	}
	e := &Error{Status: http.StatusUnauthorized, Code: "invalid_client", Description: "The client ID or the client secret is wrong."}
	if creds.secret != "" && (creds.via == "form" || creds.via == "json") {
		// A 401 must carry a challenge (RFC 9110, 15.5.2), and a client that
		// did not use the Authorization header may report that challenge in
		// place of the error. RFC 6749, 5.2 allows 400 here.
		e.Status = http.StatusBadRequest
		return e
	}
	e.Challenge = `Basic realm="` + a.opts.Realm + `", charset="UTF-8"`
	return e
}
