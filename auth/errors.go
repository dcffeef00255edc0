package auth

import (
	"errors"
	"strings"
	"time"
)

// Errors of the calls that look after clients; test with [errors.Is].
var (
	// ErrNotFound: there is no such client or secret.
	ErrNotFound = errors.New("auth: not found")

	// ErrInvalid: a parameter is out of its bounds. The error is an
	// [*InvalidError] that lists them.
	ErrInvalid = errors.New("invalid parameters")

	// ErrTooManySecrets: the client has two live secrets, and both would
	// go on beside the new one. Revoke one, or rotate without an overlap.
	ErrTooManySecrets = errors.New("auth: the client has two live secrets; revoke one of them first")
)

// An InvalidError lists every parameter that breaks a rule. It is [ErrInvalid]
// under [errors.Is]. Package license has the same type under the same name.
type InvalidError struct {
	Fields []FieldError
}

// A FieldError says what is wrong with one parameter, and how to fix it.
type FieldError struct {
	Field  string `json:"field"`  // the path on the wire: "name", "products/0", "metadata/plan"
	Code   string `json:"code"`   // stable, such as "required" or "too_long"
	Detail string `json:"detail"` // one sentence for people, without the value given
}

func (e *InvalidError) Error() string {
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i] = strings.TrimSpace(f.Field + " " + f.Detail)
	}
	return strings.Join(parts, "; ")
}

// Is reports whether target is [ErrInvalid].
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// An Error is the refusal of a request: what the endpoints of this package
// answer in the form of RFC 6749, and what [Auth.Authenticate] returns for a
// request without a good token. Everything in it but the cause it wraps is
// meant for the caller.
type Error struct {
	Status      int    // the HTTP status
	Code        string // such as "invalid_token" or "invalid_client"; "unauthorized" where RFC 6750 wants no code on the wire
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

// Unwrap returns the cause, which is for the log and not for the caller.
func (e *Error) Unwrap() error { return e.err }
