package dashboard

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
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
	return strings.Join(each(pairsOf(r.Metadata, same), pair.line), " · ")
}

// seatSummary returns the number of active activations of a license as a meter
// and in words. It is exact up to 200, and the number of lists beyond that.
func (v *visit) seatSummary(l api.License) (seatMeter, string, error) {
	const most = 200
	active, err := v.licenses.ListActivations(v.r.Context(), api.ListActivationsParams{LicenseID: l.ID, Limit: most})
	if err != nil {
		return seatMeter{}, "", err
	}
	m := usedOf(int64(len(active.Data)), l.MaxActivations)
	if active.HasMore {
		counts, err := inner.Of(v.licenses).Find().SeatCounts(v.r.Context(), []string{l.ID})
		if err != nil {
			return seatMeter{}, "", err
		}
		m = listedSeats(l, counts[l.ID].N, counts[l.ID].AtLeast)
	}
	text := m.N() + " active, no maximum."
	if l.MaxActivations != nil {
		text = m.N() + " of " + thousands(*l.MaxActivations) + " seats used."
	}
	return m, text, nil
}

// activationList is the body of the page that lists the activations of a license.
type activationList struct {
	licenseHead
	Rows     []activationRow
	Ended    bool   // the list includes ended activations
	Unseen   string // the day since which those of the list were not seen; empty: the list has all
	Metadata bool   // a program sent metadata
	Files    bool   // an activation may run from a license file
	pager
	Other string // the list with or without ended activations, as a reference from dashboard/
}

func showActivations(v *visit, head licenseHead) (err error) {
	ctx, q, l := v.r.Context(), v.r.URL.Query(), head.License
	body := activationList{licenseHead: head, Ended: q.Get("ended") != ""}
	filter := url.Values{}
	body.Other = activationsPath(l.ID) + "?ended=1"
	if body.Ended {
		filter.Set("ended", "1")
		body.Other = activationsPath(l.ID)
	}
	p := api.ListActivationsParams{LicenseID: l.ID, Ended: body.Ended, Limit: activationsPerPage, Cursor: q.Get("cursor")}
	var result api.Page[api.Activation]
	if body.Unseen = q.Get("unseen"); body.Unseen == "" {
		result, err = v.licenses.ListActivations(ctx, p)
	} else if since, wrong := time.Parse(time.DateOnly, body.Unseen); wrong != nil {
		err = api.Invalid("unseen", api.FieldInvalidFormat, "must be a day, such as 2027-01-31")
	} else {
		filter.Set("unseen", body.Unseen)
		result, err = v.unseenActivations(p, since)
	}
	if err != nil {
		return err
	}
	body.pager = newPager(filter, "cursor", q.Get("cursor"), result.NextCursor)
	for _, a := range result.Data {
		row := activationRow{Activation: a}
		if a.HeldUntil != nil && a.HeldUntil.After(v.h.opts.Now()) {
			row.Files, body.Files = a.HeldUntil, true
		}
		body.Rows = append(body.Rows, row)
		body.Metadata = body.Metadata || len(a.Metadata) > 0
	}
	return v.render(http.StatusOK, "activations", page{Title: "Activations of " + l.Name, Section: "licenses", Body: body})
}
