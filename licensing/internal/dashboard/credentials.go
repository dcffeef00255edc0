package dashboard

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/auth"
)

// credentialsPage is how many credentials one page lists.
const credentialsPage = 50

// credentialRow is a credential as the list shows it.
type credentialRow struct {
	Client   auth.Client
	Created  *moment
	LastUsed *moment
	Secrets  []secretRow
}

type secretRow struct {
	auth.Secret
	Created, Expires, LastUsed *moment
}

func (v *visit) credentialRow(c auth.Client) credentialRow {
	row := credentialRow{Client: c, Created: v.moment(c.CreatedAt), LastUsed: v.moment(c.LastUsedAt)}
	for _, s := range c.Secrets {
		row.Secrets = append(row.Secrets, secretRow{s, v.moment(s.CreatedAt), v.moment(s.ExpiresAt), v.moment(s.LastUsedAt)})
	}
	return row
}

func showCredentials(v *visit) error {
	after := v.r.URL.Query().Get("after")
	clients, err := v.auth.Clients(v.r.Context(), auth.ListClientsParams{After: after, Limit: credentialsPage + 1})
	if err != nil {
		return err
	}
	var body struct {
		Rows  []credentialRow
		Next  string
		First bool
	}
	body.First = after == ""
	if len(clients) > credentialsPage {
		clients = clients[:credentialsPage]
		body.Next = "?" + url.Values{"after": {clients[credentialsPage-1].ID}}.Encode()
	}
	for _, c := range clients {
		body.Rows = append(body.Rows, v.credentialRow(c))
	}
	return v.render(http.StatusOK, "credentials", page{Title: "API credentials", Section: "credentials", Body: body})
}

// credentialBody is the body of the page of one credential, and of the answer
// that shows a secret.
type credentialBody struct {
	credentialRow
	Facts    []fact
	Secret   string // shown this once
	Rotated  bool
	Commands []command
}

func showCredential(v *visit) error {
	c, err := v.auth.Client(v.r.Context(), v.params["id"])
	if err != nil {
		return err
	}
	body := credentialBody{credentialRow: v.credentialRow(c), Commands: v.credentialCommands(c.ID, "YOUR_SECRET")}
	products := "All products"
	if c.Products != nil {
		products = strings.Join(c.Products, ", ")
	}
	body.Facts = []fact{
		{Label: "Client id", Code: c.ID, ID: "id"},
		{Label: "Scopes", Tags: c.Scopes},
		{Label: "Products", Text: products},
		{Label: "Created", Moment: v.moment(c.CreatedAt)},
		{Label: "Last changed", Moment: v.moment(c.UpdatedAt)},
	}
	used := fact{Label: "Last used", Text: "Never"}
	if !c.LastUsedAt.IsZero() {
		used = fact{Label: "Last used", Moment: v.moment(c.LastUsedAt), Note: usedVia[c.LastUsedVia]}
	}
	body.Facts = append(body.Facts, used)
	return v.render(http.StatusOK, "credential", page{Title: c.Name, Section: "credentials", Body: body})
}

// usedVia says how a client has sent its secret.
var usedVia = map[string]string{
	"basic": "secret sent in the header",
	"form":  "secret sent in a form",
	"json":  "secret sent as JSON",
	"query": "secret sent in the address, where logs can see it",
}

func (v *visit) credentialCommands(id, secret string) []command {
	return []command{
		v.command("Get an access token", "curl -u '"+id+":"+secret+"' -d grant_type=client_credentials ", "/oauth/token"),
		v.command("Use it", `curl -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" -d '{"name":"Pro plan","product_id":"app","customer_id":"ada"}' `, "/license"),
	}
}

// scopeHints say what each scope is for.
var scopeHints = map[string]string{
	auth.ScopeLicenseRead:     "Read licences, their seats and verdicts",
	auth.ScopeLicenseWrite:    "Create, change and delete licences",
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
		{Name: "products", Label: "Only these products", Hint: "One product id in a line. Licences of other products do not exist for it. Empty: all products.", Type: "textarea", Rows: 3, Value: strings.Join(c.Products, "\n")},
	}}}}
}

// readCredential takes the values of the form.
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
	f.Once = auth.NewForm()
	return v.renderNewCredential(http.StatusOK, f)
}

func (v *visit) renderNewCredential(status int, f *form) error {
	return v.render(status, "credentialform", page{Title: "New API credential", Section: "credentials", Body: credentialEditor{Form: f}})
}

