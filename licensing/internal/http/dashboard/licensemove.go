package dashboard

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// confirmation is the body of a page with a form and two buttons: the action
// and Cancel.
type confirmation struct {
	Heading string // the heading of the page; empty: the title
	Form    *form
	Text    []string
	Action  string // the label of the button
	Danger  bool
	// Download is set if the answer is a file, so that the page stays.
	Download bool
	Back     string // the page that Cancel opens, as a reference from dashboard/
	Subject  string // the label of the link to Back
}

// A move changes the status or the key of a license.
type move struct {
	name    string // in the path
	label   string // the label of the button that opens the confirmation
	heading string
	action  string // the label of the button that performs it
	verb    string // with an object, as in "Cannot …"
	text    string
	danger  bool
	from    []license.Status // the statuses for which it is offered; the license service decides
	done    string
	do      func(*license.Service, context.Context, license.MoveParams) (license.License, error)
}

var moves = []move{
	{
		name: "suspend", label: "Suspend", heading: "Suspend license", action: "Suspend license", done: "suspended",
		verb: "suspend this license",
		text: "Validation fails as suspended until you reinstate the license. Activations are kept.",
		from: []license.Status{license.StatusActive, license.StatusScheduled, license.StatusExpired},
		do:   (*license.Service).Suspend,
	},
	{
		name: "reinstate", label: "Reinstate", heading: "Reinstate license", action: "Reinstate license", done: "reinstated",
		verb: "reinstate this license",
		text: "The license becomes valid again if its dates allow it.",
		from: []license.Status{license.StatusSuspended},
		do:   (*license.Service).Reinstate,
	},
	{
		name: "rekey", label: "Replace key", heading: "Replace key", action: "Replace key", done: "rekeyed",
		verb: "replace the key of this license",
		text: "For a leaked key. The license gets a new key, and the current key stops working immediately. The customer needs the new key.",
		from: []license.Status{license.StatusActive, license.StatusScheduled, license.StatusExpired, license.StatusSuspended},
		do: func(s *license.Service, ctx context.Context, p license.MoveParams) (license.License, error) {
			return s.Rekey(ctx, license.RekeyParams{ID: p.ID, Reason: p.Reason, IfMatch: p.IfMatch})
		},
	},
	{
		name: "void-files", label: "Void files", heading: "Void license files", action: "Void files", done: "files-voided",
		verb: "void the files of this license",
		text: "Programs refuse all license files that were issued for this license once they see the next revocation list. Programs that reach the service get new files. Programs without a network continue until their files expire.",
		from: []license.Status{license.StatusActive, license.StatusScheduled, license.StatusExpired, license.StatusSuspended},
		do:   (*license.Service).VoidFiles,
	},
	{
		name: "revoke", label: "Revoke", heading: "Revoke license", action: "Revoke license", danger: true, done: "ended",
		verb: "revoke this license",
		text: "This is final: a revoked license cannot be reinstated. The license is kept, and validation fails as revoked.",
		from: []license.Status{license.StatusActive, license.StatusScheduled, license.StatusExpired, license.StatusSuspended},
		do:   (*license.Service).Revoke,
	},
}

// refused returns why the move is not possible for a license with status s.
func (m move) refused(s license.Status) string {
	return "Cannot " + m.verb + ": it is " + string(s) + "."
}

// A moveLink is a button that opens the confirmation of a move.
type moveLink struct {
	Name, Label string
	Danger      bool
}

// movesFrom returns the moves that are offered for a license with status s.
func movesFrom(s license.Status) (list []moveLink) {
	for _, m := range moves {
		if slices.Contains(m.from, s) {
			list = append(list, moveLink{m.name, m.label, m.danger})
		}
	}
	return list
}

func (v *visit) move() (move, error) {
	i := slices.IndexFunc(moves, func(m move) bool { return m.name == v.params["move"] })
	if i < 0 {
		return move{}, notFound("This page does not exist.")
	}
	return moves[i], nil
}

