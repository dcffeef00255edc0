package settings

import (
	"strings"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

func credentialFields(c auth.Client) *forms.Form {
	scopes := &forms.Field{Name: "scopes", Label: "Scopes", Hint: "What its access tokens allow.", Type: "checks"}
	scopes.Options = kit.Each(auth.Scopes(), func(s string) forms.Option { return forms.Option{Value: s, Label: s, Hint: scopeTexts[s].hint} })
	forms.Choose(scopes.Options, c.Scopes)
	return forms.NewForm(
		&forms.Field{Name: "name", Label: "Name", Hint: "The program that uses it, such as “Web shop” or “Build server”.", Type: "text", Value: c.Name, Required: true, MaxLength: 255},
		scopes,
		&forms.Field{Name: "products", Label: "Products", Hint: "One product ID per line. The API client cannot access licenses of other products. Leave blank for all products.", Type: "textarea", Rows: 3, List: true, Value: strings.Join(c.Products, "\n")},
	)
}

// ReadCredential returns the values of the form. It adds an error if no scope
// is selected.
func readCredential(v *kit.Visit, f *forms.Form) (name string, scopes, products []string) {
	scopes = append([]string{}, v.R.PostForm["scopes"]...)
	if len(scopes) == 0 {
		f.AddError("scopes", "Select at least one.")
	}
	return f.Field("name").Value, scopes, f.Lines("products")
}

func NewCredentialForm(v *kit.Visit) (*forms.FormPage, error) {
	p := forms.NewFormPage("credentials", kit.Lists["credentials"], "New API client")
	p.Form, p.Action, p.Once = credentialFields(auth.Client{Scopes: []string{auth.ScopeLicenseRead, auth.ScopeLicenseWrite}}), "Create API client", true
	var c auth.Client
	var secret string
	p.Do = func(tx *kit.Visit) (_ string, err error) {
		name, scopes, products := readCredential(v, p.Form)
		c, secret, err = tx.Auth.CreateClient(v.R.Context(), auth.CreateClientParams{Name: name, Scopes: scopes, Products: products})
		return kit.CredentialPath(c.ID), err
	}
	p.Then = func(v *kit.Visit) error { return renderCredentialSecret(v, c, secret, "API client created") }
	return p, nil
}

// credentialFormPage returns a page with a form about a credential.
func credentialFormPage(c auth.Client, heading string, text ...string) *forms.FormPage {
	return forms.NewFormPage("credentials", kit.Place{Title: c.Name, Path: kit.CredentialPath(c.ID)}, heading, text...)
}

func EditCredentialForm(v *kit.Visit, c auth.Client) (*forms.FormPage, error) {
	p := credentialFormPage(c, "Edit API client", "Changes apply within one second, including to existing access tokens.")
	p.Form, p.Action, p.Done = credentialFields(c), kit.SaveChanges, kit.NoticeSaved
	p.Version = p.Form.Digest()
	p.Do = func(tx *kit.Visit) (string, error) {
		name, scopes, products := readCredential(v, p.Form)
		_, err := tx.Auth.UpdateClient(v.R.Context(), auth.UpdateClientParams{ID: c.ID, Name: &name, Scopes: &scopes, Products: &products})
		return "", err
	}
	return p, nil
}

func DisableCredentialForm(_ *kit.Visit, c auth.Client) (*forms.FormPage, error) {
	p := credentialFormPage(c, "Disable API client",
		"Its access tokens stop working within one second, and it cannot get new ones until you enable it again. Its secrets are kept.")
	p.Danger, p.Done = true, "The API client has been disabled and its access tokens revoked."
	p.Do = func(tx *kit.Visit) (string, error) { return "", setDisabled(tx, true) }
	return p, nil
}

func EnableCredential(v *kit.Visit) error {
	if err := setDisabled(v, false); err != nil {
		return err
	}
	return v.RedirectDone(kit.CredentialPath(v.R.PathValue("id")), "The API client has been enabled. It can get access tokens again.")
}

// setDisabled disables or enables the credential of the path.
func setDisabled(v *kit.Visit, disabled bool) error {
	_, err := v.Auth.UpdateClient(v.R.Context(), auth.UpdateClientParams{ID: v.R.PathValue("id"), Disabled: &disabled})
	return err
}

func DeleteCredentialForm(v *kit.Visit, c auth.Client) (*forms.FormPage, error) {
	p := credentialFormPage(c, "Delete API client",
		"Its secrets and access tokens stop working within one second, and webhooks that it created receive no more events. The audit log keeps its events.",
		"This cannot be undone. To stop it for a while, disable it instead.")
	p.Danger, p.Done = true, "The API client has been deleted."
	p.Do = func(tx *kit.Visit) (string, error) {
		return "settings/credentials", tx.Auth.DeleteClient(v.R.Context(), c.ID)
	}
	return p, nil
}
