package api

// A Code is a stable, machine-readable code of the service: of a problem, of
// an OAuth error, or of a verdict. A Code is also an error, so that errors.Is
// finds it in the errors of a client:
//
//	if errors.Is(err, api.CodeNotFound) { … }
//
// The list may grow. Compare a code without a constant with Code("…").
type Code string

// Error returns the code.
func (c Code) Error() string { return string(c) }

// The codes of problems. A refused activation has the code of its verdict, and
// a license file that is not allowed the code of its reason.
const (
	CodeInvalidRequest       Code = "invalid_request"        // 400: an invalid header, or an invalid parameter of the query
	CodeInvalidToken         Code = "invalid_token"          // 401
	CodeInsufficientScope    Code = "insufficient_scope"     // 403: the API client lacks a scope
	CodeForbidden            Code = "forbidden"              // 403: not allowed with a license key
	CodeProductForbidden     Code = "product_forbidden"      // 403: the API client is limited to other products
	CodeNotFound             Code = "not_found"              // 404
	CodeNotConfigured        Code = "not_configured"         // 404: the service lacks an option for this endpoint
	CodeLicenseAmbiguous     Code = "license_ambiguous"      // 409: Problem.IDs lists the candidates
	CodeKeyTaken             Code = "key_taken"              // 409: another license has this key
	CodeStateForbidden       Code = "state_forbidden"        // 409: see Problem.From and Problem.To
	CodeSeatHeld             Code = "seat_held"              // 409: a license file holds the seat; see Problem.OfflineUntil
	CodeReferenceTaken       Code = "reference_taken"        // 409: the purchase is one of another customer or license
	CodeTrialTaken           Code = "trial_taken"            // 409
	CodeListTooLarge         Code = "list_too_large"         // 409: ask for the revocation list of one license
	CodeCursorGone           Code = "cursor_gone"            // 410: read the event feed from the beginning
	CodeLinkGone             Code = "link_gone"              // 410: the customer has declined, or the time is over
	CodeStale                Code = "stale"                  // 412: IfMatch does not match
	CodeInvalidParameters    Code = "invalid_parameters"     // 422: Problem.Errors lists the members
	CodeIdempotencyKeyReused Code = "idempotency_key_reused" // 422
	CodeRateLimited          Code = "rate_limited"           // 429
	CodeSlowDown             Code = "slow_down"              // 429: wait for the interval between two polls
	CodeInternal             Code = "internal"               // 500
	CodeBusy                 Code = "busy"                   // 503: nothing was changed
	CodeUnavailable          Code = "unavailable"            // 503: nothing was changed
	CodeOutcomeUnknown       Code = "outcome_unknown"        // 503: the change may have been made
)

// The codes of OAuth errors, beside [CodeInvalidRequest].
const (
	CodeInvalidClient          Code = "invalid_client" // wrong client ID or secret
	CodeInvalidScope           Code = "invalid_scope"
	CodeUnsupportedGrantType   Code = "unsupported_grant_type"
	CodeTemporarilyUnavailable Code = "temporarily_unavailable"
	CodeServerError            Code = "server_error"
)

// The codes of a [FieldError]. The list may grow.
const (
	FieldRequired          = "required"           // it is missing or empty
	FieldTooLong           = "too_long"           // it has too many characters
	FieldTooMany           = "too_many"           // the list or the store has too many members
	FieldInvalidType       = "invalid_type"       // it has another JSON type
	FieldInvalidCharacters = "invalid_characters" // it is not UTF-8, or has control characters
	FieldInvalidFormat     = "invalid_format"     // it does not have the form that Detail describes
	FieldOutOfRange        = "out_of_range"       // the number, time or duration is too small or too large
	FieldUnknown           = "unknown"            // there is no such field or value
	FieldImmutable         = "immutable"          // it cannot be set here, or not together with another field
	FieldRepeated          = "repeated"           // it appears more than once
	FieldTaken             = "taken"              // another record has this value
	FieldInvalidJSON       = "invalid_json"       // a line of an import is not a JSON object
)
