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

// The codes of problems, each with its status and its meaning; docs/errors.md lists them.
// A refused activation has the code of its verdict, and a license file that is not
// allowed the code of its reason.
const (
	CodeInvalidRequest       Code = "invalid_request"        // 400, 405, 413: A header, or a parameter of the query, is invalid; errors lists each. 405 and 413 only of OAuth.
	CodeInvalidJSON          Code = "invalid_json"           // 400: The body is not JSON, or has the wrong form.
	CodeUnexpectedBody       Code = "unexpected_body"        // 400: The request does not take a body. Omit it.
	CodeIncompleteBody       Code = "incomplete_body"        // 400: The body ended early. Send the request again.
	CodeIDMismatch           Code = "id_mismatch"            // 400: The path and the member id identify different licenses. Omit id.
	CodeUnauthorized         Code = "unauthorized"           // 401: The request has no access token. Get one from oauth/token.
	CodeInvalidToken         Code = "invalid_token"          // 401: The access token is unknown, expired or revoked. Get a new one.
	CodeInsufficientScope    Code = "insufficient_scope"     // 403: The API client lacks the scope that detail names. An admin can add it.
	CodeForbidden            Code = "forbidden"              // 403: not allowed with a license key
	CodeProductForbidden     Code = "product_forbidden"      // 403: the API client is limited to other products
	CodeLicenseRequired      Code = "license_required"       // 403: The page is for customers with a license; see Handler.Require.
	CodeLicenseDenied        Code = "license_denied"         // 403: No license of the customer allows it; see Handler.Require.
	CodeNotFound             Code = "not_found"              // 404: there is no such record
	CodeNoSuchPath           Code = "no_such_path"           // 404: There is no such endpoint. See openapi.json.
	CodeNotConfigured        Code = "not_configured"         // 404: The service lacks the option for this endpoint; detail names it.
	CodeMethodNotAllowed     Code = "method_not_allowed"     // 405: The path does not have this method. The Allow header lists those that it has.
	CodeRequestTimeout       Code = "request_timeout"        // 408: The body did not arrive in time. Send the request again.
	CodeLicenseAmbiguous     Code = "license_ambiguous"      // 409: The customer has several licenses for the product; ids lists them.
	CodeKeyTaken             Code = "key_taken"              // 409: another license has this key
	CodeStateForbidden       Code = "state_forbidden"        // 409: see Problem.From and Problem.To
	CodeSeatHeld             Code = "seat_held"              // 409: a license file holds the seat; see Problem.OfflineUntil
	CodeReferenceTaken       Code = "reference_taken"        // 409: the purchase is one of another customer or license
	CodeTrialTaken           Code = "trial_taken"            // 409: the trial has been used
	CodeLicenseClaimed       Code = "license_claimed"        // 409: the license is another customer's
	CodeListTooLarge         Code = "list_too_large"         // 409: ask for the revocation list of one license
	CodeCursorGone           Code = "cursor_gone"            // 410: read the event feed from the beginning
	CodeLinkGone             Code = "link_gone"              // 410: the customer has declined, or the time is over
	CodeStale                Code = "stale"                  // 412: The record has changed since it was read. Read it again, and retry with its ETag.
	CodeBodyTooLarge         Code = "body_too_large"         // 413: The body is larger than this service accepts.
	CodeUnsupportedMediaType Code = "unsupported_media_type" // 415: The body has another media type than the request takes; detail names those.
	CodeInvalidParameters    Code = "invalid_parameters"     // 422: The body is invalid, or the request cannot have that header or value of a parameter; errors lists each, and how to fix it.
	CodeIdempotencyKeyReused Code = "idempotency_key_reused" // 422: the key was used for another request
	CodeRateLimited          Code = "rate_limited"           // 429: Too many requests. Retry after the time in Retry-After.
	CodeSlowDown             Code = "slow_down"              // 429: Wait for the interval of the link between two polls.
	CodeInternal             Code = "internal"               // 500: The service failed. Its log has the details under request_id.
	CodeBusy                 Code = "busy"                   // 503: nothing was changed
	CodeUnavailable          Code = "unavailable"            // 503: nothing was changed
	CodeStorageFull          Code = "storage_full"           // 503: nothing was changed
	CodeOutcomeUnknown       Code = "outcome_unknown"        // 503: the change may have been made
)

// The codes of OAuth errors (RFC 6749), beside [CodeInvalidRequest] and [CodeRateLimited].
const (
	CodeInvalidClient          Code = "invalid_client"          // 401, 400: The client ID or the client secret is wrong; 400 if they were in the body.
	CodeInvalidScope           Code = "invalid_scope"           // 400: The client does not have the scope.
	CodeUnsupportedGrantType   Code = "unsupported_grant_type"  // 400: grant_type must be client_credentials.
	CodeTemporarilyUnavailable Code = "temporarily_unavailable" // 503: Retry after the time in Retry-After.
	CodeServerError            Code = "server_error"            // 500: The service failed. Its log has the details.
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
