// Package signin has what package auth/operator and the dashboard share about the sign-in of
// operators: errors, sessions, and the codes of authenticator apps.
package signin

import (
	"errors"
	"time"
)

var (
	// ErrCredentials means that the e-mail address or the password is wrong, or
	// that the operator is disabled. The error does not say which.
	ErrCredentials = errors.New("operator: the e-mail address or the password is wrong")
	// ErrSecondFactor means that the password was right and that the operator must
	// enter a code.
	ErrSecondFactor = errors.New("operator: enter the code of the second factor")
	// ErrCode means that the code of a second factor is wrong or was used before.
	ErrCode = errors.New("operator: the code is wrong or was used before")
	// ErrNoSession means that the request has no session, or that its session has
	// ended.
	ErrNoSession = errors.New("operator: not signed in")
	// ErrSetupCode means that the setup code is wrong or has expired.
	ErrSetupCode = errors.New("operator: the setup code is wrong or has expired")
	// ErrInvitationCode means that the code of an invitation is wrong, or that the
	// invitation was used, was revoked or has expired.
	ErrInvitationCode = errors.New("operator: the code is wrong or has expired")
)

// A Session is an open session of an operator.
type Session struct {
	ID        string // the cookie cannot be derived from it
	Address   string // of the client that signed in; empty: unknown
	UserAgent string // the User-Agent header of the sign-in; anything the client sent
	CreatedAt time.Time
	ExpiresAt time.Time
	Current   bool // the session of the request
}

// EnableSecondFactorParams are what enables a second factor.
type EnableSecondFactorParams struct {
	Secret   string // from [NewTOTPSecret]
	Code     string // a current code of the authenticator app
	Password string // the current password
}