func createCredential(v *visit) error {
	f := credentialForm(auth.Client{})
	f.fill(v)
	name, scopes, products := readCredential(v, f)
	if f.Bad() {
		return v.renderNewCredential(http.StatusUnprocessableEntity, f)
	}
	var c auth.Client
	var secret string
	id, repeated, err := v.auth.Once(v.r.Context(), f.Once, func() (_ string, err error) {
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

// renderSecret shows a new secret. This answer is the only place it is ever
// in: not a redirect, not a session, not a log.
func (v *visit) renderSecret(c auth.Client, secret string, rotated bool) error {
	title := "Credential created"
	if rotated {
		title = "New secret"
	}
	return v.render(http.StatusOK, "secret", page{Title: title, Section: "credentials", Body: credentialBody{
		credentialRow: v.credentialRow(c), Secret: secret, Rotated: rotated, Commands: v.credentialCommands(c.ID, secret),
	}})
}

// renderAlreadyShown answers a form that was sent before.
func (v *visit) renderAlreadyShown(id string) error {
	return v.render(http.StatusConflict, "repeated", page{Title: "Already created", Section: "credentials", Body: id})
}

func (v *visit) credential() (auth.Client, error) {
	return v.auth.Client(v.r.Context(), v.params["id"])
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
	if f.Bad() {
		return v.renderEditCredential(http.StatusUnprocessableEntity, c, f)
	}
	_, err = v.auth.UpdateClient(v.r.Context(), auth.UpdateClientParams{ID: c.ID, Name: &name, Scopes: &scopes, Products: &products})
	if f.take(err) {
		return v.renderEditCredential(http.StatusUnprocessableEntity, c, f)
	}
	if err != nil {
		return err
	}
	v.redirect(credentialPath(c.ID) + "?done=updated")
	return nil
}

// overlaps are the choices for how long an old secret goes on.
var overlaps = []struct {
	value string
	d     time.Duration
	label string
	hint  string
}{
	{"24h", 24 * time.Hour, "24 hours", "Time to roll the new secret out."},
	{"7d", 7 * 24 * time.Hour, "7 days", ""},
	{"1h", time.Hour, "1 hour", ""},
	{"now", 0, "End it now", "For a secret that has leaked. Its access tokens end as well."},
}

// rotateForm asks how long the present secret goes on, as far as there is a
// choice.
func rotateForm(c auth.Client, chosen string) *form {
	x := &field{Name: "overlap", Label: "The present secret goes on for", Type: "radios"}
	for _, o := range overlaps {
		x.Options = append(x.Options, option{Value: o.value, Label: o.label, Hint: o.hint, Chosen: o.value == chosen})
	}
	switch len(c.Secrets) {
	case 0:
		return &form{Hidden: map[string]string{"overlap": "now"}}
	case 1:
	default:
		x.Label, x.Options = "The two present secrets", []option{{Value: "now", Label: "End both now", Hint: "Their access tokens end as well.", Chosen: true}}
	}
	return &form{Groups: []group{{Fields: []*field{x}}}}
}

func showRotate(v *visit) error {
	c, err := v.credential()
	if err != nil {
		return err
	}
	f := rotateForm(c, "24h")
	f.Once = auth.NewForm()
	return v.renderRotate(http.StatusOK, c, f)
}

func (v *visit) renderRotate(status int, c auth.Client, f *form) error {
	text := []string{"The credential gets a new secret, which is shown once on the next page. The client id stays."}
	if len(c.Secrets) == 0 {
		text = []string{"The credential has no live secret. It gets a new one, which is shown once on the next page."}
	}
	if len(c.Secrets) > 1 {
		text = append(text, "Two secrets are live, and there can be no third. To keep one of them, go back and revoke the other first.")
	}
	return v.render(status, "confirm", page{Title: "Rotate the secret of " + c.Name, Section: "credentials", Body: confirmation{
		Heading: "Rotate secret", Form: f, Text: text, Action: "Make a new secret", Back: credentialPath(c.ID), Subject: c.Name,
	}})
}

func rotate(v *visit) error {
	c, err := v.credential()
	if err != nil {
		return err
	}
	f := rotateForm(c, "")
	f.fill(v)
	overlap := time.Duration(-1)
	for _, o := range overlaps {
		if o.value == v.sent("overlap") {
			overlap = o.d
		}
	}
	if overlap < 0 {
		f.wrong("overlap", "Choose one of these.")
		return v.renderRotate(http.StatusUnprocessableEntity, c, f)
	}
	var secret string
	id, repeated, err := v.auth.Once(v.r.Context(), f.Once, func() (_ string, err error) {
		c, secret, err = v.auth.RotateSecret(v.r.Context(), auth.RotateSecretParams{ClientID: v.params["id"], Overlap: overlap})
		return c.ID, err
	})
	switch {
	case errors.Is(err, auth.ErrTooManySecrets):
		if c, err = v.credential(); err != nil {
			return err
		}
		f.Problem = "Two secrets are live already. Revoke one of them first, or end both now."
		return v.renderRotate(http.StatusConflict, c, f)
	case err != nil && secret == "":
		return err
	case repeated:
		return v.renderAlreadyShown(id)
	}
	return v.renderSecret(c, secret, true)
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
	v.redirect(credentialPath(c.ID) + "?done=" + done)
	return nil
}

func showRevokeSecret(v *visit) error {
	c, err := v.credential()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(c.Secrets, func(s auth.Secret) bool { return s.ID == v.params["secret"] })
	if i < 0 {
		return notFound("This secret is not live any more.")
	}
	return v.render(http.StatusOK, "confirm", page{Title: "Revoke a secret of " + c.Name, Section: "credentials", Body: confirmation{
		Heading: "Revoke the secret …" + c.Secrets[i].Hint, Form: &form{}, Action: "Revoke secret", Danger: true, Back: credentialPath(c.ID), Subject: c.Name,
		Text: []string{"The secret stops working at once, and so do the access tokens it was used for. This cannot be undone."},
	}})
}

func revokeSecret(v *visit) error {
	c, err := v.auth.RevokeSecret(v.r.Context(), v.params["id"], v.params["secret"])
	if err != nil {
		return err
	}
	v.redirect(credentialPath(c.ID) + "?done=revoked")
	return nil
}
