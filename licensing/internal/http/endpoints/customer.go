package endpoints

import (
	"context"
	"io"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// exportCustomer writes what is stored about a customer as one JSON object. A failed
// export is aborted.
func exportCustomer(rules *license.Service, ctx context.Context, p byCustomer, _ []byte, w io.Writer) error {
	return rules.ExportCustomer(ctx, w, p.ID)
}

// renamed is the response to a change of a customer ID.
type renamed struct {
	Object string `json:"object"`
	api.ChangedCustomerID
}

func renameCustomer(rules *license.Service, ctx context.Context, p api.ChangeCustomerIDParams) (renamed, error) {
	changed, err := rules.ChangeCustomerID(ctx, p)
	return renamed{"customer_rename", changed}, err
}

// erased is the response to an erasure. It does not name the customer.
type erased struct {
	Object string `json:"object"`
	api.Erased
}

func eraseCustomer(rules *license.Service, ctx context.Context, p byCustomer) (erased, error) {
	gone, err := rules.EraseCustomer(ctx, p.ID)
	return erased{"customer_erasure", gone}, err
}
