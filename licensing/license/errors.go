package license

import (
	"errors"
	"fmt"
	"strings"

	"github.com/seed-d8a106b4/licensekit/auth"
)

// The errors of the rules. Methods return them wrapped or as the richer type
// that each comment names; test with [errors.Is] and [errors.As]. Errors of
// the store, such as store.ErrUnavailable and store.ErrConflict, come through
// wrapped.
var (
	// ErrNotFound: there is no such license or activation, or it is of a
	// product that does not exist for the caller.
	ErrNotFound = errors.New("not found")

	// ErrInvalid: parameters break a rule. Always an [*InvalidError].
	ErrInvalid = auth.ErrInvalid

	// ErrStale: the license is not at any of the versions asked for. Always
	// a [*StaleError].
	ErrStale = errors.New("the license has changed")

	// ErrAmbiguous: a product and a customer name more than one license.
	// Always an [*AmbiguousError].
	ErrAmbiguous = errors.New("more than one license matches")

	// ErrProductForbidden: the caller is limited to other products.
	ErrProductForbidden = errors.New("the product is outside the caller's limit")

	// ErrKeyTaken: another license has that key.
	ErrKeyTaken = errors.New("the key belongs to another license")

	// ErrOnceMismatch: the key of [Service.Once] was used for something else.
	ErrOnceMismatch = errors.New("the key was used for another request")

	// ErrMove: the license's state forbids the move. Always a [*MoveError].
	ErrMove = errors.New("the license's state forbids it")

	// ErrDenied: the license does not admit an activation. Always a
	// [*DeniedError].
	ErrDenied = errors.New("the license does not allow it")

	// ErrActivationLimit: a [*DeniedError] because all seats are taken.
	ErrActivationLimit = errors.New("all seats of the license are taken")

	// ErrCursorGone: the feed of events no longer continues at the cursor,
	// because retention removed events after it, or because the store was
	// restored from a backup or an archive. Read the feed from its beginning,
	// and skip the events whose ids are known.
	ErrCursorGone = errors.New("the feed no longer continues at this cursor")

	// ErrForbidden: holders of a license key may not do that here.
	ErrForbidden = errors.New("not allowed with a license key; see Options.KeyHolderSeats")
)

// rules are the errors that say a rule was broken.
var rules = []error{
	ErrNotFound, ErrInvalid, ErrStale, ErrAmbiguous, ErrProductForbidden,
	ErrKeyTaken, ErrOnceMismatch, ErrMove, ErrDenied, ErrCursorGone, ErrForbidden,
}

// An InvalidError lists every parameter that breaks a rule. It is [ErrInvalid]
// under [errors.Is].
type InvalidError = auth.InvalidError

// A FieldError says what is wrong with one parameter, and how to fix it. Its
// Code is one of the Code constants.
type FieldError = auth.FieldError

// The codes of a [FieldError]. The list may grow.
const (
	CodeRequired          = "required"
	CodeTooLong           = "too_long"
	CodeTooMany           = "too_many"
	CodeInvalidCharacters = "invalid_characters"
	CodeInvalidFormat     = "invalid_format"
	CodeOutOfRange        = "out_of_range"
	CodeUnknown           = "unknown"
	CodeImmutable         = "immutable"
	CodeTaken             = "taken"
	CodeInvalidJSON       = "invalid_json"
)

// Invalid returns an [*InvalidError] about one field. It is how
// Options.BeforeCreate refuses a license in words that reach the caller.
func Invalid(field, code, detail string) error {
	return &InvalidError{Fields: []FieldError{{Field: field, Code: code, Detail: detail}}}
}

// A StaleError is returned when IfMatch names no current version.
type StaleError struct {
	Current Version
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("the license is at version %s now; read it again", e.Current)
}

// Is makes errors.Is(e, ErrStale) true.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// An AmbiguousError lists the licenses that a product and a customer name.
type AmbiguousError struct {
	IDs []string // in order of creation; the first twenty
}

func (e *AmbiguousError) Error() string {
	return "more than one license matches (" + strings.Join(e.IDs, ", ") + "); name one by its id"
}

// Is makes errors.Is(e, ErrAmbiguous) true.
func (e *AmbiguousError) Is(target error) bool { return target == ErrAmbiguous }

// A MoveError is returned when a license's state forbids a move.
type MoveError struct {
	Move string // "suspend", "reinstate", "revoke", "renew" or "rekey"
	From Status // the state the license is in
	To   Status // the state the move leads to; From again for renew and rekey
}

func (e *MoveError) Error() string {
	return fmt.Sprintf("cannot %s a license that is %s", e.Move, e.From)
}

// Is makes errors.Is(e, ErrMove) true.
func (e *MoveError) Is(target error) bool { return target == ErrMove }

// A DeniedError is returned when a license does not admit an activation. It
// is also [ErrNotFound] if no license has the key, and [ErrActivationLimit] if
// all seats are taken.
type DeniedError struct {
	Verdict Verdict // why, and when to ask again
}

func (e *DeniedError) Error() string {
	if len(e.Verdict.Reasons) == 0 {
		return ErrDenied.Error()
	}
	return e.Verdict.Reasons[0].Detail
}

// Is makes errors.Is(e, ErrDenied) true, and the other two as they apply.
func (e *DeniedError) Is(target error) bool {
	switch target {
	case ErrNotFound:
		return e.Verdict.Code == VerdictNotFound
	case ErrActivationLimit:
		return e.Verdict.Code == VerdictActivationLimit
	}
	return target == ErrDenied
}
