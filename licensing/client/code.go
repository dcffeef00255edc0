package client

// A Code is a stable, machine-readable code of the service: of a problem
// document, of an OAuth error, or of a verdict. A Code is also an error, so
// that errors.Is finds it:
//
//	if errors.Is(err, client.CodeNotFound) { … }
//
// The list may grow. Compare a code without a constant with Code("…").
type Code string

// Error returns the code.
func (c Code) Error() string { return string(c) }

// The codes of problem documents.
const (
	CodeInvalidRequest       Code = "invalid_request"        // 400: malformed JSON, or an unknown parameter
	CodeInvalidToken         Code = "invalid_token"          // 401
	CodeInsufficientScope    Code = "insufficient_scope"     // 403: the API client lacks a scope
	CodeForbidden            Code = "forbidden"              // 403: not allowed with a license key
	CodeProductForbidden     Code = "product_forbidden"      // 403: the API client is limited to other products
	CodeNotFound             Code = "not_found"              // 404, and a verdict: no license has the key
	CodeLicenseAmbiguous     Code = "license_ambiguous"      // 409: Error.IDs lists the candidates
	CodeKeyTaken             Code = "key_taken"              // 409: another license has this key
	CodeMoveForbidden        Code = "move_forbidden"         // 409: see Error.From and Error.To
	CodeSeatHeld             Code = "seat_held"              // 409: a license file holds the seat; see Error.OfflineUntil
	CodeOfflineForbidden     Code = "offline_forbidden"      // 409: the license does not allow license files
	CodeFileTooLarge         Code = "file_too_large"         // the entitlements do not fit into a license file; see Verdict.FileReason
	CodeCursorGone           Code = "cursor_gone"            // 410: read the event feed from the beginning
	CodeStale                Code = "stale"                  // 412: IfMatch does not match
	CodeInvalidParameters    Code = "invalid_parameters"     // 422: Error.Errors lists the fields
	CodeIdempotencyKeyReused Code = "idempotency_key_reused" // 422
	CodeRateLimited          Code = "rate_limited"           // 429
	CodeInternal             Code = "internal"               // 500
	CodeBusy                 Code = "busy"                   // 503: nothing was changed
	CodeUnavailable          Code = "unavailable"            // 503: nothing was changed
	CodeOutcomeUnknown       Code = "outcome_unknown"        // 503: the change may have been made
)

// The codes of OAuth errors. Code "invalid_request" is shared with problem
// documents.
const (
	CodeInvalidClient          Code = "invalid_client" // wrong ClientID or ClientSecret
	CodeInvalidScope           Code = "invalid_scope"
	CodeUnsupportedGrantType   Code = "unsupported_grant_type"
	CodeTemporarilyUnavailable Code = "temporarily_unavailable"
	CodeServerError            Code = "server_error"
)

// The codes of verdicts. An activation that is refused fails with the code of
// its verdict.
const (
	CodeValid              Code = "valid"
	CodeInGrace            Code = "in_grace"            // past ExpiresAt, within the grace period; valid
	CodeRevoked            Code = "revoked"             //
	CodeSuspended          Code = "suspended"           //
	CodeExpired            Code = "expired"             // past ExpiresAt and the grace period
	CodeScheduled          Code = "scheduled"           // before StartsAt
	CodeProductMismatch    Code = "product_mismatch"    //
	CodeCustomerMismatch   Code = "customer_mismatch"   //
	CodeNotActivated       Code = "not_activated"       // the fingerprint has no activation, or it was released
	CodeLeaseEnded         Code = "lease_ended"         // the activation was not renewed in time
	CodeEvicted            Code = "evicted"             // another activation took over the seat
	CodeActivationLimit    Code = "activation_limit"    // no seat is free
	CodeEntitlementMissing Code = "entitlement_missing" //
)

// The codes that this package sets.
const (
	// CodeUnexpectedResponse is the code of a response that is not from the
	// service: a redirect, an HTML page of a proxy or of a captive portal, or
	// JSON of another shape.
	CodeUnexpectedResponse Code = "unexpected_response"
	// CodeInvalidSignature is the code of a webhook request that the service
	// did not sign with the secret, or not within the last five minutes.
	CodeInvalidSignature Code = "invalid_signature"
	// CodeUnreachable is the code of a [Status]: the service has not answered,
	// or not for longer than ProgramOptions.Offline. As a warning: the last
	// request failed, and an earlier answer still counts.
	CodeUnreachable Code = "unreachable"
	// CodeUntrusted is the code of a [Status], or a warning: with
	// ProgramOptions.Trust, the service answered that the license is valid,
	// without a license file that verifies.
	CodeUntrusted Code = "untrusted"
	// CodeNoKey is the code of a [Status]: the program has no license key.
	CodeNoKey Code = "no_key"
	// CodeClockChanged is a warning: the clock of this machine was set back
	// while the program was running. As the code of a [Status]: the clock is
	// before a time that a license file proves.
	CodeClockChanged Code = "clock_changed"

	// The codes of a [Status] from license files.

	CodeNoFile             Code = "no_file"             // no file is installed
	CodeFileExpired        Code = "file_expired"        // the license itself has not expired: get a new file
	CodeFileOutdated       Code = "file_outdated"       // the license has changed, or the key was condemned: get a new file
	CodeFingerprintChanged Code = "fingerprint_changed" // the files are for another fingerprint; no seat is taken until SetKey

	// Warnings about license files.

	CodeFileSkipped   Code = "file_skipped"   // a file or a revocation list does not verify, or the list does not count
	CodeListStale     Code = "list_stale"     // the revocation list is more than a week old; with MaxListAge also the code of a [Status]
	CodeStateUnusable Code = "state_unusable" // State or Files cannot be read or written
)
