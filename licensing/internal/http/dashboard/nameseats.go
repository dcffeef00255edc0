package dashboard

import (
	"fmt"
	"slices"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// The number of activations on the page of a customer, and how many
// are read to find the ones seen last.
const (
	seatsShown = 10
	seatsRead  = 200
)

// A licenseSeat is an activation and its license.
type licenseSeat struct {
	activationRow
	License api.License
}

// seatsOf returns the active activations of some licenses that were seen last. It
// reads at most seatsRead activations, of one license after the other. The note
// says what is left out; it is empty if nothing is. More says that there are other
// licenses.
func seatsOf(v *kit.Visit, licenses []api.License, more bool) (seats []licenseSeat, note string, err error) {
	of := ""
	if more {
		of = fmt.Sprintf(" of the %d newest licenses", len(licenses))
	}
	rest := false
	for i := 0; i < len(licenses) && !rest; i++ {
		l := licenses[i]
		page, err := v.Licenses.ListActivations(v.R.Context(), api.ListActivationsParams{LicenseID: l.ID, Limit: seatsRead - len(seats)})
		if err != nil {
			return nil, "", err
		}
		for _, a := range page.Data {
			seats = append(seats, licenseSeat{activationRow{Activation: a}, l})
		}
		rest = page.HasMore || len(seats) == seatsRead && i < len(licenses)-1
	}
	slices.SortStableFunc(seats, func(a, b licenseSeat) int { return b.LastSeenAt.Compare(a.LastSeenAt) })
	n := len(seats)
	switch {
	case rest:
		note = fmt.Sprintf("The %d seen last among %d of the active activations%s.", seatsShown, n, of)
	case n > seatsShown:
		note = fmt.Sprintf("The %d seen last of %d active activations%s.", seatsShown, n, of)
	case n == 0 && more:
		note = "None" + of + "."
	case more:
		note = "Only those" + of + "."
	}
	return seats[:min(n, seatsShown)], note, nil
}
