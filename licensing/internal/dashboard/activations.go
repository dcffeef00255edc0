package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// activationsShown is the number of activations on the page of a license;
// activationsPerPage is the number on a page of the list of activations.
const (
	activationsShown   = 10
	activationsPerPage = 50
)

// activationRow is an activation with its times formatted for a page.
type activationRow struct {
	license.Activation
	Since, LastSeen, LeaseEnds, Ended *moment
}

// Label returns the name of the activation, or its fingerprint if it has none.
func (r activationRow) Label() string {
	if r.Name != "" {
		return r.Name
	}
	return r.Fingerprint
}

// Words returns the status as the page shows it.
func (r activationRow) Words() string {
	if r.Status == license.ActivationLeaseEnded {
		return "lease ended"
	}
	if r.Status == license.ActivationLive {
		return "active"
	}
	return string(r.Status)
}

// activationTable is a table of activations.
type activationTable struct {
	Caption string
	Rows    []activationRow
	Path    string // the path of the activations, up to an id; empty: no release buttons
	Keep    string // the list state, as a query for the pages of an activation
}

func (v *visit) activationTable(caption, licenseID string, list []license.Activation) activationTable {
	t := activationTable{Caption: caption, Keep: v.keepList("")}
	if v.admin() {
		t.Path = v.root + activationsPath(licenseID) + "/"
	}
	for _, a := range list {
		t.Rows = append(t.Rows, activationRow{a, v.moment(a.CreatedAt), v.moment(a.LastSeenAt), v.momentOf(a.LeaseEndsAt), v.momentOf(a.EndedAt)})
	}
	return t
}

func activationsPath(licenseID string) string {
	return "licenses/" + url.PathEscape(licenseID) + "/activations"
}

// activationPanel is the section about activations on the page of a license.
type activationPanel struct {
	Summary       string
	Active, Ended activationTable
	All           string // the list of all activations, as a reference from dashboard/; empty if all are shown
}

// activationPanel reads the active activations of a license and some ended ones.
func (v *visit) activationPanel(l license.License) (activationPanel, error) {
	ctx := v.r.Context()
	active, err := v.licenses.ListActivations(ctx, license.ListActivationsParams{LicenseID: l.ID, Limit: 200})
	if err != nil {
		return activationPanel{}, err
	}
	both, err := v.licenses.ListActivations(ctx, license.ListActivationsParams{LicenseID: l.ID, Ended: true, Limit: activationsPerPage})
	if err != nil {
		return activationPanel{}, err
	}
	var ended []license.Activation
	for _, a := range both.Data {
		if a.Status != license.ActivationLive {
			ended = append(ended, a)
		}
	}
	n := strconv.Itoa(len(active.Data))
	if active.NextCursor != "" {
		n = "More than " + n
	}
	p := activationPanel{Summary: n + " active, no maximum."}
	if l.MaxActivations != nil {
		p.Summary = n + " of " + strconv.FormatInt(*l.MaxActivations, 10) + " seats used."
	}
	if len(active.Data) > activationsShown || len(ended) > activationsShown || both.NextCursor != "" {
		p.All = v.keepList(activationsPath(l.ID) + "?ended=1")
	}
	p.Active = v.activationTable("Active activations", l.ID, active.Data[:min(len(active.Data), activationsShown)])
	p.Ended = v.activationTable("Ended activations", l.ID, ended[:min(len(ended), activationsShown)])
	return p, nil
}

// activationList is the body of the page that lists the activations of a license.
type activationList struct {
	License license.License
	Table   activationTable
	Ended   bool   // the list includes ended activations
	Next    string // the query of the next page
	First   string // the query of the first page, if this is another page
	Other   string // the list with or without ended activations, as a reference from dashboard/
}

func showActivations(v *visit) error {
	ctx, q := v.r.Context(), v.r.URL.Query()
	l, err := v.licenses.Get(ctx, v.params["id"])
	if err != nil {
		return err
	}
	body := activationList{License: l, Ended: q.Get("ended") != ""}
	filter := url.Values{}
	body.Other = v.keepList(activationsPath(l.ID) + "?ended=1")
	if body.Ended {
		filter.Set("ended", "1")
		body.Other = v.keepList(activationsPath(l.ID))
	}
	result, err := v.licenses.ListActivations(ctx, license.ListActivationsParams{LicenseID: l.ID, Ended: body.Ended, Limit: activationsPerPage, Cursor: q.Get("cursor")})
	if errors.Is(err, license.ErrInvalid) {
		return &web.Problem{Status: http.StatusBadRequest, Code: "invalid_cursor", Detail: "This page of the list does not exist. Start again from the first page."}
	}
	if err != nil {
		return err
	}
	if state := v.listState(); state != "" {
		filter.Set("list", state)
	}
	if q.Get("cursor") != "" {
		body.First = "?" + filter.Encode()
	}
	if result.NextCursor != "" {
		filter.Set("cursor", result.NextCursor)
		body.Next = "?" + filter.Encode()
	}
	body.Table = v.activationTable("Activations, oldest first", l.ID, result.Data)
	return v.render(http.StatusOK, "activations", page{Title: "Activations of " + l.Name, Section: "licenses", Body: body})
}

func releaseForm() *form {
	return &form{Groups: []group{{Fields: []*field{
		{Name: "reason", Label: "Reason", Hint: "Optional. Recorded in the history.", Type: "text", MaxLength: 255},
	}}}}
}

func showRelease(v *visit) error {
	l, err := v.licenses.Get(v.r.Context(), v.params["id"])
	if err != nil {
		return err
	}
	return v.renderRelease(http.StatusOK, l, releaseForm())
}

// activation returns the activation that the path names, as it would be after
// its release. The release is rolled back.
func (v *visit) activation(licenseID string) (row activationRow, err error) {
	errPreview := errors.New("only a preview")
	err = v.licenses.Atomically(v.r.Context(), func(s *license.Service) (err error) {
		row.Activation, err = s.ReleaseActivation(v.r.Context(), license.ReleaseParams{LicenseID: licenseID, ActivationID: v.params["activation"]})
		if err != nil {
			return err
		}
		return errPreview
	})
	if !errors.Is(err, errPreview) {
		return activationRow{}, err
	}
	return row, nil
}

func (v *visit) renderRelease(status int, l license.License, f *form) error {
	a, err := v.activation(l.ID)
	if err != nil {
		return err
	}
	label := "Activation: " + a.Label()
	if a.Name != "" {
		label += " (" + a.Fingerprint + ")"
	}
	return v.render(status, "confirm", page{Title: "Release an activation of " + l.Name, Section: "licenses", Body: confirmation{
		Heading: "Release activation", Form: f, Action: "Release activation", Back: v.licenseRef(l.ID), Subject: l.Name,
		Text: []string{
			label,
			"Activation ID: " + a.ID,
			"The seat becomes available immediately. The program learns at its next validation that it is not activated. It can activate again while a seat is available.",
		},
	}})
}

func release(v *visit) error {
	ctx := v.r.Context()
	l, err := v.licenses.Get(ctx, v.params["id"])
	if err != nil {
		return err
	}
	f := releaseForm()
	f.fill(v)
	_, err = v.licenses.ReleaseActivation(ctx, license.ReleaseParams{LicenseID: l.ID, ActivationID: v.params["activation"], Reason: f.Field("reason").Value})
	if f.takeErrors(err) {
		return v.renderRelease(http.StatusUnprocessableEntity, l, f)
	}
	if err != nil {
		return err
	}
	v.redirectDone(v.licenseRef(l.ID), "released")
	return nil
}
