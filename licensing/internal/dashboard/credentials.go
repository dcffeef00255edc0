package dashboard

import (
	"net/http"
	"net/url"
	"strings"

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
