package client

import (
	"context"
	"errors"
	"io"
	"iter"
	"net/http"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// CreateLicense adds a license. It fails with [api.CodeInvalidParameters],
// [api.CodeKeyTaken] or [api.CodeProductForbidden].
func (c *Client) CreateLicense(ctx context.Context, p api.CreateLicenseParams) (api.License, error) {
	return call[api.License](ctx, c, "POST /license", keyed, p)
}

// CreateBatch adds licenses that are alike. It fails with [api.CodeInvalidParameters], also if
// the answer would be too long, or [api.CodeProductForbidden].
func (c *Client) CreateBatch(ctx context.Context, p api.CreateBatchParams) (api.Batch, error) {
	return call[api.Batch](ctx, c, "POST /license/batch", keyed, p)
}

// ClaimLicense gives a license to a customer who has its key. It fails with
// [api.CodeNotFound], [api.CodeLicenseClaimed], [api.CodeStateForbidden] or
// [api.CodeInvalidParameters].
func (c *Client) ClaimLicense(ctx context.Context, p api.ClaimLicenseParams) (api.License, error) {
	return call[api.License](ctx, c, "POST /license/claim", keyed, p)
}

// GetLicense returns the license with an ID. It fails with [api.CodeNotFound].
func (c *Client) GetLicense(ctx context.Context, id string) (api.License, error) {
	return call[api.License](ctx, c, "GET /license/{licenseID}", 0, licenseID{id})
}

type licenseID struct {
	ID string `json:"-" path:"licenseID"`
}

// ListLicenses returns the selected licenses, oldest first. Without a customer, a filter
// by expiry or for expired licenses sorts them by ExpiresAt, and one for scheduled
// licenses by StartsAt. It reads page by page as the loop proceeds. An error ends the loop.
func (c *Client) ListLicenses(ctx context.Context, p api.ListLicensesParams) iter.Seq2[api.License, error] {
	return list[api.License](ctx, c, "GET /license", 0, p.Cursor, func(cursor string) any { p := p; p.Cursor = cursor; return p })
}

// ListLicensesPage returns one page of what ListLicenses returns, for a program that shows
// pages: the next one continues after NextCursor, as p.Cursor. A page can be short or empty
// although HasMore is true.
func (c *Client) ListLicensesPage(ctx context.Context, p api.ListLicensesParams) (api.Page[api.License], error) {
	list, err := call[page[api.License]](ctx, c, "GET /license", 0, p)
	return list.Page, err
}

// UpdateLicense changes a license. It fails with [api.CodeNotFound],
// [api.CodeLicenseAmbiguous], [api.CodeStale], [api.CodeInvalidParameters] or
// [api.CodeProductForbidden].
func (c *Client) UpdateLicense(ctx context.Context, p api.UpdateLicenseParams) (api.License, error) {
	if p.ID != "" {
		return call[api.License](ctx, c, "PATCH /license/{licenseID}", keyed, p)
	}
	if p.Match != nil {
		p.ProductID, p.CustomerID, p.Match = &p.Match.ProductID, &p.Match.CustomerID, nil
	}
	return call[api.License](ctx, c, "PATCH /license", keyed, p)
}

// DeleteLicense deletes a license. It fails with [api.CodeNotFound] or
// [api.CodeStale]. If a retry finds no license after an attempt of unknown
// outcome, the license counts as deleted.
func (c *Client) DeleteLicense(ctx context.Context, p api.DeleteLicenseParams) error {
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

// SuspendLicense makes a license invalid until it is reinstated. It fails with
// [api.CodeNotFound], [api.CodeStateForbidden] or [api.CodeStale].
func (c *Client) SuspendLicense(ctx context.Context, p api.ChangeStateParams) (api.License, error) {
	return call[api.License](ctx, c, "POST /license/{licenseID}/suspend", keyed, p)
}

// ReinstateLicense ends a suspension. Its errors are those of
// [Client.SuspendLicense].
func (c *Client) ReinstateLicense(ctx context.Context, p api.ChangeStateParams) (api.License, error) {
	return call[api.License](ctx, c, "POST /license/{licenseID}/reinstate", keyed, p)
}

// SuspendCustomer suspends all licenses of a customer, and all that the customer gets
// before [Client.ReinstateCustomer]. Repeat a call that was interrupted.
func (c *Client) SuspendCustomer(ctx context.Context, p api.ChangeCustomerStateParams) (api.CustomerSuspension, error) {
	return call[api.CustomerSuspension](ctx, c, "POST /customer/{customerID}/suspend", keyed, p)
}

// ReinstateCustomer ends the suspension of a customer.
func (c *Client) ReinstateCustomer(ctx context.Context, p api.ChangeCustomerStateParams) (api.CustomerSuspension, error) {
	return call[api.CustomerSuspension](ctx, c, "POST /customer/{customerID}/reinstate", keyed, p)
}

// ExportCustomer writes what is stored about a customer to w, as one JSON object. If it
// returns an error, the output is not complete; once it has written, nothing is retried. It
// needs the scope customer:write, and fails with [api.CodeProductForbidden].
func (c *Client) ExportCustomer(ctx context.Context, w io.Writer, id string) error {
	return c.download(ctx, w, "GET /customer/{customerID}/export", "application/json", customerID{id})
}

// RenameCustomer changes the ID of a customer in several steps. Repeat a call that was
// interrupted. It needs the scope customer:write, and fails with
// [api.CodeInvalidParameters] or [api.CodeProductForbidden].
func (c *Client) RenameCustomer(ctx context.Context, p api.ChangeCustomerIDParams) (api.ChangedCustomerID, error) {
	return call[api.ChangedCustomerID](ctx, c, "POST /customer/{customerID}/rename", streamed, p)
}

// EraseCustomer erases a customer in several steps, which can take minutes. Repeat a call
// that was interrupted: the numbers are those of the last one. It needs the scope
// customer:write, and fails with [api.CodeProductForbidden].
func (c *Client) EraseCustomer(ctx context.Context, id string) (api.Erased, error) {
	return call[api.Erased](ctx, c, "DELETE /customer/{customerID}", streamed, customerID{id})
}

type customerID struct {
	ID string `json:"-" path:"customerID"`
}

// RevokeLicense makes a license invalid forever. Its errors are those of
// [Client.SuspendLicense].
func (c *Client) RevokeLicense(ctx context.Context, p api.ChangeStateParams) (api.License, error) {
	return call[api.License](ctx, c, "POST /license/{licenseID}/revoke", keyed, p)
}

// RenewLicense moves the end of a license to a later time. In addition to the
// errors of [Client.SuspendLicense], it fails with [api.CodeInvalidParameters] if the
// license has no end, or if the new one is not later.
func (c *Client) RenewLicense(ctx context.Context, p api.RenewLicenseParams) (api.License, error) {
	return call[api.License](ctx, c, "POST /license/{licenseID}/renew", keyed, p)
}

// TransferLicense gives a license to another customer: with a new key unless KeepKey
// is set, and without its activations and files.
func (c *Client) TransferLicense(ctx context.Context, p api.TransferLicenseParams) (api.License, error) {
	return call[api.License](ctx, c, "POST /license/{licenseID}/transfer", keyed, p)
}

// RekeyLicense replaces the key of a license. The old key is unknown from then
// on. In addition to the errors of [Client.SuspendLicense], it fails with
// [api.CodeKeyTaken].
func (c *Client) RekeyLicense(ctx context.Context, p api.RekeyLicenseParams) (api.License, error) {
	return call[api.License](ctx, c, "POST /license/{licenseID}/rekey", keyed, p)
}

// ExplainLicense returns the verdict on a license at any time. It changes
// nothing. It fails with [api.CodeNotFound].
func (c *Client) ExplainLicense(ctx context.Context, p api.ExplainLicenseParams) (api.Verdict, error) {
	return call[api.Verdict](ctx, c, "GET /license/{licenseID}/verdict", 0, p)
}
