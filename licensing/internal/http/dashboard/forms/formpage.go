package forms

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// A FormPage is a page with one form, and what submitting the form does. A route
// with form serves it for GET and POST.
//
// The function that builds the page reads the record, and sets the text, the
// fields and do. The rest is the same for all forms: a form with errors is shown
// again with status 422, one that conflicts with the record with status 409, and
// after a change a redirect shows the notice.
type FormPage struct {
	Title, Section string
	Heading        string // empty: the title
	Subject, Back  string // the link above the heading, and the page that it and Cancel open, as a reference from dashboard/
	Text           []string
	Form           *Form
	Action         string // the label of the button
	Danger         bool
	Download       bool   // the answer is a file, so the page stays
	Live           string // a text that a script replaces while the form is filled in
	Licenses       *PlanUse
	Standalone     bool // the page has no navigation
	Extra          any  // what the template shows in addition to the form

	// Once marks a form that creates something: submitting it again has no
	// effect. Then do runs in an Update.
	Once bool
	// Version is what the form was filled from. If it differs when the form is
	// submitted, someone else has changed the record, and the form is shown
	// again. Then do runs in an Update. Empty: the form edits no record.
	Version string

	Template string  // empty: the page of a form
	Away     *string // where a GET is redirected instead, as a reference from dashboard/

	Names   map[string]string      // fields of the rules that have another name in the form
	Prepare func(*kit.Visit) error // runs before the page is shown
	// Do makes the change, through tx, and returns the page that shows the
	// result, or "" for Back. It may add errors to the form instead. It may run
	// again, on a new page.
	Do   func(tx *kit.Visit) (to string, err error)
	Done string                 // the notice; empty: none
	Then func(*kit.Visit) error // responds instead of the redirect, to show a new secret
}

// A ConflictError means that a form is valid but that the record does not allow
// the change. Its text is shown above the form.
type ConflictError string

func (e ConflictError) Error() string { return string(e) }

const (
	ErrEdited ConflictError = "This was changed while the form was open. Fields that you had not changed have the new values now; beside those that you had, “Now” says what is stored. Submitting the form again saves what it shows."
	// errInvalidForm undoes the Update of a form that has errors.
	errInvalidForm ConflictError = "the form has errors"
)

// NewFormPage returns a page with a form below another page: that of the record which the form
// changes, or the list of the section.
func NewFormPage(section string, up kit.Place, heading string, text ...string) *FormPage {
	p := &FormPage{Title: heading, Section: section, Heading: heading, Subject: up.Title, Back: up.Path, Text: text, Form: NewForm(), Action: heading}
	if up != kit.Lists[section] {
		p.Title += ": " + up.Title
	}
	return p
}

// A Builder builds the page of a form for a request.
type Builder func(*kit.Visit) (*FormPage, error)

func (b Builder) Show(v *kit.Visit) error { return showForm(v, b) }

func (b Builder) Submit(v *kit.Visit) error { return submitForm(v, b) }

// IsForm says that the page cannot be returned to.
func (p *FormPage) IsForm() {}

// buildForm builds a page of a form from the record. The form sends what the record had.
func buildForm(v *kit.Visit, build func(*kit.Visit) (*FormPage, error)) (*FormPage, error) {
	p, err := build(v)
	if err == nil && p.Version != "" {
		p.Form.Hidden["version"], p.Form.Hidden[openedName] = p.Version, p.Form.opened()
	}
	return p, err
}

func showForm(v *kit.Visit, build func(*kit.Visit) (*FormPage, error)) error {
	p, err := buildForm(v, build)
	if err != nil {
		return err
	}
	if p.Away != nil {
		return v.Redirect(*p.Away)
	}
	if p.Once {
		p.Form.Once = kit.NewMark()
	}
	return RenderForm(v, http.StatusOK, p)
}

// RenderForm renders the page of a form.
func RenderForm(v *kit.Visit, status int, p *FormPage) error {
	if err := offerNames(v, p.Form); err != nil {
		return err
	}
	if p.Prepare != nil {
		if err := p.Prepare(v); err != nil {
			return err
		}
	}
	return v.Render(status, cmp.Or(p.Template, "form"), kit.Page{Title: p.Title, Section: p.Section, Standalone: p.Standalone, Invalid: p.Form.HasErrors(), Body: p})
}

