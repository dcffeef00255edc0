package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/signin"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/input"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// An answer is what the service responds to an error.
type answer struct {
	err    error
	status int
	code   api.Code
	detail string
}

// answers maps errors to problems. The first row that matches under errors.Is
// applies. An error without a row is a 500, and its text appears only in the log.
var answers = []answer{
	// Records and rules.
	{api.ErrNotFound, 404, api.CodeNotFound, "This record does not exist, or this client may not see it."},
	{api.ErrInvalid, 422, api.CodeInvalidParameters, "The request is invalid; errors lists each invalid member and how to fix it."},
	{api.ErrStale, 412, api.CodeStale, "The record has changed since it was read. Read it again and retry with the current ETag."},
	{api.ErrAmbiguous, 409, api.CodeLicenseAmbiguous, "The customer has more than one license for this product. Retry with the id of the one to change."},
	{api.ErrProductForbidden, 403, api.CodeProductForbidden, "This client is not allowed to manage licenses of this product."},
	{api.ErrKeyTaken, 409, api.CodeKeyTaken, "Another license has this key. Omit key to generate one."},
	{api.ErrOnceMismatch, 422, api.CodeIdempotencyKeyReused, "This Idempotency-Key was used for a different request. Use a new key for a new request."},
	{api.ErrStateForbids, 409, api.CodeStateForbidden, "The state of the license does not allow this operation."},
	{api.ErrDenied, 409, "denied", "The license does not allow this; verdict has the reasons and when to retry."},
	{api.ErrSeatHeld, 409, api.CodeSeatHeld, "A license file holds the seat, and no other seat may be released before its file expires. Retry after offline_until."},
	{api.ErrNoFile, 409, "no_file", "The license allows no file."},
	{api.ErrCursorGone, 410, api.CodeCursorGone, "The event feed does not continue at this cursor: retention removed events after it, or the store was restored from a backup. Read the feed from the beginning, without after, and skip events whose ids you know."},
	{api.ErrLinkGone, 410, api.CodeLinkGone, "The customer has declined, or the time to approve is over. Start another link."},
	{api.ErrReferenceTaken, 409, api.CodeReferenceTaken, "The reference is that of another purchase, one of another customer or license, or license_id is the license of another customer. Use a reference of its own for each purchase."},
	{api.ErrTrialTaken, 409, api.CodeTrialTaken, "This trial has been used. An operator can allow another one."},
	{api.ErrClaimed, 409, api.CodeLicenseClaimed, "The license with this key is another customer's, and cannot be claimed. An operator can transfer it."},
	{licensefile.ErrTooLarge, 409, api.CodeListTooLarge, "The revocation list of the product would be too large. Send license_id too, to get the list of one license."},
	{api.ErrForbidden, 403, api.CodeForbidden, "License keys cannot perform this operation. Contact the license issuer."},

	// Clients and operators.
	{auth.ErrTooManySecrets, 409, "too_many_secrets", "The client has two active secrets. Revoke one of them first."},
	{operator.ErrLastAdmin, 409, "last_admin", "This is the last admin who can sign in. Add another admin first."},
	{operator.ErrAlreadySetUp, 409, "already_set_up", "Setup is already complete. Sign in, or ask an admin for access."},
	{signin.ErrSetupCode, 422, "setup_code", "The setup code is wrong or has expired."},
	{signin.ErrInvitationCode, 422, "invite_code", "The invitation is wrong, has been used or has expired. Ask for a new one."},
	{signin.ErrCredentials, 422, "credentials", "The e-mail address or the password is wrong."},
	{signin.ErrSecondFactor, 422, "second_factor", "Enter the code of your second factor."},
	{signin.ErrCode, 422, "second_factor_code", "The code is wrong or was used before. Enter a new one."},
	{signin.ErrNoSession, 403, "no_session", "You are not signed in. Sign in first."},
	{operator.ErrThrottled, 429, api.CodeRateLimited, "Too many failed attempts. Retry after the time in Retry-After."},

	// Temporary failures.
	{store.ErrConflict, 503, api.CodeBusy, "Too many concurrent changes; nothing was changed. Retry the request."},
	{store.ErrFull, 503, api.CodeStorageFull, "The storage of the service is full; nothing was changed. Make room for it, and retry the request."},
	{store.ErrUnavailable, 503, api.CodeUnavailable, "The store is unavailable. Retry the request later."},
	{store.ErrUnknownOutcome, 503, api.CodeOutcomeUnknown, "The change may or may not have been made. Read the resource before you repeat the request, or repeat it with the same Idempotency-Key."},
	{context.DeadlineExceeded, 503, api.CodeUnavailable, "The request timed out. Retry it later."},
	{context.Canceled, 503, api.CodeUnavailable, "The request was canceled before it finished."},
}

