package dashboard

import (
	"net/http"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/auth"
)

// credentialsPage is the number of credentials on a page of the list.
const credentialsPage = 50

// credentialRow is a credential with its times formatted for a page.
type credentialRow struct {
	Client   auth.Client
	Access   string // what the credential allows
	Products string // for which products
	Created  *moment
	LastUsed *moment
	Secrets  []secretRow
}

type secretRow struct {
	auth.Secret
	Created, Expires, LastUsed *moment
}

func (v *visit) credentialRow(c auth.Client) credentialRow {
	row := credentialRow{Client: c, Access: accessWords(c), Products: productWords(c), Created: v.moment(c.CreatedAt), LastUsed: v.moment(c.LastUsedAt)}
	for _, s := range c.Secrets {
		row.Secrets = append(row.Secrets, secretRow{s, v.moment(s.CreatedAt), v.moment(s.ExpiresAt), v.moment(s.LastUsedAt)})
	}
	return row
}

// scopeWords are the scopes in a few words.
var scopeWords = map[string]string{
	auth.ScopeLicenseRead:     "read licenses",
	auth.ScopeLicenseWrite:    "change licenses",
	auth.ScopeEventRead:       "read events",
	auth.ScopeWebhookWrite:    "manage webhooks",
	auth.ScopeTokenIntrospect: "introspect tokens",
}

// accessWords describes the scopes of a client: "Read and change licenses, read
// events".
func accessWords(c auth.Client) string {
	var words []string
	for _, s := range c.Scopes {
		if s == auth.ScopeLicenseWrite && slices.Contains(words, scopeWords[auth.ScopeLicenseRead]) {
			words[0] = "read and change licenses"
			continue
		}
		words = append(words, scopeWords[s])
	}
	return sentenceCase(strings.Join(words, ", "))
}

// productWords describes the products that a client can access.
func productWords(c auth.Client) string {
	if c.Products == nil {
		return "all products"
	}
	return "only " + strings.Join(c.Products, ", ")
}

// showSettings redirects to the first page of the settings.
func showSettings(v *visit) error {
	to := "settings/credentials"
	if !v.may(auditors) {
		to = "settings/webhooks"
	}
	v.redirect(to)
	return nil
}

func showCredentials(v *visit) error {
	after := v.r.URL.Query().Get("after")
	clients, err := v.auth.ListClients(v.r.Context(), auth.ListClientsParams{Cursor: after, Limit: credentialsPage})
	if err != nil {
		return err
	}
	var body struct {
		Rows []credentialRow
		pager
	}
	body.pager = newPager(nil, "after", after, clients.NextCursor)
	for _, c := range clients.Data {
		body.Rows = append(body.Rows, v.credentialRow(c))
	}
	return v.render(http.StatusOK, "credentials", page{Title: "API credentials", Section: "credentials", Body: body})
}

// credentialBody is the body of the page of one credential.
type credentialBody struct {
	credentialRow
	Facts []fact
	Quick *quickStart
}

func showCredential(v *visit) error {
	c, err := v.auth.GetClient(v.r.Context(), v.r.PathValue("id"))
	if err != nil {
		return err
	}
	body := credentialBody{credentialRow: v.credentialRow(c), Quick: v.quickStart(c, "YOUR_SECRET")}
	body.Facts = []fact{
		{Label: "Client ID", Code: c.ID, ID: "id"},
		{Label: "Access", Text: accessWords(c), Note: productWords(c)},
		{Label: "Scopes", Tags: c.Scopes},
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

// usedVia describes how a client sent its secret, by auth.Client.LastUsedVia.
var usedVia = map[string]string{
	"basic": "secret sent in the header",
	"form":  "secret sent in a form",
	"json":  "secret sent as JSON",
	"query": "secret sent in the URL, where it may be logged",
}
