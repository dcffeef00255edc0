package dashboard

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// changeSelected changes the licenses of the values that a form has sent, and sets the
// page to a result for each. Submitting the same form again changes nothing.
func changeSelected(v *kit.Visit, m stateChange, values []string, p *forms.FormPage) error {
	do := m.doSelected(p.Form)
	if p.Form.HasErrors() {
		return nil
	}
	body := p.Extra.(selection)
	body.Failed, body.Rows, body.Done, body.Rest = nil, nil, true, body.Rest && !m.isRenewal()
	stopped := "" // why no further license is changed
	for i := 0; i < len(values); i = body.Total() {
		if i > 0 && stopped == "" {
			if err := v.CheckAccess(); err != nil {
				stopped = web.ProblemOf(err).Detail
			}
		}
		if stopped != "" {
			body.add(failedRow(values[i], "Not attempted. "+stopped))
			continue
		}
		some := values[i:min(i+changedTogether, len(values))]
		rows, err := changeTogether(v, m, some, do)
		switch {
		case err != nil && (i == 0 || isAboutForm(err)): // nothing was changed yet
			return err
		case err != nil:
			stopped = "An earlier license failed."
			rows = kit.Each(some, func(value string) selectedRow { return failedRow(value, web.ProblemOf(err).Detail) })
		}
		for _, row := range rows {
			body.add(row)
		}
	}
	if undo := m.undo(); undo != nil && len(body.Rows) > 0 && v.May(undo.access) {
		body.Undo = undo
	}
	p.Then = func(v *kit.Visit) error {
		p.Text, p.Action, p.Extra = nil, "", body
		return v.Render(http.StatusOK, "selected", kit.Page{Title: "Results", Section: "licenses", Body: p})
	}
	return nil
}

// idOf returns the ID in a value of the form.
func idOf(value string) string {
	id, _, _ := strings.Cut(value, " ")
	return id
}

// A bulkFunc changes the license of a value of the form.
type bulkFunc func(s *license.Service, ctx context.Context, value string) (api.License, error)

// doSelected returns the change that the form describes. It adds errors to the
// form.
func (m stateChange) doSelected(f *forms.Form) bulkFunc {
	var renewal api.RenewLicenseParams
	if m.isRenewal() {
		renewal = readRenewal(f)
	}
	return func(s *license.Service, ctx context.Context, value string) (api.License, error) {
		id, state, undoes := strings.Cut(value, " ")
		p := api.ChangeStateParams{ID: id, Reason: f.Field("reason").Value}
		switch {
		case m.isRenewal():
			version, _ := api.ParseVersion(state) // the zero version is that of no license
			p := renewal
			p.ID, p.IfMatch = id, []api.Version{version}
			return s.Renew(ctx, p)
		case undoes && m.undo() != nil:
			return inner.Of(s).Licenses().PutBack(ctx, p, state)
		}
		return m.do(s, ctx, p)
	}
}

// isAboutForm reports whether an error is about a value that is the same for all
// licenses. The license service reports it for the first license that exists.
func isAboutForm(err error) bool {
	invalid, ok := errors.AsType[*api.InvalidError](err)
	return ok && !slices.ContainsFunc(invalid.Fields, func(x api.FieldError) bool { return x.Field != "reason" && x.Field != "duration" })
}

// changeTogether changes the first of some licenses in one Update: as many as
// maxMoving allows, and at least one. It returns a row for each of them. A license
// that cannot be changed does not affect the others. If it returns an error, none
// is changed.
func changeTogether(v *kit.Visit, m stateChange, values []string, do bulkFunc) (rows []selectedRow, err error) {
	ctx := v.R.Context()
	err = v.Licenses.Atomically(ctx, func(s *license.Service) error {
		rows = rows[:0] // the function may run again
		start := v.Opts.Now()
		for _, value := range values {
			if len(rows) > 0 && v.Opts.Now().Sub(start) >= maxMoving {
				break
			}
			row := failedRow(value, "This license no longer exists.")
			before, err := s.Get(ctx, row.ID)
			if err == nil {
				row = selectedRow{License: before, Value: before.ID}
				var standing string
				var l api.License
				if standing, err = inner.Of(s).Licenses().Standing(ctx, row.ID); err == nil {
					l, err = do(s, ctx, value)
				}
				if err == nil {
					row = selectedRow{License: l, Value: l.ID + " " + standing}
				}
			}
			refused, forbidden := errors.AsType[*api.StateError](err)
			invalid, isInvalid := errors.AsType[*api.InvalidError](err)
			switch {
			case err == nil || errors.Is(err, api.ErrNotFound):
			case forbidden:
				row.Problem = m.refused(refused.From)
			case errors.Is(err, api.ErrStale):
				row.Problem = "This license was changed after you selected it. Select it again."
			case isInvalid && !isAboutForm(err):
				row.Problem = kit.Sentence(invalid.Fields[0].Field + " " + invalid.Fields[0].Detail)
			default:
				return err
			}
			rows = append(rows, row)
		}
		return nil
	})
	return rows, err
}