// ProblemOf returns the problem for an error.
func ProblemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	p := NewProblem(http.StatusInternalServerError, api.CodeInternal, "Internal error. The service log has the details under this request_id.")
	if refusal, ok := errors.AsType[*auth.Error](err); ok {
		p = NewProblem(refusal.Status, api.Code(refusal.Code), refusal.Description)
	} else if syntax, ok := errors.AsType[*input.SyntaxError](err); ok {
		p = NewProblem(http.StatusBadRequest, api.CodeInvalidJSON, "The body "+syntax.Detail+".")
	} else if i := slices.IndexFunc(answers, func(a answer) bool { return errors.Is(err, a.err) }); i >= 0 {
		p = NewProblem(answers[i].status, answers[i].code, answers[i].detail)
	}
	p.addDetails(err)
	return p.WithCause(err)
}

// addDetails adds what an error says of itself.
func (p *Problem) addDetails(err error) {
	wait := time.Duration(0) // until the request may be repeated
	if p.Status == http.StatusServiceUnavailable {
		wait = time.Second
	}
	if e, ok := errors.AsType[*auth.Error](err); ok {
		wait = cmp.Or(e.RetryAfter, wait)
		if e.Challenge != "" {
			p.Header.Set("WWW-Authenticate", e.Challenge)
		}
	} else if e, ok := errors.AsType[*api.InvalidError](err); ok {
		for _, f := range e.Fields[:min(len(e.Fields), maxErrors)] {
			p.Errors = append(p.Errors, api.FieldError{Pointer: pointer(f.Field), Detail: f.Detail, Code: f.Code})
		}
	} else if e, ok := errors.AsType[*api.StaleError](err); ok {
		p.Header.Set("ETag", e.Current.ETag())
	} else if e, ok := errors.AsType[*api.AmbiguousError](err); ok {
		p.IDs = e.IDs
	} else if e, ok := errors.AsType[*api.StateError](err); ok {
		p.From, p.To = string(e.From), string(e.To)
		if p.Detail = "The customer is suspended. Reinstate the customer."; !e.Customer {
			p.Detail = "Cannot " + e.Change + " a license that is " + p.From + "."
		}
	} else if e, ok := errors.AsType[*api.DeniedError](err); ok && p.Status == http.StatusConflict {
		p.Code, p.Verdict = e.Verdict.Code, &e.Verdict
	} else if ok && p.Status == http.StatusNotFound && len(e.Verdict.Reasons) > 0 { // an unknown key is only not found
		p.Detail = e.Verdict.Reasons[0].Detail
	} else if e, ok := errors.AsType[*api.SeatHeldError](err); ok {
		p.OfflineUntil = &e.OfflineUntil
	} else if e, ok := errors.AsType[*api.NoFileError](err); ok {
		p.Code, p.Detail = e.Reason.Code, e.Reason.Detail
	} else if e, ok := errors.AsType[*operator.ThrottledError](err); ok {
		wait = e.RetryAfter
	}
	if wait > 0 {
		p.Header.Set("Retry-After", retryAfter(wait))
	}
}

// BodyError returns the problem for an error while reading a body, which is what the text
// names, such as a form.
func BodyError(what string, err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return NewProblem(http.StatusRequestTimeout, api.CodeRequestTimeout,
			"The "+what+" did not arrive in time.").WithCause(err).WithHeader("Connection", "close")
	case errors.As(err, new(*http.MaxBytesError)):
		return NewProblem(http.StatusRequestEntityTooLarge, api.CodeBodyTooLarge, "The "+what+" is larger than this service accepts.")
	default:
		return NewProblem(http.StatusBadRequest, api.CodeIncompleteBody, "The "+what+" is incomplete or malformed.").WithCause(err)
	}
}

// invalid returns the problem for invalid headers or query parameters.
func invalid(errs ...api.FieldError) error {
	return wrong(http.StatusBadRequest, api.CodeInvalidRequest, errs)
}

// unprocessable returns the problem for a header or a parameter that is well-formed and
// that this request cannot have.
func unprocessable(errs ...api.FieldError) error {
	return wrong(http.StatusUnprocessableEntity, api.CodeInvalidParameters, errs)
}

func wrong(status int, code api.Code, errs []api.FieldError) error {
	details := make([]string, len(errs))
	for i, f := range errs {
		details[i] = strings.TrimSpace(f.Header + f.Parameter + " " + f.Detail)
	}
	p := NewProblem(status, code, strings.Join(details, "; ")+".")
	p.Errors = errs
	return p
}
