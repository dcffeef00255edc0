package dashboard

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/auth"
)

// credentialsPage is the number of credentials on a page of the list.
const credentialsPage = 50

// credentialRow is a credential with its times formatted for a page.
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
	clients, err := v.auth.ListClients(v.r.Context(), auth.ListClientsParams{After: after, Limit: credentialsPage + 1})
	if err != nil {
		return err
	}
	var body struct {
		Rows  []credentialRow
		Next  string // the query of the next page
		First string // the query of the first page, if this is another page
	}
	if after != "" {
		body.First = "?"
	}
	if len(clients) > credentialsPage {
		clients = clients[:credentialsPage]
		body.Next = "?" + url.Values{"after": {clients[credentialsPage-1].ID}}.Encode()
	}
	for _, c := range clients {
		body.Rows = append(body.Rows, v.credentialRow(c))
	}
	return v.render(http.StatusOK, "credentials", page{Title: "API credentials", Section: "credentials", Body: body})
}

// credentialBody is the body of the page of one credential.
type credentialBody struct {
	credentialRow
	Facts    []fact
	Commands []command
}

func showCredential(v *visit) error {
	c, err := v.auth.GetClient(v.r.Context(), v.params["id"])
	if err != nil {
		return err
	}
	body := credentialBody{credentialRow: v.credentialRow(c), Commands: v.credentialCommands(c, "YOUR_SECRET")}
	products := "All products"
	if c.Products != nil {
		products = strings.Join(c.Products, ", ")
	}
	body.Facts = []fact{
		{Label: "Client ID", Code: c.ID, ID: "id"},
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

// usedVia describes how a client sent its secret, by auth.Client.LastUsedVia.
var usedVia = map[string]string{
	"basic": "secret sent in the header",
	"form":  "secret sent in a form",
	"json":  "secret sent as JSON",
	"query": "secret sent in the URL, where it may be logged",
}

// credentialCommands returns example commands for one shell. The first sets
// $TOKEN, and the second uses it as the scopes of the client allow. The commands
// only read, unless the client has only write scopes.
func (v *visit) credentialCommands(c auth.Client, secret string) []command {
	token := v.command("Get an access token in $TOKEN", "TOKEN=$(curl -sS -u '"+c.ID+":"+secret+"' -d grant_type=client_credentials ", "/oauth/token")
	token.Tail = ` | sed 's/.*"access_token": *"\([^"]*\)".*/\1/'); echo "$TOKEN"`
	const bearer = `curl -sS -H "Authorization: Bearer $TOKEN" `
	var use command
	switch may := func(scope string) bool { return slices.Contains(c.Scopes, scope) }; {
	case may(auth.ScopeLicenseRead):
		use = v.command("List licenses", bearer, "/license?limit=5")
	case may(auth.ScopeEventRead):
		use = v.command("List events", bearer, "/event?limit=5")
	case may(auth.ScopeWebhookWrite):
		use = v.command("List webhooks", bearer, "/webhook")
	case may(auth.ScopeLicenseWrite):
		product := "PRODUCT_ID"
		if len(c.Products) > 0 {
			product = c.Products[0]
		}
		body, _ := json.Marshal(map[string]string{"name": "LICENSE_NAME", "product_id": product, "customer_id": "CUSTOMER_ID"}) // strings always encode
		use = v.command("Create a license (this adds a real license)",
			bearer+`-H "Content-Type: application/json" -d '`+strings.ReplaceAll(string(body), "'", `'\''`)+"' ", "/license")
	default: // auth.ScopeTokenIntrospect
		use = v.command("Introspect the token", "curl -sS -u '"+c.ID+":"+secret+`' -d "token=$TOKEN" `, "/oauth/introspect")
	}
	return []command{token, use}
}
