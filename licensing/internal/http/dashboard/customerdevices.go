package dashboard

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// deviceReads is how many licenses and pages of activations one page of the devices of a
// customer reads.
const deviceReads = 100

// devicePage is the body of the page of all devices of a customer.
type devicePage struct {
	ID     string
	Seats  []licenseSeat
	Unseen string // the day since which those of the list were not seen; empty: the list has all
	pager
}

func devicesPath(id string) string {
	return "customer/devices?" + url.Values{"id": {id}}.Encode()
}

// showDevices lists the active activations of all licenses of a customer, license by
// license. The cursor has that of the license and that of its activations.
func showDevices(v *visit, id string) error {
	ctx, q := v.r.Context(), v.r.URL.Query()
	body := devicePage{ID: id, Unseen: q.Get("unseen")}
	filter := queryOf(map[string]string{"id": body.ID, "unseen": body.Unseen})
	since, err := dayOf("unseen", body.Unseen)
	if err != nil {
		return err
	}
	list := api.ListLicensesParams{CustomerID: body.ID, NewestFirst: true, Limit: 1}
	seats := api.ListActivationsParams{Limit: 2 * activationsPerPage}
	list.Cursor, seats.Cursor, _ = strings.Cut(q.Get("cursor"), " ")
	next := ""
	for range deviceReads {
		at, err := v.licenses.List(ctx, list)
		if err != nil {
			return err
		}
		if next = ""; len(at.Data) == 0 {
			break
		}
		seats.LicenseID = at.Data[0].ID
		part, err := v.readUnseen(seats, since)
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
	body.pager = v.pager(filter, "cursor", next)
	return v.render(http.StatusOK, "devices", page{
		Title: "Devices of " + body.ID, Heading: "Devices", Up: place{body.ID, customers.namePath(body.ID)}, Section: "customers", Body: body,
	})
}

// releaseDevicesForm releases several activations of the licenses of a customer.
func releaseDevicesForm(v *visit) (*formPage, error) {
	id := v.r.URL.Query().Get("customer")
	if id == "" {
		return nil, notFound("This page does not exist.")
	}
	p := newFormPage("customers", place{id, devicesPath(id)}, "Release activations")
	return p, v.releaseSelected(p, func(value string) (s seat) {
		s.license, s.activation, _ = strings.Cut(value, "/")
		return s
	})
}
