package dashboard

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

const (
	maxReleased   = 200 // activations that one form releases
	releasesNamed = 10  // activations that the form names
)

// A seat names an activation.
type seat struct{ license, activation string }

// releaseForm releases one or several activations of a license.
func releaseForm(v *kit.Visit, l api.License) (*forms.FormPage, error) {
	p := forms.NewFormPage("licenses", kit.Place{Title: l.Name, Path: activationsPath(l.ID)}, "Remove devices")
	return p, releaseSelected(v, p, func(id string) seat { return seat{l.ID, id} })
}

// releaseSelected fills the form that releases the activation of the path or the selected
// ones, each of which seat reads. They end in several Updates; if it is interrupted, the
// same form releases the others.
func releaseSelected(v *kit.Visit, p *forms.FormPage, read func(value string) seat) error {
	ids := distinct(v.R.URL.Query()["id"])
	if id := v.R.PathValue("activation"); id != "" {
		ids = []string{id}
	} else if !v.IsRead() {
		ids = strings.Fields(v.Sent("ids"))
	}
	if err := checkSelected(len(ids), maxReleased, "activation"); err != nil {
		return err
	}
	var seats []seat
	var names []string
	var offline time.Time
	for _, id := range ids {
		seat := read(id)
		seats = append(seats, seat)
		a, err := inner.Of(v.Licenses).Seats().PreviewRelease(v.R.Context(), seat.license, seat.activation)
		if errors.Is(err, api.ErrNotFound) && len(ids) > 1 {
			continue
		} else if err != nil {
			return err
		}
		name := a.Fingerprint
		if a.Name != "" {
			name = a.Name + " (" + a.Fingerprint + ")"
		}
		names = append(names, name)
		if a.OfflineUntil != nil && a.OfflineUntil.After(offline) {
			offline = *a.OfflineUntil
		}
	}
	what := kit.Verb(len(names), "device", kit.Count(len(names), "device"))
	list := strings.Join(names[:min(len(names), releasesNamed)], ", ")
	if more := len(names) - releasesNamed; more > 0 {
		list += " and " + strconv.Itoa(more) + " more"
	}
	effect := kit.Verb(len(names),
		"The seat becomes available immediately. The program learns at its next validation that it is not activated. It can activate again while a seat is available.",
		"The seats become available immediately. The programs learn at their next validation that they are not activated. They can activate again while a seat is available.")
	if !offline.IsZero() {
		effect += kit.Verb(len(names), " It", " Some") + " may run offline from a license file until " + v.Moment(offline).Full + "."
	}
	p.Heading, p.Text = "Remove "+what, []string{list, effect}
	p.Form, p.Action, p.Done = forms.NewForm(forms.ReasonField("Optional. Recorded in the history.")), "Remove "+what, kit.Verb(len(names), "The device has been removed.", "The devices have been removed.")
	p.Form.Hidden["ids"] = strings.Join(ids, " ")
	p.Do = func(v *kit.Visit) (string, error) {
		for part := range slices.Chunk(seats, changedTogether) {
			if err := v.CheckAccess(); err != nil {
				return "", err
			}
			if err := releaseTogether(v, part, p.Form.Field("reason").Value); err != nil {
				return "", err
			}
		}
		return "", nil
	}
	return nil
}

// releaseTogether releases the activations that exist, in one Update.
func releaseTogether(v *kit.Visit, seats []seat, reason string) error {
	return v.Licenses.Atomically(v.R.Context(), func(s *license.Service) error {
		for _, seat := range seats {
			_, err := s.ReleaseActivation(v.R.Context(), api.ReleaseActivationParams{LicenseID: seat.license, ActivationID: seat.activation, Reason: reason, Force: true})
			if err != nil && !errors.Is(err, api.ErrNotFound) {
				return err
			}
		}
		return nil
	})
}
