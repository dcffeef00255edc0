package client

import "github.com/seed-d8a106b4/licensekit/licensing/api"

// The codes of problems; see [api.Code].
const (
	CodeInvalidRequest       = api.CodeInvalidRequest
	CodeInvalidToken         = api.CodeInvalidToken
	CodeInsufficientScope    = api.CodeInsufficientScope
	CodeForbidden            = api.CodeForbidden
	CodeProductForbidden     = api.CodeProductForbidden
	CodeNotFound             = api.CodeNotFound
	CodeLicenseAmbiguous     = api.CodeLicenseAmbiguous
	CodeKeyTaken             = api.CodeKeyTaken
	CodeMoveForbidden        = api.CodeMoveForbidden
	CodeSeatHeld             = api.CodeSeatHeld
	CodeFileTooLarge         = api.FileTooLarge
	CodeReferenceTaken       = api.CodeReferenceTaken
	CodeTrialTaken           = api.CodeTrialTaken
	CodeCursorGone           = api.CodeCursorGone
	CodeStale                = api.CodeStale
	CodeInvalidParameters    = api.CodeInvalidParameters
	CodeIdempotencyKeyReused = api.CodeIdempotencyKeyReused
	CodeRateLimited          = api.CodeRateLimited
	CodeInternal             = api.CodeInternal
	CodeBusy                 = api.CodeBusy
	CodeUnavailable          = api.CodeUnavailable
	CodeOutcomeUnknown       = api.CodeOutcomeUnknown
)

// The codes of OAuth errors. Code "invalid_request" is shared with problem
// documents.
const (
	CodeInvalidClient          = api.CodeInvalidClient
	CodeInvalidScope           = api.CodeInvalidScope
	CodeUnsupportedGrantType   = api.CodeUnsupportedGrantType
	CodeTemporarilyUnavailable = api.CodeTemporarilyUnavailable
	CodeServerError            = api.CodeServerError
)

// The codes of verdicts. An activation that is refused fails with the code of
// its verdict.
const (
	CodeValid              = api.VerdictValid
	CodeInGrace            = api.VerdictInGrace
	CodeRevoked            = api.VerdictRevoked
	CodeSuspended          = api.VerdictSuspended
	CodeExpired            = api.VerdictExpired
	CodeScheduled          = api.VerdictScheduled
	CodeProductMismatch    = api.VerdictProductMismatch
	CodeCustomerMismatch   = api.VerdictCustomerMismatch
	CodeNotActivated       = api.VerdictNotActivated
	CodeLeaseEnded         = api.VerdictLeaseEnded
	CodeEvicted            = api.VerdictEvicted
	CodeUpdatesEnded       = api.VerdictUpdatesEnded
	CodeActivationLimit    = api.VerdictActivationLimit
	CodeEntitlementMissing = api.VerdictEntitlementMissing
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
)
