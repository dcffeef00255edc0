package auth

import (
	"errors"
	"time"
)

// ErrTooManySecrets means that the client already has two valid secrets. Revoke one, or
// rotate without an overlap.
var ErrTooManySecrets = errors.New("the client already has two valid secrets; revoke one of them first")

// An Error is the refusal of a request. The endpoints of this package answer it
// as in RFC 6749, and [Auth.Authenticate] returns it for a request without a
// valid token. Its fields may be shown to the caller; the wrapped cause may not.
type Error struct {
	Status      int    // the HTTP status
	Code        string // such as "invalid_token"; "unauthorized" if the request has no token, for which RFC 6750 defines no code
	Description string // a sentence in plain ASCII
	Challenge   string // the value of WWW-Authenticate; empty: none
	// RetryAfter is how long to wait before trying again; zero: unknown.
	RetryAfter time.Duration

	err error
}

func (e *Error) Error() string {
	if e.err != nil {
		return "auth: " + e.Code + ": " + e.err.Error()
	}
	return "auth: " + e.Code + ": " + e.Description
}

// Unwrap returns the cause. Log it, but do not show it to the caller.
func (e *Error) Unwrap() error { return e.err }
