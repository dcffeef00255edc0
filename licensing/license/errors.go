package license

import "github.com/seed-d8a106b4/licensekit/licensing/api"

// rules are the errors of calls that were refused before anything was written.
var rules = []error{
	ErrNotFound, ErrInvalid, ErrStale, ErrAmbiguous, ErrProductForbidden,
	ErrKeyTaken, ErrOnceMismatch, ErrMove, ErrDenied, ErrCursorGone, ErrForbidden, ErrSeatHeld,
	ErrReferenceTaken, ErrTrialTaken,
}

type (
	InvalidError   = api.InvalidError
	FieldError     = api.FieldError
	StaleError     = api.StaleError
	AmbiguousError = api.AmbiguousError
	MoveError      = api.MoveError
	DeniedError    = api.DeniedError
	SeatHeldError  = api.SeatHeldError
	NoFileError    = api.NoFileError
)

var (
	ErrNotFound         = api.ErrNotFound
	ErrInvalid          = api.ErrInvalid
	ErrStale            = api.ErrStale
	ErrAmbiguous        = api.ErrAmbiguous
	ErrProductForbidden = api.ErrProductForbidden
	ErrKeyTaken         = api.ErrKeyTaken
	ErrOnceMismatch     = api.ErrOnceMismatch
	ErrMove             = api.ErrMove
	ErrDenied           = api.ErrDenied
	ErrSeatHeld         = api.ErrSeatHeld
	ErrNoFile           = api.ErrNoFile
	ErrActivationLimit  = api.ErrActivationLimit
	ErrCursorGone       = api.ErrCursorGone
	ErrReferenceTaken   = api.ErrReferenceTaken
	ErrTrialTaken       = api.ErrTrialTaken
	ErrForbidden        = api.ErrForbidden
)

func Invalid(field, code, detail string) error { return api.Invalid(field, code, detail) }
