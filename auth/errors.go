package auth

import (
	"errors"
	"strings"
	"time"
)

// Errors of the methods that manage clients; test for them with [errors.Is].
var (
	// ErrNotFound means that there is no such client, secret or operator.
	ErrNotFound = errors.New("auth: not found")

	// ErrInvalid means that a parameter is invalid. The error is an
	// [*InvalidError] that lists the invalid parameters.
	ErrInvalid = errors.New("invalid parameters")

	// ErrTooManySecrets means that the client already has two valid secrets.
	// Revoke one, or rotate without an overlap.
	ErrTooManySecrets = errors.New("auth: the client already has two valid secrets; revoke one of them first")
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
