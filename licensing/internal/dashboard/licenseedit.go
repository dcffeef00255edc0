package dashboard

import (
	"errors"
	"net/http"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/input"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

func showNewLicense(v *visit) error {
	q := v.r.URL.Query()
	f := licenseForm(license.License{ProductID: q.Get("product"), CustomerID: q.Get("customer")})
	f.Once = forms.NewMark()
	return v.renderNewLicense(http.StatusOK, f)
}

// licenseEditor is the body of the pages that create and edit a license.
type licenseEditor struct {
	Form    *form
	License *license.License // nil for a new license
}

func (v *visit) renderNewLicense(status int, f *form) error {
	return v.render(status, "licenseform", page{Title: "New license", Section: "licenses", Body: licenseEditor{Form: f}})
}

func createLicense(v *visit) error {
	f := licenseForm(license.License{})
	f.fill(v)
	in := f.readLicense()
	id, repeated, err := v.once(v.r.Context(), f.Once, func() (string, error) {
		l, err := v.licenses.Create(input.WithErrors(v.r.Context(), in.errors), f.createParams(in))
		return l.ID, err
	})
	switch {
	case f.takeLicenseErrors(err):
		return v.renderNewLicense(http.StatusUnprocessableEntity, f)
	case err != nil:
		return err
	case id == "":
		v.redirectDone(v.listRef(), "repeated")
	case repeated:
		v.redirectDone(v.licenseRef(id), "repeated")
	default:
		v.redirectDone(v.licenseRef(id), "created")
	}
	return nil
}

func showEditLicense(v *visit) error {
	l, err := v.licenses.Get(v.r.Context(), v.params["id"])
	if err != nil {
		return err
	}
	return v.renderEditLicense(http.StatusOK, l, licenseForm(l))
}

func (v *visit) renderEditLicense(status int, l license.License, f *form) error {
	f.Hidden = map[string]string{"version": l.Version().String()}
	return v.render(status, "licenseform", page{Title: "Edit " + l.Name, Section: "licenses", Body: licenseEditor{f, &l}})
}

func updateLicense(v *visit) error {
	ctx := v.r.Context()
	l, err := v.licenses.Get(ctx, v.params["id"])
	if err != nil {
		return err
	}
	f := licenseForm(l)
	f.fill(v)
	in := f.readLicense()
	if v.sent("version") != l.Version().String() {
		f.Problem = "This license was changed while you were editing it. Review your changes: saving this form now overwrites the other changes."
		return v.renderEditLicense(http.StatusConflict, l, f)
	}
	after, err := v.licenses.Update(input.WithErrors(ctx, in.errors), f.updateParams(in, l))
	switch {
	case f.takeLicenseErrors(err):
		return v.renderEditLicense(http.StatusUnprocessableEntity, l, f)
	case errors.Is(err, license.ErrStale):
		f.Problem = "This license was changed while you were saving it. Review your changes: saving this form now overwrites the other changes."
		if l, err = v.licenses.Get(ctx, l.ID); err != nil {
			return err
		}
		return v.renderEditLicense(http.StatusConflict, l, f)
	case err != nil:
		return err
	}
	done := "updated"
	if after.Revision == l.Revision {
		done = "unchanged"
	}
	v.redirectDone(v.licenseRef(l.ID), done)
	return nil
}
