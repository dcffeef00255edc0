package dashboard

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// confirmation is the body of a page that asks before something is done.
type confirmation struct {
	Form    *form
	Text    []string
	Action  string // what the button says
	Danger  bool
	Back    string // where to go instead, as a reference from dashboard/
	Subject string // what the page is about, for the way back
}

func deleteForm() *form {
	return &form{Groups: []group{{Fields: []*field{
		{Name: "name", Label: "Name of the licence", Type: "text", Autocomplete: "off", Required: true},
	}}}}
}

func showDeleteLicense(v *visit) error {
	l, err := v.licenses.Get(v.r.Context(), v.params["id"])
	if err != nil {
		return err
	}
	return v.renderDeleteLicense(http.StatusOK, l, deleteForm())
}

func (v *visit) renderDeleteLicense(status int, l license.License, f *form) error {
	f.Field("name").Hint = "Type “" + l.Name + "” to confirm."
	return v.render(status, "confirm", page{Title: "Delete " + l.Name, Section: "licenses", Body: confirmation{
		Form: f, Action: "Delete licence", Danger: true, Back: "licenses/" + url.PathEscape(l.ID), Subject: l.Name,
		Text: []string{
			"The licence, its key and its seats go for good; programs that use the key are told that it does not exist. " +
				"What happened to it stays in the record of events.",
			"To end a licence and keep it in your books, revoke it instead.",
		},
	}})
}

func deleteLicense(v *visit) error {
	ctx := v.r.Context()
	l, err := v.licenses.Get(ctx, v.params["id"])
	if err != nil {
		return err
	}
	f := deleteForm()
	f.fill(v)
	if f.Field("name").Value != l.Name {
		f.wrong("name", "This is not the name of the licence.")
		return v.renderDeleteLicense(http.StatusUnprocessableEntity, l, f)
	}
	if err := v.licenses.Delete(ctx, license.DeleteParams{ID: l.ID}); err != nil && !errors.Is(err, license.ErrNotFound) {
		return err
	}
	v.redirect("licenses?done=deleted")
	return nil
}
