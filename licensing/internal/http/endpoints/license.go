package endpoints

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/core/input"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

func createInParts(rules *license.Service, ctx context.Context, p license.CreateParams) (prepare func() error, change func(*license.Service) (license.License, error)) {
	return inner.Of(rules).CreateInParts(ctx, p)
}

func transferInParts(rules *license.Service, ctx context.Context, p license.TransferParams) (prepare func() error, change func(*license.Service) (license.License, error)) {
	return inner.Of(rules).TransferInParts(ctx, p)
}

func newLicense(result any) []string { return []string{"license", result.(*license.License).ID} }

func listLicenses(rules *license.Service, ctx context.Context, p license.ListParams) (license.Page[license.License], error) {
	page, err := rules.List(ctx, p)
	return page.Page, err
}

type customerParams struct {
	ID     string `path:"licenseID"` // customer ID
	Limit  int    `query:"limit" validate:"max=200"`
	Cursor string `query:"cursor"`
}

// listOfCustomer lists the licenses of a customer. A customer without licenses
// is a 404, because the path may be a mistyped license ID.
func listOfCustomer(rules *license.Service, ctx context.Context, p customerParams) (license.Page[license.License], error) {
	page, err := rules.List(ctx, license.ListParams{CustomerID: p.ID, Limit: p.Limit, Cursor: p.Cursor})
	if isAbout(err, "customer_id") || err == nil && len(page.Data) == 0 && p.Cursor == "" {
		err = license.ErrNotFound
	}
	return page.Page, err
}

// isAbout reports whether err says that a field is invalid.
func isAbout(err error, field string) bool {
	invalid, ok := errors.AsType[*license.InvalidError](err)
	return ok && slices.ContainsFunc(invalid.Fields, func(f license.FieldError) bool { return f.Field == field })
}

// updateParams are the parameters of an update whose path identifies the
// license. The member id, if present, must be equal.
type updateParams struct {
	license.UpdateParams
	BodyID *string `json:"id"`
}

func updateLicense(rules *license.Service, ctx context.Context, p updateParams) (license.License, error) {
	if p.BodyID != nil && *p.BodyID != p.ID {
		return license.License{}, web.NewProblem(http.StatusBadRequest, "id_mismatch",
			"The path and the member id identify different licenses. Omit id, or use the same value.")
	}
	return rules.Update(ctx, p.UpdateParams)
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
func updateByQuery(rules *license.Service, ctx context.Context, p updateByQueryParams) (license.License, error) {
	switch {
	case p.QueryID != "":
		p.ID = p.QueryID
	case p.BodyID != nil:
		p.ID = *p.BodyID
	default:
		if missing := missingForMatch(p.UpdateParams); len(missing) > 0 {
			return license.License{}, &license.InvalidError{Fields: missing}
		}
		p.Match = &license.Match{ProductID: *p.ProductID, CustomerID: *p.CustomerID}
	}
	return updateLicense(rules, ctx, p.updateParams)
}

func missingForMatch(p license.UpdateParams) (missing []license.FieldError) {
	for i, value := range []*string{p.Name, p.ProductID, p.CustomerID} {
		if value == nil {
			name := []string{"name", "product_id", "customer_id"}[i]
			missing = append(missing, license.FieldError{Field: name, Code: license.CodeRequired, Detail: "is required"})
		}
	}
	return missing
}

func checkUpdate(rules *license.Service, p *updateParams) []license.FieldError {
	return inner.Of(rules).Faults(&p.UpdateParams)
}

func checkUpdateByQuery(rules *license.Service, p *updateByQueryParams) []license.FieldError {
	errs := checkUpdate(rules, &p.updateParams)
	if p.QueryID == "" && p.BodyID == nil {
		errs = input.Merge(missingForMatch(p.UpdateParams), errs)
	}
	return errs
}

func deleteLicense(rules *license.Service, ctx context.Context, p license.DeleteParams) (deleted, error) {
	err := rules.Delete(ctx, p)
	return deleted{"license", p.ID, true}, err
}
