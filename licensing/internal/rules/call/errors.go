package call

import (
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// rules are the errors of calls that were refused before anything was written.
var rules = []error{
	api.ErrNotFound, api.ErrInvalid, api.ErrStale, api.ErrAmbiguous, api.ErrProductForbidden,
	api.ErrKeyTaken, api.ErrOnceMismatch, api.ErrMove, api.ErrDenied, api.ErrCursorGone, api.ErrForbidden, api.ErrSeatHeld,
	api.ErrReferenceTaken, api.ErrTrialTaken, api.ErrLinkGone,
}
