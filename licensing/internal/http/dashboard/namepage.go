package dashboard

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// The numbers of what the page of a customer reads and shows.
const (
	licensesRead   = 200 // for who the customer is, and until when there is a license
	licensesShown  = 10
	purchasesShown = 10
	eventsShown    = 10
)

// namePage is the body of the page of a customer.
type namePage struct {
	ID        string
	Person    person
	Until     string     // what the time in End is; empty: there is no license
	End       *time.Time // nil: never
	Held      string     // why the customer is suspended; empty: the customer is not
	LastSeen  *time.Time // of the activations in Seats; nil: none
	Total     string
	Rows      []licenseRow
	Purchases []purchaseRow
	Bought    bool // there are more purchases
	Seats     []licenseSeat
	SeatNote  string // which activations Seats has; empty: all that are active
	Events    []auditRow
}

// namePath returns the page of a customer or the licenses of a product, as a reference
// from dashboard/. The ID can contain any character, so it is in the query.
func (d directory) namePath(id string) string { return d.page + url.QueryEscape(id) }

func showCustomer(v *visit, id string) error {
	ctx := v.r.Context()
	p := api.ListLicensesParams{CustomerID: id, NewestFirst: true, Limit: licensesRead}
	licenses, err := v.licenses.List(ctx, p)
	if errors.Is(err, api.ErrInvalid) {
		return notFound("This is not the ID of a customer.")
	}
	if err != nil {
		return err
	}
	shown := licenses.Data[:min(licensesShown, len(licenses.Data))]
	rows, err1 := v.licenseRows(shown)
	seats, note, err2 := v.seatsOf(shown, len(licenses.Data) > len(shown))
	bought, more, err3 := inner.Of(v.licenses).Purchases().OfCustomer(ctx, id, purchasesShown)
	held, reason, err4 := inner.Of(v.licenses).Holds().IsSuspended(ctx, id)
	found, err5 := v.licenses.Events(ctx, api.ListEventsParams{NewestFirst: true, Limit: eventsShown, CustomerID: id})
	if err := cmp.Or(err1, err2, err3, err4, err5); err != nil {
		return err
	}
	names := actorNames{v: v}
	if err := names.nameLicenses(found.Data); err != nil {
		return err
	}
	body := namePage{
		ID: id, Person: v.person(licenses.Data), Total: thousands(int64(len(licenses.Data))), Rows: rows, Seats: seats, SeatNote: note,
		Purchases: each(bought, v.purchaseRow), Bought: more,
		Events: each(found.Data, func(e api.Event) auditRow { return names.auditRow(e, 1) }),
	}
	if licenses.HasMore {
		counts, err := v.licenses.Count(ctx, p)
		if err != nil {
			return err
		}
		body.Total = thousands(counts.Total)
	}
	if len(seats) > 0 {
		body.LastSeen = &seats[0].LastSeenAt
	}
	if err := v.namePlans(body.Purchases); err != nil {
		return err
	}
	if held {
		body.Held = cmp.Or(reason, "No reason was given.")
	}
	body.Until, body.End = lastEnd(licenses.Data, slices.ContainsFunc(body.Purchases, v.isBought))
	if len(licenses.Data)+len(found.Data)+len(bought) == 0 {
		return notFound("There is no customer with this ID: no license, purchase or recorded event has it. Check the address.")
	}
	return v.render(http.StatusOK, "name", page{Title: id, Section: "customers", Body: body})
}

// lastEnd returns until when a customer has a license: the last end of those that are
// active or, if none is, of those that have expired.
func lastEnd(list []api.License, bought bool) (label string, end *time.Time) {
	labels := map[api.LicenseStatus]string{api.LicenseActive: "Valid until", api.LicenseExpired: "Ended"}
	if bought {
		labels[api.LicenseActive] = "Paid until"
	}
	for _, status := range []api.LicenseStatus{api.LicenseActive, api.LicenseExpired} {
		for _, l := range list {
			switch {
			case l.Status != status:
				continue
			case l.ExpiresAt == nil: // nothing is paid forever
				return "Valid until", nil
			case end == nil || l.ExpiresAt.After(*end):
				label, end = labels[status], l.ExpiresAt
			}
		}
		if label != "" {
			return label, end
		}
	}
	return "", nil
}

func eraseForm(_ *visit, id string) (*formPage, error) {
	p := customerFormPage(id, "Erase customer data",
		"This permanently deletes the licenses of this customer with their keys and activations, and removes personal data from the events about them. Validation fails because the keys are unknown.",
		"If the erasure is interrupted, repeat it. This cannot be undone.")
	confirm := typedField("customer", "Customer ID", id, "The customer ID does not match.")
	confirm.Hint, confirm.Mono = "Type “"+id+"” to confirm.", false
	p.Form, p.Danger, p.done = newForm(confirm), true, "The customer's data has been erased."
	p.do = func(tx *visit) (string, error) {
		_, err := tx.licenses.EraseCustomer(tx.r.Context(), id)
		return "customers", err
	}
	return p, nil
}
