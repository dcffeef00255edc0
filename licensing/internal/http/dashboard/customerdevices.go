package dashboard

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// deviceReads is how many licenses and pages of activations one page of the devices of a
// customer reads.
const deviceReads = 100

// devicePage is the body of the page of all devices of a customer.
type devicePage struct {
	ID     string
	Seats  []licenseSeat
	Unseen string // the day since which those of the list were not seen; empty: the list has all
	kit.Pager
}

func devicesPath(id string) string {
	return "customer/devices?" + url.Values{"id": {id}}.Encode()
}

// showDevices lists the active activations of all licenses of a customer, license by
// license. The cursor has that of the license and that of its activations.
func showDevices(v *kit.Visit, id string) error {
	ctx, q := v.R.Context(), v.R.URL.Query()
	body := devicePage{ID: id, Unseen: q.Get("unseen")}
	filter := kit.QueryOf(map[string]string{"id": body.ID, "unseen": body.Unseen})
	since, err := kit.DayOf("unseen", body.Unseen)
	if err != nil {
		return err
	}
	list := api.ListLicensesParams{CustomerID: body.ID, NewestFirst: true, Limit: 1}
	seats := api.ListActivationsParams{Limit: 2 * activationsPerPage}
	list.Cursor, seats.Cursor, _ = strings.Cut(q.Get("cursor"), " ")
	next := ""
	for range deviceReads {
		at, err := v.Licenses.List(ctx, list)
		if err != nil {
			return err
		}
		if next = ""; len(at.Data) == 0 {
			break
		}
		seats.LicenseID = at.Data[0].ID
		part, err := readUnseen(v, seats, since)
		if err != nil {
			return err
		}
		for _, a := range part.Data {
			body.Seats = append(body.Seats, licenseSeat{activationRow{Activation: a}, at.Data[0]})
		}
		if seats.Cursor = part.NextCursor; !part.HasMore {
			if list.Cursor = at.NextCursor; !at.HasMore {
				break
			}
		}
		next = list.Cursor + " " + seats.Cursor
		if len(body.Seats) >= activationsPerPage {
			break
		}
	}
	body.Pager = v.Pager(filter, "cursor", next)
	return v.Render(http.StatusOK, "devices", kit.Page{
		Title: "Devices of " + body.ID, Heading: "Devices", Up: kit.Place{Title: body.ID, Path: customers.namePath(body.ID)}, Section: "customers", Body: body,
	})
}

// releaseDevicesForm releases several activations of the licenses of a customer.
func releaseDevicesForm(v *kit.Visit) (*forms.FormPage, error) {
	id := v.R.URL.Query().Get("customer")
	if id == "" {
		return nil, kit.NotFound("This page does not exist.")
	}
	p := forms.NewFormPage("customers", kit.Place{Title: id, Path: devicesPath(id)}, "Remove devices")
	return p, releaseSelected(v, p, func(value string) (s seat) {
		s.license, s.activation, _ = strings.Cut(value, "/")
		return s
	})
}
