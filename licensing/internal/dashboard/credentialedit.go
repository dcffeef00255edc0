package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/forms"
)

// scopeHints say what each scope is for.
var scopeHints = map[string]string{
	auth.ScopeLicenseRead:     "Read licenses, their seats and verdicts",
	auth.ScopeLicenseWrite:    "Create, change and delete licenses",
	auth.ScopeEventRead:       "Read the feed of events",
	auth.ScopeWebhookWrite:    "Look after webhook endpoints",
	auth.ScopeTokenIntrospect: "Check the access tokens of other clients",
}

func credentialForm(c auth.Client) *form {
	scopes := &field{Name: "scopes", Label: "Scopes", Hint: "What its access tokens may do.", Type: "checks"}
	for _, s := range auth.Scopes() {
		scopes.Options = append(scopes.Options, option{Value: s, Label: s, Hint: scopeHints[s], Chosen: slices.Contains(c.Scopes, s)})
	}
	return &form{Groups: []group{{Fields: []*field{
		{Name: "name", Label: "Name", Hint: "Which program uses it, such as “Web shop” or “Build server”.", Type: "text", Value: c.Name, Required: true, MaxLength: 255},
		scopes,
		{Name: "products", Label: "Only these products", Hint: "One product id in a line. Licenses of other products do not exist for it. Empty: all products.", Type: "textarea", Rows: 3, List: true, Value: strings.Join(c.Products, "\n")},
	}}}}
}

// readCredential takes the values of the form. The rules refuse a client
// without scopes; the form has better words for it.
func readCredential(v *visit, f *form) (name string, scopes, products []string) {
	scopes = append([]string{}, v.r.PostForm["scopes"]...)
	if len(scopes) == 0 {
		f.wrong("scopes", "Choose at least one.")
	}
	for line := range strings.SplitSeq(f.Field("products").Value, "\n") {
		if line = strings.TrimSpace(line); line != "" {
			products = append(products, line)
		}
	}
	return f.Field("name").Value, scopes, products
}

type credentialEditor struct {
	Form   *form
	Client *auth.Client // nil: a new one
}

func showNewCredential(v *visit) error {
	f := credentialForm(auth.Client{Scopes: []string{auth.ScopeLicenseRead, auth.ScopeLicenseWrite}})
	f.Once = forms.NewMark()
	return v.renderNewCredential(http.StatusOK, f)
}

func (v *visit) renderNewCredential(status int, f *form) error {
	return v.render(status, "credentialform", page{Title: "New API credential", Section: "credentials", Body: credentialEditor{Form: f}})
}

func createCredential(v *visit) error {
	f := credentialForm(auth.Client{})
	f.fill(v)
	name, scopes, products := readCredential(v, f)
	var c auth.Client
	var secret string
	id, repeated, err := v.once(v.r.Context(), f.Once, func() (_ string, err error) {
		c, secret, err = v.auth.CreateClient(v.r.Context(), auth.CreateClientParams{Name: name, Scopes: scopes, Products: products})
		return c.ID, err
	})
	switch {
	case f.take(err):
		return v.renderNewCredential(http.StatusUnprocessableEntity, f)
	case err != nil && secret == "":
		return err
	case repeated:
		return v.renderAlreadyShown(id)
	}
	return v.renderSecret(c, secret, false)
}

func (v *visit) credential() (auth.Client, error) {
	return v.auth.GetClient(v.r.Context(), v.params["id"])
}

func credentialPath(id string) string { return "settings/credentials/" + url.PathEscape(id) }

func showEditCredential(v *visit) error {
	c, err := v.credential()
	if err != nil {
		return err
	}
	return v.renderEditCredential(http.StatusOK, c, credentialForm(c))
}

func (v *visit) renderEditCredential(status int, c auth.Client, f *form) error {
	return v.render(status, "credentialform", page{Title: "Edit " + c.Name, Section: "credentials", Body: credentialEditor{f, &c}})
}

func updateCredential(v *visit) error {
	c, err := v.credential()
	if err != nil {
		return err
	}
	f := credentialForm(c)
	f.fill(v)
	name, scopes, products := readCredential(v, f)
	_, err = v.auth.UpdateClient(v.r.Context(), auth.UpdateClientParams{ID: c.ID, Name: &name, Scopes: &scopes, Products: &products})
	if f.take(err) {
		return v.renderEditCredential(http.StatusUnprocessableEntity, c, f)
	}
	if err != nil {
		return err
	}
	v.redirectDone(credentialPath(c.ID), "updated")
	return nil
}

func showDisableCredential(v *visit) error {
	c, err := v.credential()
	if err != nil {
		return err
	}
	return v.render(http.StatusOK, "confirm", page{Title: "Disable " + c.Name, Section: "credentials", Body: confirmation{
		Heading: "Disable credential", Form: &form{}, Action: "Disable credential", Danger: true, Back: credentialPath(c.ID), Subject: c.Name,
		Text: []string{"Its access tokens end at once, and it is given no new ones until it is enabled again. Its secrets stay."},
	}})
}

func disableCredential(v *visit) error { return v.setDisabled(true, "disabled") }

func enableCredential(v *visit) error { return v.setDisabled(false, "enabled") }

func (v *visit) setDisabled(disabled bool, done string) error {
	c, err := v.auth.UpdateClient(v.r.Context(), auth.UpdateClientParams{ID: v.params["id"], Disabled: &disabled})
	if err != nil {
		return err
	}
	v.redirectDone(credentialPath(c.ID), done)
	return nil
}
