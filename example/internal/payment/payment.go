// Package payment has the code of the guide on selling.
package payment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/selling"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// ServeWebhook serves the webhook of a provider. verified returns the body of a
// request whose signature is right.
func ServeWebhook(verified func(*http.Request) ([]byte, error), fulfill func(ctx context.Context, body []byte) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := verified(r)
		if err != nil {
			slog.Error("webhook refused", "error", err)
			http.Error(w, err.Error(), http.StatusBadRequest) // the provider shows it
		} else if err := fulfill(r.Context(), body); err != nil {
			slog.Error("webhook failed", "error", err)
			http.Error(w, "try again", http.StatusInternalServerError)
		}
	}
}

// StateOf returns what a status of a provider means; "" in the map: nothing yet. A status that
// is not in the map is an error, so that the provider tries again and the log says so: it may
// be a newer one of the provider.
func StateOf[S ~string](states map[S]api.PurchaseState, status S) (api.PurchaseState, error) {
	state, ok := states[status]
	if !ok {
		return "", fmt.Errorf("unknown status %q; add it to the states", status)
	}
	return state, nil
}

// OfCustomer returns p with the name and the address of the customer. Without a name, the
// license has the address as its name.
func OfCustomer(p api.RecordPurchaseParams, name, email string) api.RecordPurchaseParams {
	p.Name = cmp.Or(strings.Join(strings.Fields(name), " "), email)
	if email != "" {
		p.Metadata = map[string]*string{"email": &email}
	}
	return p
}

// RecordItems records the items of an order or a subscription, and returns their
// licenses. An add-on gets the license of the first base of its product.
func RecordItems(ctx context.Context, sales *selling.Service, items ...api.RecordPurchaseParams) (all []*api.License, err error) {
	addOns := map[string][]api.RecordPurchaseParams{} // that wait for a license, by product
	for _, p := range items {
		if p.Quantity != nil && *p.Quantity == 0 {
			p.Quantity = nil // of a price that is billed by usage
		}
		f, err := sales.RecordPurchase(ctx, p)
		if err != nil {
			return nil, err
		}
		if f.Waiting == api.WaitingLicenseID {
			addOns[f.ProductID] = append(addOns[f.ProductID], p)
		} else if f.License != nil && !slices.ContainsFunc(all, func(l *api.License) bool { return l.ID == f.License.ID }) {
			all = append(all, f.License)
		}
	}
	for _, l := range all {
		for _, p := range addOns[l.ProductID] {
			p.LicenseID = l.ID
			if _, err := sales.RecordPurchase(ctx, p); err != nil {
				return nil, err
			}
		}
		delete(addOns, l.ProductID)
	}
	return all, nil
}

// RecordKeys gives each unit of a purchase a license of its own. The licenses of units
// that are not bought any more are suspended until they are bought again.
func RecordKeys(ctx context.Context, sales *selling.Service, p api.RecordPurchaseParams) error {
	reference, quantity := p.Reference, *p.Quantity
	p.Quantity = nil
	for n := int64(1); ; n++ {
		p.Reference = fmt.Sprintf("%s:%d", reference, n)
		if n > quantity {
			if _, err := sales.GetPurchase(ctx, p.Reference); errors.Is(err, api.ErrNotFound) {
				return nil
			} else if err != nil {
				return err
			}
			if p.State == api.PurchaseActive {
				p.State = api.PurchasePaused
			}
		}
		if _, err := sales.RecordPurchase(ctx, p); err != nil {
			return err
		}
	}
}
