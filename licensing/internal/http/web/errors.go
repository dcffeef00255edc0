package web

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// answers maps errors to problems. The first row that matches under errors.Is
// applies; add, if set, adds details of the error. An error without a row is a
// 500, and its text appears only in the log.
var answers = []struct {
	err    error
	status int
	code   api.Code
	detail string
	add    func(p *Problem, err error)
}{
	// Licensing rules.
	{license.ErrNotFound, 404, "not_found", "This license, activation, plan, purchase, webhook or delivery does not exist.", nil},
	{license.ErrInvalid, 422, "invalid_parameters", "The request is invalid; errors lists each invalid member and how to fix it.", addFields},
	{license.ErrStale, 412, "stale", "The license has changed since it was read. Read it again and retry with the current ETag.", addETag},
	{license.ErrAmbiguous, 409, "license_ambiguous", "The customer has more than one license for this product. Retry with the id of the one to change.", addIDs},
	{license.ErrProductForbidden, 403, "product_forbidden", "This client is not allowed to manage licenses of this product.", nil},
	{license.ErrKeyTaken, 409, "key_taken", "Another license has this key. Omit key to generate one.", nil},
	{license.ErrOnceMismatch, 422, "idempotency_key_reused", "This Idempotency-Key was used for a different request. Use a new key for a new request.", nil},
	{license.ErrMove, 409, "move_forbidden", "The state of the license does not allow this operation.", addMove},
	{license.ErrDenied, 409, "denied", "The license does not allow this activation; verdict has the reasons and when to retry.", addVerdict},
	{license.ErrSeatHeld, 409, "seat_held", "A license file holds the seat, and no other seat may be released before its file expires. Retry after offline_until.", addOfflineUntil},
	{license.ErrNoFile, 409, "no_file", "The license allows no file.", addFileReason},
	{license.ErrCursorGone, 410, "cursor_gone", "The event feed does not continue at this cursor: retention removed events after it, or the store was restored from a backup. Read the feed from the beginning, without after, and skip events whose ids you know.", nil},
	{license.ErrReferenceTaken, 409, "reference_taken", "The reference is that of another purchase: one of another customer or license. Use a reference of its own for each purchase.", nil},
	{license.ErrTrialTaken, 409, "trial_taken", "This trial has been used. An operator can allow another one.", nil},
	{licensefile.ErrTooLarge, 409, "list_too_large", "The revocation list of the product would be too large. Send license_id too, to get the list of one license.", nil},
	{license.ErrForbidden, 403, "forbidden", "License keys cannot perform this operation. Contact the license issuer.", nil},

	// Clients and operators.
	{auth.ErrNotFound, 404, "not_found", "This client, secret or operator does not exist.", nil},
	{auth.ErrTooManySecrets, 409, "too_many_secrets", "The client has two active secrets. Revoke one of them first.", nil},
	{operator.ErrLastAdmin, 409, "last_admin", "This is the last admin who can sign in. Add another admin first.", nil},
	{operator.ErrAlreadySetUp, 409, "already_set_up", "Setup is already complete. Sign in, or ask an admin for access.", nil},
	{operator.ErrSetupCode, 422, "setup_code", "The setup code is wrong or has expired.", nil},
	{operator.ErrInvitationCode, 422, "invite_code", "The invitation is wrong, has been used or has expired. Ask for a new one.", nil},
	{operator.ErrCredentials, 422, "credentials", "The e-mail address or the password is wrong.", nil},
	{operator.ErrSecondFactor, 422, "second_factor", "Enter the code of your second factor.", nil},
	{operator.ErrCode, 422, "second_factor_code", "The code is wrong or was used before. Enter a new one.", nil},
	{operator.ErrNoSession, 403, "no_session", "You are not signed in. Sign in first.", nil},
	{operator.ErrThrottled, 429, "rate_limited", "Too many failed attempts. Retry after the time in Retry-After.", addWait},

	// Temporary failures.
	{store.ErrConflict, 503, "busy", "Too many concurrent changes; nothing was changed. Retry the request.", addRetryAfter},
	{store.ErrUnavailable, 503, "unavailable", "The store is unavailable. Retry the request later.", addRetryAfter},
	{store.ErrUnknownOutcome, 503, "outcome_unknown", "The change may or may not have been made. Read the resource before you repeat the request, or repeat it with the same Idempotency-Key.", addRetryAfter},
	{context.DeadlineExceeded, 503, "unavailable", "The request timed out. Retry it later.", addRetryAfter},
	{context.Canceled, 503, "unavailable", "The request was canceled before it finished.", addRetryAfter},
}

