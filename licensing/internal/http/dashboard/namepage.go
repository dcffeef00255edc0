package dashboard

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// The numbers of licenses and events on the page of a customer.
const (
	licensesShown = 10
	eventsShown   = 10
)

// namePage is the body of the page of a customer.
type namePage struct {
	ID       string
	Person   person
	Held     string     // why the customer is suspended; empty: the customer is not
	LastSeen *time.Time // of the activations in Seats; nil: none
	Total    string
	Statuses []statusCount
	Rows     []licenseRow
	Seats    []licenseSeat
	SeatNote string // which activations Seats has; empty: all that are active
	Events   []auditRow
}

// namePath returns the page of a customer or the licenses of a product, as a reference
// from dashboard/. The ID can contain any character, so it is in the query.
func (d directory) namePath(id string) string {
	if d.one == "customer" {
		return "customer?" + url.Values{"id": {id}}.Encode()
	}
	return "licenses?" + url.Values{"product": {id}}.Encode()
}

// params returns the parameters of the list of licenses of a customer or product.
func (d directory) params(id string) api.ListLicensesParams {
	if d.one == "customer" {
		return api.ListLicensesParams{CustomerID: id, NewestFirst: true, Limit: licensesShown}
	}
	return api.ListLicensesParams{ProductID: id, NewestFirst: true, Limit: licensesShown}
}

func showCustomer(v *visit) error {
	ctx, id := v.r.Context(), v.r.URL.Query().Get("id")
	if id == "" {
		return notFound("This page does not exist.")
	}
	p := customers.params(id)
	counts, err := v.licenses.Count(ctx, p)
	var licenses api.ListPage
	if err == nil {
		licenses, err = v.licenses.List(ctx, p)
	}
	if errors.Is(err, api.ErrInvalid) {
		return notFound("This is not the ID of a customer.")
	}
	if err != nil {
		return err
	}
	body := namePage{ID: id, Total: thousands(counts.Total)}
	for _, s := range statusOrder {
		body.Statuses = append(body.Statuses, statusCount{s, thousands(counts.ByStatus[s]), counts.ByStatus[s]})
	}
	if body.Rows, err = v.licenseRows(licenses.Data); err != nil {
		return err
	}
	if body.Seats, body.SeatNote, err = v.seatsOf(licenses.Data, licenses.HasMore); err != nil {
		return err
	}
	if len(body.Seats) > 0 {
		body.LastSeen = &body.Seats[0].LastSeenAt
	}
	body.Person = v.person(licenses.Data)
	held, reason, err := inner.Of(v.licenses).Licenses().CustomerSuspended(ctx, id)
	if err != nil {
		return err
	}
	if held {
		body.Held = cmp.Or(reason, "No reason was given.")
	}
	found, err := v.licenses.Events(ctx, api.ListEventsParams{NewestFirst: true, Limit: eventsShown, CustomerID: id})
	if err != nil {
		return err
	}
	names := actorNames{v: v}
	for _, e := range found.Data {
		body.Events = append(body.Events, names.auditRow(e))
	}
	if counts.Total == 0 && len(found.Data) == 0 {
		if known, err := inner.Of(v.licenses).Purchases().HasPurchases(ctx, id); err != nil || !known {
			return cmp.Or(err, notFound("There is no customer with this ID: no license, purchase or recorded event has it. Check the address."))
		}
	}
	return v.render(http.StatusOK, "name", page{Title: id, Section: "customers", Body: body})
}

func eraseForm(v *visit) (*formPage, error) {
	id := v.r.URL.Query().Get("id")
	if id == "" {
		return nil, notFound("This page does not exist.")
	}
	confirm := typedField("customer", "Customer ID", id, "The customer ID does not match.")
	confirm.Hint, confirm.Mono = "Type “"+id+"” to confirm.", false
	return &formPage{
		Title: "Erase the data of " + id, Section: "customers", Heading: "Erase customer data", Back: customers.namePath(id), Subject: id,
		Text: []string{
			"This permanently deletes the licenses of this customer with their keys and activations, and removes personal data from the events about them. Validation fails because the keys are unknown.",
			"If the erasure is interrupted, repeat it. This cannot be undone.",
		},
		Form: newForm(confirm), Action: "Erase customer data", Danger: true, done: "The customer's data has been erased.",
		do: func(tx *visit) (string, error) {
			_, err := tx.licenses.EraseCustomer(tx.r.Context(), id)
			return "customers", err
		},
	}, nil
}
