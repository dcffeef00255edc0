package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// How many activations a license's own page shows, and how many a page of
// their list.
const (
	seatsShown = 10
	seatsPage  = 50
)

// seatRow is an activation as pages show it.
type seatRow struct {
	license.Activation
	Since, LastSeen, LeaseEnds, Ended *moment
}

// Label is what a seat's holder is called: its name, or else its fingerprint.
func (r seatRow) Label() string {
	if r.Name != "" {
		return r.Name
	}
	return r.Fingerprint
}

// Words is the status in words.
func (r seatRow) Words() string {
	if r.Status == license.ActivationLeaseEnded {
		return "lease ended"
	}
	return string(r.Status)
}

// seatTable is a table of activations, the parts of a page share it.
type seatTable struct {
	Caption string
	Rows    []seatRow
	Path    string // of a row's own pages, up to its id; empty: nobody may release them
	Keep    string // a query for them
}

func (v *visit) seatTable(caption, licenseID string, list []license.Activation) seatTable {
	t := seatTable{Caption: caption, Keep: v.keepList("")}
	if v.admin() {
		t.Path = v.root + seatsPath(licenseID) + "/"
	}
	for _, a := range list {
		t.Rows = append(t.Rows, seatRow{a, v.moment(a.CreatedAt), v.moment(a.LastSeenAt), v.momentOf(a.LeaseEndsAt), v.momentOf(a.EndedAt)})
	}
	return t
}

func seatsPath(licenseID string) string {
	return "licenses/" + url.PathEscape(licenseID) + "/activations"
}

// seatPanel is what a license's page says of its seats.
type seatPanel struct {
	Summary     string
	Live, Ended seatTable
	All         string // where there are more, as a reference from dashboard/
}

// seatPanel reads the live seats of a license, and some that have ended.
func (v *visit) seatPanel(l license.License) (seatPanel, error) {
	ctx := v.r.Context()
	live, err := v.licenses.ListActivations(ctx, license.ListActivationsParams{LicenseID: l.ID, Limit: 200})
	if err != nil {
		return seatPanel{}, err
	}
	both, err := v.licenses.ListActivations(ctx, license.ListActivationsParams{LicenseID: l.ID, Ended: true, Limit: seatsPage})
	if err != nil {
		return seatPanel{}, err
	}
	var ended []license.Activation
	for _, a := range both.Data {
		if a.Status != license.ActivationLive {
			ended = append(ended, a)
		}
	}
	n := strconv.Itoa(len(live.Data))
	if live.NextCursor != "" {
		n = "More than " + n
	}
	p := seatPanel{Summary: n + " taken, of as many as wanted."}
	if l.MaxActivations != nil {
		p.Summary = n + " of " + strconv.FormatInt(*l.MaxActivations, 10) + " taken."
	}
	if len(live.Data) > seatsShown || len(ended) > seatsShown || both.NextCursor != "" {
		p.All = v.keepList(seatsPath(l.ID) + "?ended=1")
	}
	p.Live = v.seatTable("Live activations", l.ID, live.Data[:min(len(live.Data), seatsShown)])
	p.Ended = v.seatTable("Ended activations", l.ID, ended[:min(len(ended), seatsShown)])
	return p, nil
}

// seatList is the body of the list of a license's activations.
type seatList struct {
	License license.License
	Table   seatTable
	Ended   bool   // those that have ended are in it as well
	Next    string // the query of the next page
	First   string // the query of the first page, when this is another
	Other   string // the list with or without those that have ended, as a reference from dashboard/
}

func showActivations(v *visit) error {
	ctx, q := v.r.Context(), v.r.URL.Query()
	l, err := v.licenses.Get(ctx, v.params["id"])
	if err != nil {
		return err
	}
	body := seatList{License: l, Ended: q.Get("ended") != ""}
	filter := url.Values{}
	body.Other = v.keepList(seatsPath(l.ID) + "?ended=1")
	if body.Ended {
		filter.Set("ended", "1")
		body.Other = v.keepList(seatsPath(l.ID))
	}
	result, err := v.licenses.ListActivations(ctx, license.ListActivationsParams{LicenseID: l.ID, Ended: body.Ended, Limit: seatsPage, Cursor: q.Get("cursor")})
	if errors.Is(err, license.ErrInvalid) {
		return &web.Problem{Status: http.StatusBadRequest, Code: "invalid_cursor", Detail: "This list does not go on from there. Start again from the first page."}
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
	body.Table = v.seatTable("Activations, the oldest first", l.ID, result.Data)
	return v.render(http.StatusOK, "activations", page{Title: "Activations of " + l.Name, Section: "licenses", Body: body})
}

func releaseForm() *form {
	return &form{Groups: []group{{Fields: []*field{
		{Name: "reason", Label: "Reason", Hint: "Kept in the history. May be empty.", Type: "text", MaxLength: 255},
	}}}}
}

func showRelease(v *visit) error {
	l, err := v.licenses.Get(v.r.Context(), v.params["id"])
	if err != nil {
		return err
	}
	return v.renderRelease(http.StatusOK, l, releaseForm())
}

// seat returns the seat that the address names, as it would be released. The
// rules look it up; nothing is kept.
func (v *visit) seat(licenseID string) (row seatRow, err error) {
	errPreview := errors.New("only a preview")
	err = v.licenses.Atomically(v.r.Context(), func(s *license.Service) (err error) {
		row.Activation, err = s.ReleaseActivation(v.r.Context(), license.ReleaseParams{LicenseID: licenseID, ActivationID: v.params["activation"]})
		if err != nil {
			return err
		}
		return errPreview
	})
	if !errors.Is(err, errPreview) {
		return seatRow{}, err
	}
	return row, nil
}

func (v *visit) renderRelease(status int, l license.License, f *form) error {
	seat, err := v.seat(l.ID)
	if err != nil {
		return err
	}
	held := "Held by: " + seat.Label()
	if seat.Name != "" {
		held += " (" + seat.Fingerprint + ")"
	}
	return v.render(status, "confirm", page{Title: "Release a seat of " + l.Name, Section: "licenses", Body: confirmation{
		Heading: "Release a seat", Form: f, Action: "Release seat", Back: v.licenseRef(l.ID), Subject: l.Name,
		Text: []string{
			held,
			"Activation id: " + seat.ID,
			"The seat is free at once for another machine. The one that holds it is told at its next validation that it is not activated; while seats are free, it can activate itself again.",
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
	if f.take(err) {
		return v.renderRelease(http.StatusUnprocessableEntity, l, f)
	}
	if err != nil {
		return err
	}
	v.redirectDone(v.licenseRef(l.ID), "released")
	return nil
}
