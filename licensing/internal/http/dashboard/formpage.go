package dashboard

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// A formPage is a page with one form, and what submitting the form does. A route
// with form serves it for GET and POST.
//
// The function that builds the page reads the record, and sets the text, the
// fields and do. The rest is the same for all forms: a form with errors is shown
// again with status 422, one that conflicts with the record with status 409, and
// after a change a redirect shows the notice.
type formPage struct {
	Title, Section string
	Heading        string // empty: the title
	Subject, Back  string // the link above the heading, and the page that it and Cancel open, as a reference from dashboard/
	Text           []string
	Form           *form
	Action         string // the label of the button
	Danger         bool
	Download       bool   // the answer is a file, so the page stays
	Live           string // a text that a script replaces while the form is filled in
	Licenses       *planUse
	Standalone     bool // the page has no navigation
	Extra          any  // what the template shows in addition to the form

	// Once marks a form that creates something: submitting it again has no
	// effect. Then do runs in an Update.
	Once bool
	// Version is what the form was filled from. If it differs when the form is
	// submitted, someone else has changed the record, and the form is shown
	// again. Then do runs in an Update. Empty: the form edits no record.
	Version string

	template string  // empty: the page of a form
	away     *string // where a GET is redirected instead, as a reference from dashboard/

	names   map[string]string  // fields of the rules that have another name in the form
	prepare func(*visit) error // runs before the page is shown
	// do makes the change, through tx, and returns the page that shows the
	// result, or "" for Back. It may add errors to the form instead. It may run
	// again, on a new page.
	do   func(tx *visit) (to string, err error)
	done string             // the notice; empty: none
	then func(*visit) error // responds instead of the redirect, to show a new secret
}

// A conflictError means that a form is valid but that the record does not allow
// the change. Its text is shown above the form.
type conflictError string

func (e conflictError) Error() string { return string(e) }

const (
	errEdited conflictError = "This was changed while the form was open. Fields that you had not changed have the new values now; beside those that you had, “Now” says what is stored. Submitting the form again saves what it shows."
	// errInvalidForm undoes the Update of a form that has errors.
	errInvalidForm conflictError = "the form has errors"
)

// newFormPage returns a page with a form below another page: that of the record which the form
// changes, or the list of the section.
func newFormPage(section string, up place, heading string, text ...string) *formPage {
	p := &formPage{Title: heading, Section: section, Heading: heading, Subject: up.Title, Back: up.Path, Text: text, Form: newForm(), Action: heading}
	if up != lists[section] {
		p.Title += ": " + up.Title
	}
	return p
}

// buildForm builds a page of a form from the record. The form sends what the record had.
func (v *visit) buildForm(build func(*visit) (*formPage, error)) (*formPage, error) {
	p, err := build(v)
	if err == nil && p.Version != "" {
		p.Form.Hidden["version"], p.Form.Hidden[openedName] = p.Version, p.Form.opened()
	}
	return p, err
}

func (v *visit) showForm(build func(*visit) (*formPage, error)) error {
	p, err := v.buildForm(build)
	if err != nil {
		return err
	}
	if p.away != nil {
		return v.redirect(*p.away)
	}
	if p.Once {
		p.Form.Once = newMark()
	}
	return v.renderForm(http.StatusOK, p)
}

// renderForm renders the page of a form.
func (v *visit) renderForm(status int, p *formPage) error {
	if err := v.offerNames(p.Form); err != nil {
		return err
	}
	if p.prepare != nil {
		if err := p.prepare(v); err != nil {
			return err
		}
	}
	return v.render(status, cmp.Or(p.template, "form"), page{Title: p.Title, Section: p.Section, Standalone: p.Standalone, Invalid: p.Form.HasErrors(), Body: p})
}

// submitForm makes the change of a submitted form.
func (v *visit) submitForm(build func(*visit) (*formPage, error)) error {
	p, err := v.buildForm(build)
	if err != nil {
		return err
	}
	p.Form.fill(v)
	if p.Form.addPairs(v) {
		if p.Version != "" { // the record is read when the form is submitted
			p.Form.Hidden["version"], p.Form.Hidden[openedName] = v.sent("version"), v.sent(openedName)
		}
		return v.renderForm(http.StatusOK, p)
	}
	run := func(tx *visit) (to string, err error) {
		if tx != v { // what this Update reads
			if p, err = tx.buildForm(build); err != nil {
				return "", err
			}
			p.Form.fill(v)
		}
		if p.Version != "" && v.sent("version") != p.Version {
			return "", errEdited
		}
		if !p.Form.confirmed() {
			return "", errInvalidForm
		}
		p.Form.checkWhen()
		if to, err = p.do(tx); err == nil && p.Form.HasErrors() {
			err = errInvalidForm
		}
		return to, err
	}
	to, repeated := "", false
	switch {
	case p.Once:
		to, repeated, err = v.once(p.Form, run)
	case p.Version != "":
		err = v.atomically(func(tx *visit) (err error) {
			to, err = run(tx)
			return err
		})
	default:
		to, err = run(v)
	}
	if errors.Is(err, api.ErrStale) {
		err = errEdited
	}
	to = cmp.Or(to, p.Back)
	conflict, isConflict := errors.AsType[conflictError](err)
	refused, isRefused := v.refuse(p.Form, err)
	switch {
	case isRefused:
		return v.renderForm(refused, p)
	case errors.Is(err, errInvalidForm), p.Form.takeErrors(err, p.names):
		return v.renderForm(http.StatusUnprocessableEntity, p)
	case errors.Is(err, api.ErrDenied), errors.Is(err, api.ErrNoFile):
		p.Form.Problem = sentence(err.Error())
		return v.renderForm(http.StatusConflict, p)
	case isConflict:
		if conflict == errEdited && p.Version != "" {
			if p, err = v.mergeForm(build); err != nil {
				return err
			}
		}
		p.Form.Problem = string(conflict)
		return v.renderForm(http.StatusConflict, p)
	case err != nil:
		return err
	case repeated && p.then != nil:
		return v.renderRepeated(p, to)
	case repeated:
		p.done = noticeRepeated
	case p.then != nil:
		return p.then(v)
	}
	if p.done == "" {
		return v.redirect(to)
	}
	return v.redirectDone(to, p.done)
}

// add appends a field to the form.
func (f *form) add(x *field) { f.Fields = append(f.Fields, x) }

func newForm(fields ...*field) *form { return &form{Fields: fields, Hidden: map[string]string{}} }

// confirmed reports whether the operator typed what the form asks for. If not, it
// adds an error to the form.
func (f *form) confirmed() bool {
	for _, x := range f.Fields {
		if typed := strings.TrimSpace(x.Value); x.Must != "" && typed != x.Must && strings.ToUpper(typed) != x.Must {
			f.addError(x.Name, x.Wrong)
			return false
		}
	}
	return true
}
