package dashboard

import (
	"errors"
	"net/http"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

func showNewLicense(v *visit) error {
	q := v.r.URL.Query()
	l := license.License{ProductID: q.Get("product"), CustomerID: q.Get("customer")}
	if id := q.Get("from"); id != "" { // a duplicate gets a new key
		var err error
		if l, err = v.licenses.Get(v.r.Context(), id); err != nil {
			return err
		}
	}
	f := newLicenseForm(l)
	f.Once = newMark()
	return v.renderNewLicense(http.StatusOK, f)
}

// offeredNames is the maximum number of known products and customers that a form
// offers.
const offeredNames = 100

// offerNames makes a license form offer the known products and customers.
func (v *visit) offerNames(f *form) error {
	for name, list := range map[string]directory{"product_id": products, "customer_id": customers} {
		known, err := list.list(v.licenses, v.r.Context(), license.NamesParams{Limit: offeredNames})
		if err != nil {
			return err
		}
		for _, x := range known.Data {
			f.Field(name).Known = append(f.Field(name).Known, x.Name)
		}
	}
	return nil
}

// licenseEditor is the body of the pages that create and edit a license.
type licenseEditor struct {
	Form    *form
	License *license.License // nil for a new license
}

func (v *visit) renderNewLicense(status int, f *form) error {
	if err := v.offerNames(f); err != nil {
		return err
	}
	return v.render(status, "licenseform", page{Title: "New license", Section: "licenses", Body: licenseEditor{Form: f}})
}

func createLicense(v *visit) error {
	f := newLicenseForm(license.License{})
	f.fill(v)
	if f.addPairs(v) {
		return v.renderNewLicense(http.StatusOK, f)
	}
	in := f.readLicense(v.h.opts.Now())
	p := f.createParams(in)
	var ref []byte
	var repeated bool
	err := v.invalid(in.errors, &p)
	if err == nil {
		ref, repeated, err = inner.Of(v.licenses).CreateOnce(v.r.Context(), f.mark(), "", p,
			func(l license.License) ([]byte, error) { return []byte(l.ID), nil })
	}
	id := string(ref)
	if errors.Is(err, license.ErrKeyTaken) {
		err = license.Invalid("key", "taken", "is the key of another license")
	}
	switch {
	case f.takeLicenseErrors(err):
		return v.renderNewLicense(http.StatusUnprocessableEntity, f)
	case err != nil:
		return err
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
	if err := v.offerNames(f); err != nil {
		return err
	}
	if f.Hidden == nil {
		f.Hidden = map[string]string{"version": l.Version().String()}
	}
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
	if f.addPairs(v) {
		f.Hidden = map[string]string{"version": v.sent("version")}
		return v.renderEditLicense(http.StatusOK, l, f)
	}
	in := f.readLicense(v.h.opts.Now())
	if v.sent("version") != l.Version().String() {
		f.Problem = "This license was changed while you were editing it. Review your changes: saving this form now overwrites the other changes."
		return v.renderEditLicense(http.StatusConflict, l, f)
	}
	p := f.updateParams(in, l)
	var after license.License
	if err = v.invalid(in.errors, &p); err == nil {
		after, err = v.licenses.Update(ctx, p)
	}
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
