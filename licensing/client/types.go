package client

import "github.com/seed-d8a106b4/licensekit/licensing/api"

// isComplete reports whether a decoded response has what every response of its
// type has, which tells a response of the service from another one.
func isComplete(response any) bool {
	switch r := response.(type) {
	case api.License:
		return r.ID != ""
	case api.Batch:
		return len(r.Data) > 0
	case api.Activation:
		return r.ID != ""
	case api.Verdict:
		return r.Code != "" && (r.Valid && r.License != nil || !r.Valid && len(r.Reasons) > 0)
	case api.LicenseFile:
		return r.ID != "" && r.File != ""
	case api.Page[api.Event]:
		return r.Data != nil && r.NextCursor != ""
	case api.Webhook:
		return r.ID != ""
	case api.WebhookWithSecret:
		return r.ID != ""
	case api.Delivery:
		return r.ID != ""
	case api.Plan:
		return r.ID != ""
	case api.PlanUse:
		return r.Object != ""
	case api.PlanRollout:
		return r.Object != ""
	case api.PlanTakeUp:
		return r.Object != ""
	case api.Sales:
		return r.Object != ""
	case api.Purchase:
		return r.Result != ""
	case api.Trial:
		return r.License.ID != ""
	case Token:
		return r.AccessToken != "" && r.ExpiresIn > 0
	case Metadata:
		return r.Issuer != ""
	case Health:
		return r.Status != ""
	case Ready:
		return r.Status != ""
	case interface{ hasData() bool }:
		return r.hasData()
	}
	return true
}

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
