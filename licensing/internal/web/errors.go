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
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

// answers is the one table from errors to answers. The first row whose error
// matches under errors.Is counts; add, if there is one, puts in what only the
// error at hand knows. What matches no row is 500, and its text goes to the
// log alone.
var answers = []struct {
	err    error
	status int
	code   string
	detail string
	add    func(p *Problem, err error)
}{
	// The rules.
	{license.ErrNotFound, 404, "not_found", "There is no such license or webhook, or nothing of that name on it.", nil},
	{license.ErrInvalid, 422, "invalid_parameters", "The request breaks a rule; each entry of errors names a member and the mend.", addFields},
	{license.ErrStale, 412, "stale", "The license has changed since it was read. Read it again, and repeat the request with its present ETag.", addETag},
	{license.ErrAmbiguous, 409, "license_ambiguous", "This product and customer have more than one license. Repeat the request with the id of the one to change.", addIDs},
	{license.ErrProductForbidden, 403, "product_forbidden", "This client may not give out licenses of that product.", nil},
	{license.ErrKeyTaken, 409, "key_taken", "Another license has this key. Leave key out to have one made.", nil},
	{license.ErrOnceMismatch, 422, "idempotency_key_reused", "This Idempotency-Key came with another request before. Send a new key with a new request.", nil},
	{license.ErrMove, 409, "move_forbidden", "The state of the license does not allow this.", addMove},
	{license.ErrDenied, 409, "denied", "The license does not allow this; the verdict says why, and when to ask again.", addVerdict},
	{license.ErrCursorGone, 410, "cursor_gone", "The feed no longer continues at this cursor: retention removed events after it, or the store was restored from a backup. Read the feed again without after, and skip the events whose ids you know.", nil},
	{license.ErrForbidden, 403, "forbidden", "This is not for those who hold a license key. Ask whoever gave it out.", nil},

	// Credentials and people.
	{auth.ErrNotFound, 404, "not_found", "There is no such client, secret or operator.", nil},
	{auth.ErrTooManySecrets, 409, "too_many_secrets", "The client has two live secrets. Revoke one of them first.", nil},
	{operator.ErrLastAdmin, 409, "last_admin", "This is the last admin who can sign in. Make another one first.", nil},
	{operator.ErrAlreadySetUp, 409, "already_set_up", "There is an operator already. Sign in, or ask an admin for access.", nil},
	{operator.ErrSetupCode, 422, "setup_code", "The set-up code is wrong or has ended.", nil},
	{operator.ErrInvitationCode, 422, "invite_code", "The invitation is wrong, was used or has ended. Ask for a new one.", nil},
	{operator.ErrCredentials, 422, "credentials", "The e-mail address or the password is wrong.", nil},
	{operator.ErrNoSession, 403, "no_session", "Nobody is signed in. Sign in first.", nil},
	{operator.ErrThrottled, 429, "rate_limited", "Too many attempts failed. Wait as long as Retry-After says.", addWait},

	// What may pass by itself.
	{store.ErrConflict, 503, "busy", "Too many changes at once; nothing was done. Repeat the request.", addRetryAfter},
	{store.ErrUnavailable, 503, "unavailable", "The service cannot reach its records now. Repeat the request later.", addRetryAfter},
	{store.ErrUnknownOutcome, 503, "outcome_unknown", "The change may or may not have been made. Read the resource before you repeat the request, or repeat it with the same Idempotency-Key.", addRetryAfter},
	{context.DeadlineExceeded, 503, "unavailable", "The service could not answer in time. Repeat the request later.", addRetryAfter},
	{context.Canceled, 503, "unavailable", "The request was given up before it was done.", addRetryAfter},
}

// ProblemOf returns the answer to an error.
func ProblemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if refusal, ok := errors.AsType[*auth.Error](err); ok {
		return refused(refusal)
	}
	for _, a := range answers {
		if errors.Is(err, a.err) {
			p := &Problem{Status: a.status, Code: a.code, Detail: a.detail, Cause: err}
			if a.add != nil {
				a.add(p, err)
			}
			return p
		}
	}
	return &Problem{
		Status: http.StatusInternalServerError, Code: "internal",
		Detail: "The service failed to answer. Its log tells why, under the request_id.",
		Cause:  err,
	}
}

// refused is the answer to a request without a good token.
func refused(err *auth.Error) *Problem {
	p := &Problem{Status: err.Status, Code: err.Code, Detail: err.Description, Header: http.Header{}, Cause: err}
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
	if invalid, ok := isInvalid(err); ok {
		for _, f := range invalid.Fields {
			p.Faults = append(p.Faults, Fault{Pointer: pointer(f.Field), Detail: f.Detail, Code: f.Code})
		}
	}
}

func isInvalid(err error) (*license.InvalidError, bool) {
	return errors.AsType[*license.InvalidError](err)
}

func addETag(p *Problem, err error) {
	if stale, ok := errors.AsType[*license.StaleError](err); ok {
		p.Header = http.Header{"Etag": {etag(stale.Current)}}
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
		p.Detail = "There is no way to " + move.Move + " a license that is " + p.From + "."
	}
}

// addVerdict tells why a license admits nobody. That there is none with the
// key is the 404 of everything that is not there.
func addVerdict(p *Problem, err error) {
	denied, ok := errors.AsType[*license.DeniedError](err)
	if !ok {
		return
	}
	p.Code, p.Verdict = string(denied.Verdict.Code), &denied.Verdict
}

func addWait(p *Problem, err error) {
	if throttled, ok := errors.AsType[*operator.ThrottledError](err); ok {
		p.Header = http.Header{"Retry-After": {retryAfter(throttled.RetryAfter)}}
	}
}

func addRetryAfter(p *Problem, _ error) {
	if p.Header == nil {
		p.Header = http.Header{}
	}
	p.Header.Set("Retry-After", retryAfter(time.Second))
}

// bodyError is the answer to an error while a body was read.
func bodyError(err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &Problem{Status: http.StatusRequestTimeout, Code: "request_timeout", Cause: err,
			Detail: "The body did not arrive in time.", Header: http.Header{"Connection": {"close"}}}
	case errors.As(err, new(*http.MaxBytesError)):
		return tooLarge()
	default:
		return &Problem{Status: http.StatusBadRequest, Code: "incomplete_body", Detail: "The body ended before it was whole.", Cause: err}
	}
}

func tooLarge() error {
	return &Problem{Status: http.StatusRequestEntityTooLarge, Code: "body_too_large", Detail: "The body is larger than this service reads."}
}

// Invalid is the answer to a request whose header or query is wrong.
func Invalid(faults ...Fault) error {
	details := make([]string, len(faults))
	for i, f := range faults {
		details[i] = strings.TrimSpace(f.Header + f.Parameter + " " + f.Detail)
	}
	return &Problem{Status: http.StatusBadRequest, Code: "invalid_request", Detail: strings.Join(details, "; ") + ".", Faults: faults}
}
