package client

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"time"
)

// CreateLicenseParams are the fields of a new license. Name, ProductID and
// CustomerID are required.
type CreateLicenseParams struct {
	Name       string `json:"name"`          // 1–255 characters, as all names and IDs
	ProductID  string `json:"product_id"`    //
	CustomerID string `json:"customer_id"`   // must not begin with "lic_"
	Key        string `json:"key,omitempty"` // empty: the service generates one

	StartsAt       *time.Time        `json:"starts_at,omitempty"`       // nil: immediately
	ExpiresAt      *time.Time        `json:"expires_at,omitempty"`      // nil: never
	GraceSeconds   int64             `json:"grace_seconds,omitempty"`   // how long the license stays valid after ExpiresAt
	MaxActivations *int64            `json:"max_activations,omitempty"` // nil: unlimited
	LeaseSeconds   *int64            `json:"lease_seconds,omitempty"`   // nil: activations last until released
	OfflineSeconds *int64            `json:"offline_seconds,omitempty"` // how long a license file is valid at most; nil: the default of the service; 0: none
	Entitlements   map[string]any    `json:"entitlements,omitempty"`    // values are true, a number or a string
	Metadata       map[string]string `json:"metadata,omitempty"`

	// IdempotencyKey makes a repeated call return the first result for 24
	// hours. Empty: a random key, which covers the retries of one call.
	IdempotencyKey string `json:"-" header:"Idempotency-Key"`
}

// CreateLicense adds a license. It fails with [CodeInvalidParameters],
// [CodeKeyTaken] or [CodeProductForbidden].
func (c *Client) CreateLicense(ctx context.Context, p CreateLicenseParams) (License, error) {
	return call[License](ctx, c, "POST /license", keyed, p)
}

// GetLicense returns the license with an ID. It fails with [CodeNotFound].
func (c *Client) GetLicense(ctx context.Context, id string) (License, error) {
	return call[License](ctx, c, "GET /license/{licenseID}", 0, licenseID{id})
}

type licenseID struct {
	ID string `json:"-" path:"licenseID"`
}

// ListLicensesParams select licenses. Fields that are not set do not filter.
type ListLicensesParams struct {
	CustomerID    string        `json:"-" query:"customer_id"`
	ProductID     string        `json:"-" query:"product_id"`
	Status        LicenseStatus `json:"-" query:"status"`         // now
	ExpiresBefore time.Time     `json:"-" query:"expires_before"` // exclusive
	ExpiresAfter  time.Time     `json:"-" query:"expires_after"`  // inclusive
	Limit         int           `json:"-" query:"limit"`          // licenses per request, at most 200; 0: 50
}

// ListLicenses returns the selected licenses in the order of their creation.
// It reads page by page as the loop proceeds. An error ends the loop.
func (c *Client) ListLicenses(ctx context.Context, p ListLicensesParams) iter.Seq2[License, error] {
	type params struct {
		ListLicensesParams
		pageQuery
	}
	return list[License](ctx, c, "GET /license", 0, func(cursor string) any { return params{p, pageQuery{cursor}} })
}

// UpdateLicenseParams select a license and the fields to change. Fields that
// are not set keep their values.
type UpdateLicenseParams struct {
	// ID names the license. Without it, Name, ProductID and CustomerID are
	// required, and ProductID and CustomerID name the license.
	ID string `json:"-" path:"licenseID"`

	Name       *string `json:"name,omitempty"`
	ProductID  *string `json:"product_id,omitempty"`
	CustomerID *string `json:"customer_id,omitempty"`

	StartsAt       Change[time.Time] `json:"starts_at,omitzero"`
	ExpiresAt      Change[time.Time] `json:"expires_at,omitzero"`
	GraceSeconds   *int64            `json:"grace_seconds,omitempty"`
	MaxActivations Change[int64]     `json:"max_activations,omitzero"`
	LeaseSeconds   Change[int64]     `json:"lease_seconds,omitzero"`
	OfflineSeconds Change[int64]     `json:"offline_seconds,omitzero"`

	// Entitlements and Metadata are merged by name: a nil value removes its
	// entry, null removes all entries.
	Entitlements Change[map[string]any]     `json:"entitlements,omitzero"`
	Metadata     Change[map[string]*string] `json:"metadata,omitzero"`

	// IfMatch makes the update conditional: it fails with [CodeStale] unless
	// the license has this [License.ETag].
	IfMatch        string `json:"-" header:"If-Match"`
	IdempotencyKey string `json:"-" header:"Idempotency-Key"` // as in [CreateLicenseParams]
}

// UpdateLicense changes a license. It fails with [CodeNotFound],
// [CodeLicenseAmbiguous], [CodeStale], [CodeInvalidParameters] or
// [CodeProductForbidden].
func (c *Client) UpdateLicense(ctx context.Context, p UpdateLicenseParams) (License, error) {
	if p.ID != "" {
		return call[License](ctx, c, "PATCH /license/{licenseID}", keyed, p)
	}
	p.ID = "-" // not in the path of this operation
	return call[License](ctx, c, "PATCH /license", keyed, p)
}

