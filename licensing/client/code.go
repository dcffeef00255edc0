package client

import "github.com/seed-d8a106b4/licensekit/licensing/api"

// The codes that this package sets.
const (
	// CodeUnexpectedResponse is the code of a response that is not from the
	// service: a redirect, an HTML page of a proxy or of a captive portal, or
	// JSON of another shape.
	CodeUnexpectedResponse api.Code = "unexpected_response"
	// CodeInvalidSignature is the code of a webhook request that the service
	// did not sign with the secret, or not within the last five minutes.
	CodeInvalidSignature api.Code = "invalid_signature"
)