// ProblemOf returns the problem for an error.
func ProblemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if refusal, ok := errors.AsType[*auth.Error](err); ok {
		return refused(refusal)
	}
	for _, a := range answers {
		if errors.Is(err, a.err) {
			p := NewProblem(a.status, a.code, a.detail).WithCause(err)
			if a.add != nil {
				a.add(p, err)
			}
			return p
		}
	}
	return NewProblem(http.StatusInternalServerError, "internal",
		"Internal error. The service log has the details under this request_id.").WithCause(err)
}

// refused returns the problem for a request without a valid token.
func refused(err *auth.Error) *Problem {
	p := NewProblem(err.Status, api.Code(err.Code), err.Description).WithCause(err)
	if err.Challenge != "" {
		p.Header.Set("WWW-Authenticate", err.Challenge)
	}
	if err.RetryAfter > 0 {
		p.Header.Set("Retry-After", retryAfter(err.RetryAfter))
	} else if err.Status == http.StatusServiceUnavailable {
		addRetryAfter(p, err)
	}
	return p
}

func addFields(p *Problem, err error) {
	if invalid, ok := errors.AsType[*license.InvalidError](err); ok {
		for _, f := range invalid.Fields {
			p.Errors = append(p.Errors, api.FieldError{Pointer: pointer(f.Field), Detail: f.Detail, Code: f.Code})
		}
	}
}

func addETag(p *Problem, err error) {
	if stale, ok := errors.AsType[*license.StaleError](err); ok {
		p.Header.Set("ETag", stale.Current.ETag())
	}
}

func addIDs(p *Problem, err error) {
	if ambiguous, ok := errors.AsType[*license.AmbiguousError](err); ok {
		p.IDs = ambiguous.IDs
	}
}

func addMove(p *Problem, err error) {
	if move, ok := errors.AsType[*license.MoveError](err); ok {
		p.From, p.To = string(move.From), string(move.To)
		p.Detail = "Cannot " + move.Move + " a license that is " + p.From + "."
	}
}

// addVerdict adds the verdict of a refused activation. An unknown key is a 404
// like any missing resource.
func addVerdict(p *Problem, err error) {
	denied, ok := errors.AsType[*license.DeniedError](err)
	if !ok {
		return
	}
	p.Code, p.Verdict = denied.Verdict.Code, &denied.Verdict
}

func addOfflineUntil(p *Problem, err error) {
	if held, ok := errors.AsType[*license.SeatHeldError](err); ok {
		p.OfflineUntil = &held.OfflineUntil
	}
}

func addFileReason(p *Problem, err error) {
	if refused, ok := errors.AsType[*license.NoFileError](err); ok {
		p.Code, p.Detail = refused.Reason.Code, refused.Reason.Detail
	}
}

func addWait(p *Problem, err error) {
	if throttled, ok := errors.AsType[*operator.ThrottledError](err); ok {
		p.Header.Set("Retry-After", retryAfter(throttled.RetryAfter))
	}
}

func addRetryAfter(p *Problem, _ error) {
	p.Header.Set("Retry-After", retryAfter(time.Second))
}

// bodyError returns the problem for an error while reading a body.
func bodyError(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return NewProblem(http.StatusRequestTimeout, "request_timeout",
			"The body did not arrive in time.").WithCause(err).WithHeader("Connection", "close")
	case errors.As(err, new(*http.MaxBytesError)):
		return tooLarge()
	default:
		return NewProblem(http.StatusBadRequest, "incomplete_body", "The body is incomplete.").WithCause(err)
	}
}

func tooLarge() error {
	return NewProblem(http.StatusRequestEntityTooLarge, "body_too_large", "The body is larger than this service accepts.")
}

// invalid returns the problem for invalid headers or query parameters.
func invalid(errs ...api.FieldError) error {
	details := make([]string, len(errs))
	for i, f := range errs {
		details[i] = strings.TrimSpace(f.Header + f.Parameter + " " + f.Detail)
	}
	p := NewProblem(http.StatusBadRequest, api.CodeInvalidRequest, strings.Join(details, "; ")+".")
	p.Errors = errs
	return p
}
