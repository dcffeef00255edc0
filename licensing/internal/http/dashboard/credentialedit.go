package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/auth"
)

// scopeHints describe what each scope allows.
var scopeHints = map[string]string{
	auth.ScopeLicenseRead:     "Read licenses, activations and verdicts",
	auth.ScopeLicenseWrite:    "Create, change and delete licenses",
	auth.ScopeEventRead:       "Read events",
	auth.ScopeWebhookWrite:    "Manage webhooks",
	auth.ScopeTokenIntrospect: "Check the access tokens of other clients",
}

func credentialForm(c auth.Client) *form {
	scopes := &field{Name: "scopes", Label: "Scopes", Hint: "What its access tokens allow.", Type: "checks"}
	for _, s := range auth.Scopes() {
		scopes.Options = append(scopes.Options, option{Value: s, Label: s, Hint: scopeHints[s], Chosen: slices.Contains(c.Scopes, s)})
	}
	return &form{Groups: []group{{Fields: []*field{
		{Name: "name", Label: "Name", Hint: "The program that uses it, such as “Web shop” or “Build server”.", Type: "text", Value: c.Name, Required: true, MaxLength: 255},
		scopes,
		{Name: "products", Label: "Products", Hint: "One product ID per line. The credential cannot access licenses of other products. Leave blank for all products.", Type: "textarea", Rows: 3, List: true, Value: strings.Join(c.Products, "\n")},
	}}}}
}

// readCredential returns the values of the form. It adds an error if no scope
// is selected.
func readCredential(v *visit, f *form) (name string, scopes, products []string) {
	scopes = append([]string{}, v.r.PostForm["scopes"]...)
	if len(scopes) == 0 {
		f.addError("scopes", "Select at least one.")
	}
	return f.Field("name").Value, scopes, f.lines("products")
}

func showNewCredential(v *visit) error {
	f := credentialForm(auth.Client{Scopes: []string{auth.ScopeLicenseRead, auth.ScopeLicenseWrite}})
	f.Once = newMark()
	return v.renderNewCredential(http.StatusOK, f)
}

func (v *visit) renderNewCredential(status int, f *form) error {
	return v.render(status, "confirm", page{Title: "New API credential", Section: "credentials", Body: confirmation{
		Form: f, Action: "Create credential", Back: "settings/credentials", Subject: "API credentials",
	}})
}

func createCredential(v *visit) error {
	f := credentialForm(auth.Client{})
	f.fill(v)
	name, scopes, products := readCredential(v, f)
	var c auth.Client
	var secret string
	id, repeated, err := v.once(f, func(tx *visit) (_ string, err error) {
		c, secret, err = tx.auth.CreateClient(v.r.Context(), auth.CreateClientParams{Name: name, Scopes: scopes, Products: products})
		return c.ID, err
	})
	switch {
	case f.takeErrors(err):
		return v.renderNewCredential(http.StatusUnprocessableEntity, f)
	case err != nil:
		return err
	case repeated:
		return v.renderRepeated("credentials", "API credentials", credentialPath(id))
	}
	return v.renderCredentialSecret(c, secret, "Credential created")
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
	return v.render(status, "confirm", page{Title: "Edit " + c.Name, Section: "credentials", Body: confirmation{
		Heading: "Edit API credential", Form: f, Action: "Save changes", Back: credentialPath(c.ID), Subject: c.Name,
		Text: []string{"Changes apply within one second, including to existing access tokens."},
	}})
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
	if f.takeErrors(err) {
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
		Text: []string{"Its access tokens stop working within one second, and it cannot get new ones until you enable it again. Its secrets are kept."},
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

func showDeleteCredential(v *visit) error {
	c, err := v.credential()
	if err != nil {
		return err
	}
	return v.render(http.StatusOK, "confirm", page{Title: "Delete " + c.Name, Section: "credentials", Body: confirmation{
		Heading: "Delete credential", Form: &form{}, Action: "Delete credential", Danger: true, Back: credentialPath(c.ID), Subject: c.Name,
		Text: []string{
			"Its secrets and access tokens stop working within one second, and webhooks that it created receive no more events. The audit log keeps its events.",
			"This cannot be undone. To stop it for a while, disable it instead.",
		},
	}})
}

func deleteCredential(v *visit) error {
	if err := v.auth.DeleteClient(v.r.Context(), v.params["id"]); err != nil {
		return err
	}
	v.redirectDone("settings/credentials", "credential-deleted")
	return nil
}
