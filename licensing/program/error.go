package program

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// An Error says why a license is not valid, or why a call had no effect. Every error of
// [Open], of a [License] and of a [Link] is one. errors.Is compares its code:
// errors.Is(err, program.CodeUnreachable).
type Error struct {
	Code api.Code
	// Status is the status of the license at that moment, valid or not. Of Open: none.
	Status Status

	sentence string // in place of that for Code; empty: none
	text     string // for developers; empty: none
	cause    error
}

// Error returns what was wrong with an option, or with what Install was given, and otherwise
// what Message returns.
func (e *Error) Error() string {
	if e.text != "" {
		return e.text
	}
	return e.Message()
}

// Message returns one sentence for the user.
func (e *Error) Message() string {
	if e.sentence != "" {
		return e.sentence
	}
	if text, ok := messages[e.Code]; ok {
		return text
	}
	return "The licensing service has refused this (" + string(e.Code) + ")."
}

// Unwrap returns what caused the error: an error of the network, of the context or of package
// licensefile, for example; nil: the answer of the service.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether target is the code.
func (e *Error) Is(target error) bool { return target == error(e.Code) }

// Err returns nil if the status is valid, otherwise an [*Error].
func (s Status) Err() error {
	if s.Valid {
		return nil
	}
	return &Error{Code: s.Code, Status: s, sentence: s.Message()}
}

// fails returns the error of a call with a code.
func (l *License) fails(code api.Code, cause error) error {
	return &Error{Code: code, Status: l.Status(), cause: cause}
}

// explain returns the error of a call that the service did not answer as was asked for.
func (l *License) explain(ctx context.Context, err error) error {
	e := &Error{Code: CodeUnreachable, Status: l.Status(), cause: err}
	verdict, denied := errors.AsType[api.Code](err)
	switch {
	case err == nil || errors.As(err, new(*Error)):
		return err
	case l.ctx.Err() != nil:
		e.Code, e.cause = CodeClosed, errClosed
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		e.Code = CodeTimeout
	case ctx.Err() != nil:
		e.Code = CodeCanceled
	case errors.Is(err, errUntrusted):
		e.Code = CodeUntrusted
	case denied:
		e.Code = verdict
	case codeOf(err) != "":
		e.Code = codeOf(err)
	default:
		e.sentence = unreached(err)
	}
	return e
}

// fileCodes are the codes of the errors of package licensefile; of others, it is
// CodeFileRefused.
var fileCodes = []struct {
	code api.Code
	errs []error
}{
	{CodeFileUnreadable, []error{
		licensefile.ErrTooLarge, licensefile.ErrTruncated, licensefile.ErrEncoding, licensefile.ErrMalformed, licensefile.ErrDuplicate, licensefile.ErrType,
		licensefile.ErrCritical, licensefile.ErrCompressed, licensefile.ErrUnencoded, licensefile.ErrNoKeyID,
	}},
	{CodeFileUntrusted, []error{
		licensefile.ErrUnknownKey, licensefile.ErrCondemnedKey, licensefile.ErrAlgorithm, licensefile.ErrSignature, licensefile.ErrLent,
	}},
	{CodeFileOtherRequest, []error{licensefile.ErrNonce}},
	{api.VerdictProductMismatch, []error{licensefile.ErrProduct}},
	{CodeFingerprintChanged, []error{licensefile.ErrFingerprint}},
	{api.VerdictRevoked, []error{licensefile.ErrRevoked}},
	{CodeFileOutdated, []error{licensefile.ErrOldGeneration}},
	{CodeClockChanged, []error{licensefile.ErrClock}},
	{api.VerdictScheduled, []error{licensefile.ErrEarly}},
	{CodeFileExpired, []error{licensefile.ErrExpired}},
	{api.VerdictUpdatesEnded, []error{licensefile.ErrUpdatesEnded}},
	{CodeListStale, []error{licensefile.ErrStaleList}},
}

// FileError returns an error of package licensefile with its code, for a program that verifies
// a license file itself.
func FileError(err error) *Error {
	e := &Error{Code: CodeFileRefused, text: err.Error(), cause: err}
	for _, f := range fileCodes {
		if slices.ContainsFunc(f.errs, func(known error) bool { return errors.Is(err, known) }) {
			e.Code = f.code
			return e
		}
	}
	why := e.text[strings.LastIndex(": "+e.text, ": "):] // without the names of packages
	e.sentence = "This license file cannot be used here: " + why + "."
	return e
}