// submitForm makes the change of a submitted form.
func submitForm(v *kit.Visit, build func(*kit.Visit) (*FormPage, error)) error {
	p, err := buildForm(v, build)
	if err != nil {
		return err
	}
	p.Form.fill(v)
	if p.Form.addPairs(v) {
		if p.Version != "" { // the record is read when the form is submitted
			p.Form.Hidden["version"], p.Form.Hidden[openedName] = v.Sent("version"), v.Sent(openedName)
		}
		return RenderForm(v, http.StatusOK, p)
	}
	run := func(tx *kit.Visit) (to string, err error) {
		if tx != v { // what this Update reads
			if p, err = buildForm(tx, build); err != nil {
				return "", err
			}
			p.Form.fill(v)
		}
		if p.Version != "" && v.Sent("version") != p.Version {
			return "", ErrEdited
		}
		if !p.Form.confirmed() {
			return "", errInvalidForm
		}
		p.Form.CheckWhen()
		if to, err = p.Do(tx); err == nil && p.Form.HasErrors() {
			err = errInvalidForm
		}
		return to, err
	}
	to, repeated := "", false
	switch {
	case p.Once:
		to, repeated, err = once(v, p.Form, run)
	case p.Version != "":
		err = v.Atomically(func(tx *kit.Visit) (err error) {
			to, err = run(tx)
			return err
		})
	default:
		to, err = run(v)
	}
	if errors.Is(err, api.ErrStale) {
		err = ErrEdited
	}
	to = cmp.Or(to, p.Back)
	full := v.StorageFull(err)
	conflict, isConflict := errors.AsType[ConflictError](err)
	refused, isRefused := refuse(v, p.Form, err)
	switch {
	case isRefused:
		return RenderForm(v, refused, p)
	case errors.Is(err, errInvalidForm), p.Form.TakeErrors(err, p.Names):
		return RenderForm(v, http.StatusUnprocessableEntity, p)
	case errors.Is(err, api.ErrDenied), errors.Is(err, api.ErrNoFile):
		p.Form.Problem = kit.Sentence(err.Error())
		return RenderForm(v, http.StatusConflict, p)
	case isConflict:
		if conflict == ErrEdited && p.Version != "" {
			if p, err = mergeForm(v, build); err != nil {
				return err
			}
		}
		p.Form.Problem = string(conflict)
		return RenderForm(v, http.StatusConflict, p)
	case full != "":
		p.Form.Problem = full
		return RenderForm(v, http.StatusServiceUnavailable, p)
	case err != nil:
		return err
	case repeated && p.Then != nil:
		return renderRepeated(v, p, to)
	case repeated:
		p.Done = kit.NoticeRepeated
	case p.Then != nil:
		return p.Then(v)
	}
	if p.Done == "" {
		return v.Redirect(to)
	}
	return v.RedirectDone(to, p.Done)
}

// Add appends a field to the form.
func (f *Form) Add(x *Field) { f.Fields = append(f.Fields, x) }

func NewForm(fields ...*Field) *Form { return &Form{Fields: fields, Hidden: map[string]string{}} }

// confirmed reports whether the operator typed what the form asks for. If not, it
// adds an error to the form.
func (f *Form) confirmed() bool {
	for _, x := range f.Fields {
		if typed := strings.TrimSpace(x.Value); x.Must != "" && typed != x.Must && strings.ToUpper(typed) != x.Must {
			f.AddError(x.Name, x.Wrong)
			return false
		}
	}
	return true
}

// renderRepeated answers a form for a new secret that was already submitted.
func renderRepeated(v *kit.Visit, p *FormPage, next string) error {
	return v.Render(http.StatusConflict, "repeated", kit.Page{Title: "Already submitted", Section: p.Section, Up: kit.Place{Title: p.Subject, Path: p.Back}, Body: struct{ Next string }{next}})
}

// offeredNames is the maximum number of known products and customers that a form
// offers.
const offeredNames = 100

// offerNames makes a form offer the known products and customers, in the fields that
// it has for them.
func offerNames(v *kit.Visit, f *Form) error {
	lists := map[string]func(*license.Service, context.Context, api.NamesParams) (api.Page[api.NameCount], error){
		"product_id": (*license.Service).Products, "customer_id": (*license.Service).Customers,
	}
	for name, list := range lists {
		x := f.Field(name)
		if x == nil {
			continue
		}
		known, err := list(v.Licenses, v.R.Context(), api.NamesParams{Limit: offeredNames})
		if err != nil {
			return err
		}
		x.Known = kit.Each(known.Data, func(n api.NameCount) string { return n.Name })
	}
	return nil
}
