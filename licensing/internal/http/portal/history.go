package portal

import (
	"cmp"
	"html/template"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// How many events of a license are read, and shown at most. Some types are not shown.
const (
	eventsRead  = 50
	eventsShown = 5
)

// eventTexts are the names of the texts for events that customers see.
var eventTexts = map[string]string{
	api.EventLicenseCreated: "Created", api.EventLicenseRenewed: "Renewed", api.EventLicenseRekeyed: "Rekeyed", api.EventLicenseTransferred: "Transferred", api.EventLicenseClaimed: "Transferred",
	api.EventLicenseSuspended: "PausedThen", api.EventLicenseReinstated: "Reinstated", api.EventLicenseRevoked: "RevokedThen", api.EventLicenseExpired: "ExpiredThen",
	api.EventActivationCreated: "DeviceAdded", api.EventActivationReleased: "DeviceRemoved", api.EventActivationEvicted: "DeviceRemoved",
	api.EventFileIssued: "FileIssued",
}

// A change is an event of a license as its page shows it.
type change struct {
	Text      template.HTML
	Date, ISO string
}

// history returns the latest events of a license since it is the customer's, without who
// caused them and why.
func (v *visit) history(l api.License) (list []change, err error) {
	page, err := v.licenses.Events(v.r.Context(), api.ListEventsParams{Subject: l.ID, CustomerID: l.CustomerID, NewestFirst: true, Limit: eventsRead})
	if err != nil {
		return nil, err
	}
	for _, e := range page.Data {
		name, shown := eventTexts[e.Type]
		if !shown || len(list) == eventsShown {
			continue
		}
		data, err := e.Decode()
		if err != nil {
			return nil, err
		}
		device := ""
		if a := data.Activation; a != nil {
			device = cmp.Or(a.Name, a.Fingerprint)
		}
		if device != "" && e.Type == api.EventFileIssued {
			name = "FileIssuedFor"
		}
		list = append(list, change{v.about(name, device), v.date(&e.Timestamp), e.Timestamp.UTC().Format("2006-01-02T15:04:05Z07:00")})
	}
	return list, nil
}
