package endpoints

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/input"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

func createInParts(rules *license.Service, ctx context.Context, p api.CreateLicenseParams) (prepare func() error, change func(*license.Service) (api.License, error)) {
	return inner.Of(rules).CreateInParts(ctx, p)
}

func createBatchInParts(rules *license.Service, ctx context.Context, p api.CreateBatchParams) (prepare func() error, change func(*license.Service) (api.Batch, error)) {
	return inner.Of(rules).CreateBatchInParts(ctx, p)
}

func transferInParts(rules *license.Service, ctx context.Context, p api.TransferLicenseParams) (prepare func() error, change func(*license.Service) (api.License, error)) {
	return inner.Of(rules).TransferInParts(ctx, p)
}

func changeCustomerStateInParts(suspend bool) func(*license.Service, context.Context, api.ChangeCustomerStateParams) (func() error, func(*license.Service) (api.CustomerSuspension, error)) {
	return func(rules *license.Service, ctx context.Context, p api.ChangeCustomerStateParams) (func() error, func(*license.Service) (api.CustomerSuspension, error)) {
		return inner.Of(rules).ChangeCustomerStateInParts(ctx, p, suspend)
	}
}

func newLicense(result any) []string { return []string{"license", result.(*api.License).ID} }

func getLicense(rules *license.Service, ctx context.Context, p byLicense) (web.Encoded, error) {
	text, version, err := inner.Of(rules).Licenses().GetEncoded(ctx, p.ID)
	return web.Encoded{JSON: text, At: version}, err
}

func listLicenses(rules *license.Service, ctx context.Context, p api.ListLicensesParams) (api.Page[web.Appender], error) {
	return inner.Of(rules).Find().ListEncoded(ctx, p)
}

type customerParams struct {
	ID     string `path:"licenseID"` // customer ID
	Limit  int    `query:"limit" validate:"max=200"`
	Cursor string `query:"cursor"`
}

// listOfCustomer lists the licenses of a customer. A customer without licenses
// is a 404, because the path may be a mistyped license ID.
func listOfCustomer(rules *license.Service, ctx context.Context, p customerParams) (api.Page[web.Appender], error) {
	page, err := listLicenses(rules, ctx, api.ListLicensesParams{CustomerID: p.ID, Limit: p.Limit, Cursor: p.Cursor})
	if isAbout(err, "customer_id") || err == nil && len(page.Data) == 0 && p.Cursor == "" {
		err = api.ErrNotFound
	}
	return page, err
}

// isAbout reports whether err says that a field is invalid.
func isAbout(err error, field string) bool {
	invalid, ok := errors.AsType[*api.InvalidError](err)
	return ok && slices.ContainsFunc(invalid.Fields, func(f api.FieldError) bool { return f.Field == field })
}

// updateParams are the parameters of an update whose path identifies the
// license. The member id, if present, must be equal.
type updateParams struct {
	api.UpdateLicenseParams
	BodyID *string `json:"id"`
}

func updateLicense(rules *license.Service, ctx context.Context, p updateParams) (api.License, error) {
	if p.BodyID != nil && *p.BodyID != p.ID {
		return api.License{}, web.NewProblem(http.StatusBadRequest, api.CodeIDMismatch,
			"The path and the member id identify different licenses. Omit id, or use the same value.")
	}
	return rules.Update(ctx, p.UpdateLicenseParams)
}

// updateByQueryParams are the parameters of an update that identifies the
// license by its id in the query or body, or by its product and customer.
type updateByQueryParams struct {
	QueryID string `query:"id"`
	updateParams
}

// updateByQuery without an id is the update as the specification defines it: the
// product and the customer identify the license, and the name is set. All three are
// required.
func updateByQuery(rules *license.Service, ctx context.Context, p updateByQueryParams) (api.License, error) {
	switch {
	case p.QueryID != "":
		p.ID = p.QueryID
	case p.BodyID != nil:
		p.ID = *p.BodyID
	default:
		if missing := missingForMatch(p.UpdateLicenseParams); len(missing) > 0 {
			return api.License{}, &api.InvalidError{Fields: missing}
		}
		p.Match = &api.Match{ProductID: *p.ProductID, CustomerID: *p.CustomerID}
	}
	return updateLicense(rules, ctx, p.updateParams)
}

func missingForMatch(p api.UpdateLicenseParams) (missing []api.FieldError) {
	for i, value := range []*string{p.Name, p.ProductID, p.CustomerID} {
		if value == nil {
			name := []string{"name", "product_id", "customer_id"}[i]
			missing = append(missing, api.FieldError{Field: name, Code: api.FieldRequired, Detail: "is required"})
		}
	}
	return missing
}

func checkUpdate(rules *license.Service, p *updateParams) []api.FieldError {
	return inner.Of(rules).Faults(&p.UpdateLicenseParams)
}

func checkUpdateByQuery(rules *license.Service, p *updateByQueryParams) []api.FieldError {
	errs := checkUpdate(rules, &p.updateParams)
	if p.QueryID == "" && p.BodyID == nil {
		errs = input.Merge(missingForMatch(p.UpdateLicenseParams), errs)
	}
	return errs
}

func deleteLicense(rules *license.Service, ctx context.Context, p api.DeleteLicenseParams) (deleted, error) {
	err := rules.Delete(ctx, p)
	return deleted{"license", p.ID, true}, err
}
