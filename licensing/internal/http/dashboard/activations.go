package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// activationsPerPage is the number on a page of the list of activations.
const activationsPerPage = 50

// activationRow is an activation as pages show it.
type activationRow struct {
	api.Activation
	Files *time.Time // until when it may run from a license file; nil: it may not
}

// Label returns the name of the activation, or its fingerprint if it has none.
func (r activationRow) Label() string { return cmp.Or(r.Name, r.Fingerprint) }

// Words returns the status as the page shows it.
func (r activationRow) Words() string {
	if r.Status == api.ActivationLive {
		return "active"
	}
	return strings.ReplaceAll(string(r.Status), "_", " ")
}

func activationsPath(licenseID string) string {
	return "licenses/" + url.PathEscape(licenseID) + "/activations"
}

// Details returns the metadata that the program sent, such as its version.
func (r activationRow) Details() string {
	return strings.Join(kit.Each(kit.PairsOf(r.Metadata, kit.Same), kit.Pair.Line), " · ")
}

// seatSummary returns the number of active activations of a license as a meter
// and in words. It is exact up to 200, and the number of lists beyond that.
// It returns the activations that it read, too.
func seatSummary(v *kit.Visit, l api.License) (seatMeter, string, []api.Activation, error) {
	const most = 200
	active, err := v.Licenses.ListActivations(v.R.Context(), api.ListActivationsParams{LicenseID: l.ID, Limit: most})
	if err != nil {
		return seatMeter{}, "", nil, err
	}
	m := usedOf(int64(len(active.Data)), l.MaxActivations)
	if active.HasMore {
		counts, err := inner.Of(v.Licenses).Find().SeatCounts(v.R.Context(), []string{l.ID})
		if err != nil {
			return seatMeter{}, "", nil, err
		}
		m = listedSeats(l, counts[l.ID].N, counts[l.ID].AtLeast)
	}
	text := m.N + " active, no maximum."
	if l.MaxActivations != nil {
		text = m.N + " of " + kit.Count(int(*l.MaxActivations), "seat") + " used."
	}
	return m, text, active.Data, nil
}

// devicesShown is how many activations the first page of a license shows.
const devicesShown = 5

// newestSeen returns the activations that were seen last.
func newestSeen(list []api.Activation) (rows []activationRow) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b api.Activation) int { return b.LastSeenAt.Compare(a.LastSeenAt) })
	return kit.Each(list[:min(len(list), devicesShown)], func(a api.Activation) activationRow { return activationRow{Activation: a} })
}

// unseenReads is how many times one page of the activations not seen since a day reads some.
const unseenReads = 200

// readUnseen reads some activations of a license and returns those not seen since a time; zero: all.
func readUnseen(v *kit.Visit, p api.ListActivationsParams, since time.Time) (api.Page[api.Activation], error) {
	page, err := v.Licenses.ListActivations(v.R.Context(), p)
	page.Data = slices.DeleteFunc(page.Data, func(a api.Activation) bool { return !since.IsZero() && !a.LastSeenAt.Before(since) })
	return page, err
}

// unseenActivations returns a page of the activations of a license that were not seen since a
// time; zero: of all. It can be short although HasMore is true.
func unseenActivations(v *kit.Visit, p api.ListActivationsParams, since time.Time) (page api.Page[api.Activation], err error) {
	if since.IsZero() {
		return readUnseen(v, p, since)
	}
	p.Limit = 2 * activationsPerPage
	for range unseenReads {
		part, err := readUnseen(v, p, since)
		if err != nil {
			return page, err
		}
		part.Data = append(page.Data, part.Data...)
		if page, p.Cursor = part, part.NextCursor; !page.HasMore || len(page.Data) >= activationsPerPage {
			break
		}
	}
	return page, nil
}

// activationList is the body of the page that lists the activations of a license.
type activationList struct {
	licenseHead
	Rows     []activationRow
	Ended    bool   // the list includes ended activations
	Unseen   string // the day since which those of the list were not seen; empty: the list has all
	Metadata bool   // a program sent metadata
	Files    bool   // an activation may run from a license file
	kit.Pager
	Other string // the list with or without ended activations, as a reference from dashboard/
}

func showActivations(v *kit.Visit, head licenseHead) error {
	q, l := v.R.URL.Query(), head.License
	body := activationList{licenseHead: head, Ended: q.Get("ended") != "", Unseen: q.Get("unseen"), Other: activationsPath(l.ID)}
	if !body.Ended {
		body.Other += "?ended=1"
	}
	since, err := kit.DayOf("unseen", body.Unseen)
	if err != nil {
		return err
	}
	p := api.ListActivationsParams{LicenseID: l.ID, Ended: body.Ended, Limit: activationsPerPage, Cursor: q.Get("cursor")}
	result, err := unseenActivations(v, p, since)
	if err != nil {
		return err
	}
	filter := kit.QueryOf(map[string]string{"ended": q.Get("ended"), "unseen": body.Unseen})
	body.Pager = v.Pager(filter, "cursor", result.NextCursor)
	for _, a := range result.Data {
		row := activationRow{Activation: a}
		if a.HeldUntil != nil && a.HeldUntil.After(v.Opts.Now()) {
			row.Files, body.Files = a.HeldUntil, true
		}
		body.Rows = append(body.Rows, row)
		body.Metadata = body.Metadata || len(a.Metadata) > 0
	}
	return v.Render(http.StatusOK, "activations", kit.Page{Title: "Activations of " + l.Name, Section: "licenses", Body: body})
}