// formFor is form for one license. To revoke it, the operator types the last
// group of its key.
func (m move) formFor(l license.License) *form {
	f := m.form()
	if m.danger {
		f.Groups[0].Fields = append(f.Groups[0].Fields, confirmField(l))
	}
	return f
}

func (m move) form() *form {
	return &form{Groups: []group{{Fields: []*field{
		{Name: "reason", Label: "Reason", Hint: "Optional. Recorded in the history and shown to the license key holder.", Type: "text", MaxLength: 255},
	}}}}
}

func showMove(v *visit) error {
	m, err := v.move()
	if err != nil {
		return err
	}
	l, err := v.licenses.Get(v.r.Context(), v.params["id"])
	if err != nil {
		return err
	}
	if !slices.Contains(m.from, l.Status) {
		return &web.Problem{Status: http.StatusConflict, Code: "move_forbidden", Detail: m.refused(l.Status)}
	}
	return v.renderMove(http.StatusOK, m, l, m.formFor(l))
}

func (v *visit) renderMove(status int, m move, l license.License, f *form) error {
	return v.render(status, "confirm", page{Title: m.label + ": " + l.Name, Section: "licenses", Body: confirmation{
		Heading: m.heading, Form: f, Text: []string{m.text}, Action: m.action, Danger: m.danger, Back: v.licenseRef(l.ID), Subject: l.Name,
	}})
}

func makeMove(v *visit) error {
	m, err := v.move()
	if err != nil {
		return err
	}
	ctx := v.r.Context()
	l, err := v.licenses.Get(ctx, v.params["id"])
	if err != nil {
		return err
	}
	f := m.formFor(l)
	f.fill(v)
	if m.danger && slices.Contains(m.from, l.Status) && !f.confirmed(l) {
		return v.renderMove(http.StatusUnprocessableEntity, m, l, f)
	}
	_, err = m.do(v.licenses, ctx, license.MoveParams{ID: l.ID, Reason: f.Field("reason").Value})
	if f.takeErrors(err) {
		return v.renderMove(http.StatusUnprocessableEntity, m, l, f)
	}
	if forbidden, ok := errors.AsType[*license.MoveError](err); ok {
		return &web.Problem{Status: http.StatusConflict, Code: "move_forbidden", Detail: m.refused(forbidden.From)}
	}
	if err != nil {
		return err
	}
	v.redirectDone(v.licenseRef(l.ID), m.done)
	return nil
}

func deleteForm(l license.License) *form {
	return &form{Groups: []group{{Fields: []*field{confirmField(l)}}}}
}

func showDeleteLicense(v *visit) error {
	l, err := v.licenses.Get(v.r.Context(), v.params["id"])
	if err != nil {
		return err
	}
	return v.renderDeleteLicense(http.StatusOK, l, deleteForm(l))
}

func (v *visit) renderDeleteLicense(status int, l license.License, f *form) error {
	return v.render(status, "confirm", page{Title: "Delete " + l.Name, Section: "licenses", Body: confirmation{
		Heading: "Delete license", Form: f, Action: "Delete license", Danger: true, Back: v.licenseRef(l.ID), Subject: l.Name,
		Text: []string{
			"This permanently deletes the license, its key and its activations. Validation fails because the key is unknown. " +
				"The events of the license are kept.",
			"To end the license but keep its record, revoke it instead.",
		},
	}})
}

func deleteLicense(v *visit) error {
	ctx := v.r.Context()
	l, err := v.licenses.Get(ctx, v.params["id"])
	if err != nil {
		return err
	}
	f := deleteForm(l)
	f.fill(v)
	if !f.confirmed(l) {
		return v.renderDeleteLicense(http.StatusUnprocessableEntity, l, f)
	}
	if err := v.licenses.Delete(ctx, license.DeleteParams{ID: l.ID}); err != nil && !errors.Is(err, license.ErrNotFound) {
		return err
	}
	v.redirectDone(v.listRef(), "deleted")
	return nil
}