// DeleteLicenseParams select a license.
type DeleteLicenseParams struct {
	ID      string `json:"-" path:"licenseID"`
	IfMatch string `json:"-" header:"If-Match"` // as in [UpdateLicenseParams]
}

// DeleteLicense deletes a license. It fails with [CodeNotFound] or
// [CodeStale]. If a retry finds no license after an attempt of unknown
// outcome, the license counts as deleted.
func (c *Client) DeleteLicense(ctx context.Context, p DeleteLicenseParams) error {
	_, err := call[struct{}](ctx, c, "DELETE /license/{licenseID}", 0, p)
	return deleted(err)
}

// deleted returns nil for the error of a deletion that an earlier attempt made.
func deleted(err error) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Status == http.StatusNotFound && e.afterUnknown {
		return nil
	}
	return err
}

// MoveLicenseParams are the parameters of [Client.SuspendLicense],
// [Client.ReinstateLicense] and [Client.RevokeLicense].
type MoveLicenseParams struct {
	ID             string `json:"-" path:"licenseID"`
	Reason         string `json:"reason,omitempty"`           // kept in License.StatusReason and the event
	IfMatch        string `json:"-" header:"If-Match"`        // as in [UpdateLicenseParams]
	IdempotencyKey string `json:"-" header:"Idempotency-Key"` // as in [CreateLicenseParams]
}

// SuspendLicense makes a license invalid until it is reinstated. It fails with
// [CodeNotFound], [CodeMoveForbidden] or [CodeStale].
func (c *Client) SuspendLicense(ctx context.Context, p MoveLicenseParams) (License, error) {
	return call[License](ctx, c, "POST /license/{licenseID}/suspend", keyed, p)
}

// ReinstateLicense ends a suspension. Its errors are those of
// [Client.SuspendLicense].
func (c *Client) ReinstateLicense(ctx context.Context, p MoveLicenseParams) (License, error) {
	return call[License](ctx, c, "POST /license/{licenseID}/reinstate", keyed, p)
}

// RevokeLicense makes a license invalid forever. Its errors are those of
// [Client.SuspendLicense].
func (c *Client) RevokeLicense(ctx context.Context, p MoveLicenseParams) (License, error) {
	return call[License](ctx, c, "POST /license/{licenseID}/revoke", keyed, p)
}

// RenewLicenseParams are the parameters of [Client.RenewLicense]. Exactly one
// of ExpiresAt and Duration must be set.
type RenewLicenseParams struct {
	ID             string     `json:"-" path:"licenseID"`
	ExpiresAt      *time.Time `json:"expires_at,omitempty"`
	Duration       string     `json:"duration,omitempty"` // of the calendar (ISO 8601), such as "P1Y" or "P30D"
	From           RenewFrom  `json:"from,omitempty"`     // the start of Duration; empty: FromLater
	Reason         string     `json:"reason,omitempty"`   // kept in the event
	IfMatch        string     `json:"-" header:"If-Match"`
	IdempotencyKey string     `json:"-" header:"Idempotency-Key"` // as in [CreateLicenseParams]
}

// RenewLicense moves the end of a license to a later time. In addition to the
// errors of [Client.SuspendLicense], it fails with [CodeInvalidParameters] if the
// license has no end, or if the new one is not later.
func (c *Client) RenewLicense(ctx context.Context, p RenewLicenseParams) (License, error) {
	return call[License](ctx, c, "POST /license/{licenseID}/renew", keyed, p)
}

// RekeyLicenseParams are the parameters of [Client.RekeyLicense].
type RekeyLicenseParams struct {
	ID             string `json:"-" path:"licenseID"`
	Key            string `json:"key,omitempty"`              // empty: the service generates one
	Reason         string `json:"reason,omitempty"`           // kept in the event
	IfMatch        string `json:"-" header:"If-Match"`        // as in [UpdateLicenseParams]
	IdempotencyKey string `json:"-" header:"Idempotency-Key"` // as in [CreateLicenseParams]
}

// RekeyLicense replaces the key of a license. The old key is unknown from then
// on. In addition to the errors of [Client.SuspendLicense], it fails with
// [CodeKeyTaken].
func (c *Client) RekeyLicense(ctx context.Context, p RekeyLicenseParams) (License, error) {
	return call[License](ctx, c, "POST /license/{licenseID}/rekey", keyed, p)
}

// ExplainLicenseParams are the parameters of [Client.ExplainLicense]. Fields
// that are not set are not checked.
type ExplainLicenseParams struct {
	ID           string    `json:"-" path:"licenseID"`
	At           time.Time `json:"-" query:"at"` // zero: now
	ProductID    string    `json:"-" query:"product_id"`
	CustomerID   string    `json:"-" query:"customer_id"`
	Fingerprint  string    `json:"-" query:"fingerprint"`
	Entitlements []string  `json:"-" query:"entitlements"`
}

// ExplainLicense returns the verdict on a license at any time. It changes
// nothing. It fails with [CodeNotFound].
func (c *Client) ExplainLicense(ctx context.Context, p ExplainLicenseParams) (Verdict, error) {
	return call[Verdict](ctx, c, "GET /license/{licenseID}/verdict", 0, p)
}
