package dashboard

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// bulkMoves are the moves that one form can make for several licenses.
var bulkMoves = []string{"suspend", "reinstate", "revoke"}

// maxSelected is the maximum number of licenses that one form can change. A page
// of the list has fewer.
const maxSelected = 100

// A selection is the body of the pages that change several licenses.
type selection struct {
	Form    *form
	Text    string
	Action  string // the label of the button; empty: the action is complete and Rows has the results
	Path    string // the target of the form, as a reference from dashboard/
	Heading string
	Danger  bool
	Rows    []selectedRow
	Moved   int
}

// selectedRow is one of the selected licenses.
type selectedRow struct {
	ID, Name, Problem string
	Status            license.Status
}

// selected returns the move and the distinct ids of the selected licenses.
func (v *visit) selected(ids []string) (m move, unique []string, err error) {
	m, err = v.move()
	if err != nil || !slices.Contains(bulkMoves, m.name) {
		return m, nil, notFound("This page does not exist.")
	}
	for _, id := range ids {
		if !slices.Contains(unique, id) {
			unique = append(unique, id)
		}
	}
	switch {
	case len(unique) == 0:
		err = &web.Problem{Status: http.StatusUnprocessableEntity, Code: "none_selected", Detail: "Go back to the list and select at least one license."}
	case len(unique) > maxSelected:
		err = &web.Problem{Status: http.StatusUnprocessableEntity, Code: "too_many_selected", Detail: "At most " + count(maxSelected, "license") + " can be selected. Go back to the list and select fewer."}
	}
	return m, unique, err
}

func (v *visit) selection(m move, f *form) selection {
	return selection{
		Form: f, Text: "For each license: " + strings.ToLower(m.text[:1]) + m.text[1:], Action: m.label + " licenses", Path: "licenses/selected/" + m.name, Heading: m.label + " licenses", Danger: m.danger,
	}
}

func showSelected(v *visit) error {
	m, ids, err := v.selected(v.r.URL.Query()["id"])
	if err != nil {
		return err
	}
	return v.renderSelected(http.StatusOK, m, ids, m.form())
}

// renderSelected renders the page that asks for confirmation.
func (v *visit) renderSelected(status int, m move, ids []string, f *form) error {
	body := v.selection(m, f)
	for _, id := range ids {
		row := selectedRow{ID: id, Name: id}
		l, err := v.licenses.Get(v.r.Context(), id)
		switch {
		case errors.Is(err, license.ErrNotFound):
			row.Problem = "This license no longer exists."
		case err != nil:
			return err
		default:
			row.Name, row.Status = l.Name, l.Status
			if !slices.Contains(m.from, l.Status) {
				row.Problem = "This license is " + string(l.Status) + " and will not be changed."
			}
		}
		body.Rows = append(body.Rows, row)
	}
	return v.render(status, "selected", page{Title: m.label + ": " + count(len(ids), "license"), Section: "licenses", Body: body})
}

// moveSelected changes each license in its own transaction and reports a result
// for each. Submitting the same form again changes nothing.
func moveSelected(v *visit) error {
	m, ids, err := v.selected(v.r.PostForm["id"])
	if err != nil {
		return err
	}
	f := m.form()
	f.fill(v)
	body := v.selection(m, f)
	body.Action = ""
	for i, id := range ids {
		row := selectedRow{ID: id, Name: id}
		l, err := m.do(v.licenses, v.r.Context(), license.MoveParams{ID: id, Reason: f.Field("reason").Value})
		switch refused, ok := errors.AsType[*license.MoveError](err); {
		case ok:
			row.Status, row.Problem = refused.From, "Cannot "+m.name+" this license: it is "+string(refused.From)+"."
			if before, err := v.licenses.Get(v.r.Context(), id); err == nil {
				row.Name = before.Name
			}
		case errors.Is(err, license.ErrNotFound):
			row.Problem = "This license no longer exists."
		case i == 0 && f.takeErrors(err): // the reason is the same for all licenses
			return v.renderSelected(http.StatusUnprocessableEntity, m, ids, f)
		case err != nil && i == 0:
			return err
		case err != nil:
			row.Problem = web.ProblemOf(err).Detail
		default:
			row.Name, row.Status = l.Name, l.Status
			body.Moved++
		}
		body.Rows = append(body.Rows, row)
	}
	return v.render(http.StatusOK, "selected", page{Title: "Results", Section: "licenses", Body: body})
}
