package dashboard

import (
	"net/url"
	"strings"

	"github.com/seed-d8a106b4/licensekit/auth"
)

func credentialFields(c auth.Client) *form {
	scopes := &field{Name: "scopes", Label: "Scopes", Hint: "What its access tokens allow.", Type: "checks"}
	scopes.Options = each(auth.Scopes(), func(s string) option { return option{Value: s, Label: s, Hint: scopeTexts[s].hint} })
	choose(scopes.Options, c.Scopes)
	return newForm(
		&field{Name: "name", Label: "Name", Hint: "The program that uses it, such as “Web shop” or “Build server”.", Type: "text", Value: c.Name, Required: true, MaxLength: 255},
		scopes,
		&field{Name: "products", Label: "Products", Hint: "One product ID per line. The credential cannot access licenses of other products. Leave blank for all products.", Type: "textarea", Rows: 3, List: true, Value: strings.Join(c.Products, "\n")},
	)
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

func newCredentialForm(v *visit) (*formPage, error) {
	p := newFormPage("credentials", lists["credentials"], "New API credential")
	p.Form, p.Action, p.Once = credentialFields(auth.Client{Scopes: []string{auth.ScopeLicenseRead, auth.ScopeLicenseWrite}}), "Create credential", true
	var c auth.Client
	var secret string
	p.do = func(tx *visit) (_ string, err error) {
		name, scopes, products := readCredential(v, p.Form)
		c, secret, err = tx.auth.CreateClient(v.r.Context(), auth.CreateClientParams{Name: name, Scopes: scopes, Products: products})
		return credentialPath(c.ID), err
	}
	p.then = func(v *visit) error { return v.renderCredentialSecret(c, secret, "Credential created") }
	return p, nil
}

func credentialPath(id string) string { return "settings/credentials/" + url.PathEscape(id) }

// credentialFormPage returns a page with a form about a credential.
func credentialFormPage(c auth.Client, heading string, text ...string) *formPage {
	return newFormPage("credentials", place{c.Name, credentialPath(c.ID)}, heading, text...)
}

func editCredentialForm(v *visit, c auth.Client) (*formPage, error) {
	p := credentialFormPage(c, "Edit API credential", "Changes apply within one second, including to existing access tokens.")
	p.Form, p.Action, p.done = credentialFields(c), saveChanges, noticeSaved
	p.Version = p.Form.digest()
	p.do = func(tx *visit) (string, error) {
		name, scopes, products := readCredential(v, p.Form)
		_, err := tx.auth.UpdateClient(v.r.Context(), auth.UpdateClientParams{ID: c.ID, Name: &name, Scopes: &scopes, Products: &products})
		return "", err
	}
	return p, nil
}

func disableCredentialForm(_ *visit, c auth.Client) (*formPage, error) {
	p := credentialFormPage(c, "Disable credential",
		"Its access tokens stop working within one second, and it cannot get new ones until you enable it again. Its secrets are kept.")
	p.Danger, p.done = true, "The credential has been disabled and its access tokens revoked."
	p.do = func(tx *visit) (string, error) { return "", tx.setDisabled(true) }
	return p, nil
}

func enableCredential(v *visit) error {
	if err := v.setDisabled(false); err != nil {
		return err
	}
	return v.redirectDone(credentialPath(v.r.PathValue("id")), "The credential has been enabled. It can get access tokens again.")
}

// setDisabled disables or enables the credential of the path.
func (v *visit) setDisabled(disabled bool) error {
	_, err := v.auth.UpdateClient(v.r.Context(), auth.UpdateClientParams{ID: v.r.PathValue("id"), Disabled: &disabled})
	return err
}

func deleteCredentialForm(v *visit, c auth.Client) (*formPage, error) {
	p := credentialFormPage(c, "Delete credential",
		"Its secrets and access tokens stop working within one second, and webhooks that it created receive no more events. The audit log keeps its events.",
		"This cannot be undone. To stop it for a while, disable it instead.")
	p.Danger, p.done = true, "The credential has been deleted."
	p.do = func(tx *visit) (string, error) {
		return "settings/credentials", tx.auth.DeleteClient(v.r.Context(), c.ID)
	}
	return p, nil
}
