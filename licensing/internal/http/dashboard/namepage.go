package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/audit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
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
	Events    []audit.AuditRow
}

// namePath returns the page of a customer or the licenses of a product, as a reference
// from dashboard/. The ID can contain any character, so it is in the query.
func (d directory) namePath(id string) string { return d.page + url.QueryEscape(id) }

func showCustomer(v *kit.Visit, id string) error {
	ctx := v.R.Context()
	p := api.ListLicensesParams{CustomerID: id, NewestFirst: true, Limit: licensesRead}
	licenses, err := v.Licenses.List(ctx, p)
	if errors.Is(err, api.ErrInvalid) {
		return kit.NotFound("This is not the ID of a customer.")
	}
	if err != nil {
		return err
	}
	shown := licenses.Data[:min(licensesShown, len(licenses.Data))]
	rows, err1 := licenseRows(v, shown)
	seats, note, err2 := seatsOf(v, shown, len(licenses.Data) > len(shown))
	bought, more, err3 := inner.Of(v.Licenses).Purchases().OfCustomer(ctx, id, purchasesShown)
	held, reason, err4 := inner.Of(v.Licenses).Holds().IsSuspended(ctx, id)
	found, err5 := v.Licenses.Events(ctx, api.ListEventsParams{NewestFirst: true, Limit: eventsShown, CustomerID: id})
	if err := cmp.Or(err1, err2, err3, err4, err5); err != nil {
		return err
	}
	names := kit.ActorNames{V: v}
	if err := names.NameLicenses(found.Data); err != nil {
		return err
	}
	body := namePage{
		ID: id, Person: personOf(v, licenses.Data), Total: kit.Thousands(int64(len(licenses.Data))), Rows: rows, Seats: seats, SeatNote: note,
		Purchases: kit.Each(bought, func(f api.Purchase) purchaseRow { return purchaseRowOf(v, f) }), Bought: more,
		Events: kit.Each(found.Data, func(e api.Event) audit.AuditRow { return audit.AuditRowOf(&names, e, 1) }),
	}
	if licenses.HasMore {
		counts, err := v.Licenses.Count(ctx, p)
		if err != nil {
			return err
		}
		body.Total = kit.Thousands(counts.Total)
	}
	if len(seats) > 0 {
		body.LastSeen = &seats[0].LastSeenAt
	}
	if err := namePlans(v, body.Purchases); err != nil {
		return err
	}
	if held {
		body.Held = cmp.Or(reason, "No reason was given.")
	}
	body.Until, body.End = lastEnd(licenses.Data, slices.ContainsFunc(body.Purchases, func(r purchaseRow) bool { return isBought(v, r) }))
	if len(licenses.Data)+len(found.Data)+len(bought) == 0 {
		return kit.NotFound("There is no customer with this ID: no license, purchase or recorded event has it. Check the address.")
	}
	return v.Render(http.StatusOK, "name", kit.Page{Title: id, Section: "customers", Body: body})
}

// lastEnd returns until when a customer has a license: the last end of the ones that are
// active or, if none is, of the expired ones. If only some of them end, it is the first end,
// and the label says how many do.
func lastEnd(list []api.License, bought bool) (label string, end *time.Time) {
	labels := map[api.LicenseStatus]string{api.LicenseActive: "Valid until", api.LicenseExpired: "Ended"}
	if bought {
		labels[api.LicenseActive] = "Paid until"
	}
	for _, status := range []api.LicenseStatus{api.LicenseActive, api.LicenseExpired} {
		of, ends := 0, []*time.Time{}
		for _, l := range list {
			if l.Status != status {
				continue
			}
			if of++; l.ExpiresAt != nil {
				ends = append(ends, l.ExpiresAt)
			}
		}
		slices.SortFunc(ends, func(a, b *time.Time) int { return a.Compare(*b) })
		switch n := len(ends); {
		case of > 0 && n == 0: // nothing is paid forever
			return "Valid until", nil
		case n < of:
			return fmt.Sprintf("%d of %d valid licenses %s, the first on", n, of, kit.Verb(n, "ends", "end")), ends[0]
		case n > 0:
			return labels[status], ends[n-1]
		}
	}
	return "", nil
}

func eraseForm(_ *kit.Visit, id string) (*forms.FormPage, error) {
	p := customerFormPage(id, "Erase customer data",
		"This permanently deletes the licenses of this customer with their keys and activations, and removes personal data from the events about them. Validation fails because the keys are unknown.",
		"If the erasure is interrupted, repeat it. This cannot be undone.")
	confirm := forms.TypedField("customer", "Customer ID", id, "The customer ID does not match.")
	confirm.Hint, confirm.Mono = "Type “"+id+"” to confirm.", false
	p.Form, p.Danger, p.Done = forms.NewForm(confirm), true, "The customer's data has been erased."
	p.Do = func(tx *kit.Visit) (string, error) {
		_, err := tx.Licenses.EraseCustomer(tx.R.Context(), id)
		return "customers", err
	}
	return p, nil
}
