package dashboard

import (
	"net/http"
	"strings"

	"github.com/seed-d8a106b4/licensekit/auth"
)

// credentialsPage is the number of credentials on a page of the list.
const credentialsPage = 50

// scopeTexts are the scopes in a few words, and what each allows.
var scopeTexts = map[string]struct{ words, hint string }{
	auth.ScopeLicenseRead:     {"read licenses", "Read licenses, activations and verdicts"},
	auth.ScopeLicenseWrite:    {"change licenses", "Create, change and delete licenses"},
	auth.ScopeEventRead:       {"read events", "Read events"},
	auth.ScopeWebhookWrite:    {"manage webhooks", "Manage webhooks"},
	auth.ScopeTokenIntrospect: {"introspect tokens", "Check the access tokens of other clients"},
}

// describeScopes describes scopes: "Read and change licenses, read events".
func describeScopes(scopes []string) string {
	words := each(scopes, func(s string) string { return scopeTexts[s].words })
	return sentenceCase(strings.Replace(strings.Join(words, ", "), "read licenses, change licenses", "read and change licenses", 1))
}

// describeProducts describes the products that a client can access.
func describeProducts(products []string) string {
	if products == nil {
		return "all products"
	}
	return "only " + strings.Join(products, ", ")
}

// showSettings redirects to the first page of the settings.
func showSettings(v *visit) error {
	if v.may(auditors) {
		return v.redirect("settings/credentials")
	}
	return v.redirect("settings/webhooks")
}

func showCredentials(v *visit) error {
	clients, err := v.auth.ListClients(v.r.Context(), auth.ListClientsParams{Cursor: v.r.URL.Query().Get("after"), Limit: credentialsPage})
	if err != nil {
		return err
	}
	return v.render(http.StatusOK, "credentials", page{Title: "API credentials", Section: "credentials", Body: struct {
		Rows []auth.Client
		pager
	}{clients.Data, v.pager(nil, "after", clients.NextCursor)}})
}

func showCredential(v *visit, c auth.Client) error {
	return v.render(http.StatusOK, "credential", page{Title: c.Name, Section: "credentials", Body: struct {
		auth.Client
		Quick *quickStart
		Via   string // how the secret was sent last
	}{c, v.quickStart(c, "YOUR_SECRET"), usedVia[c.LastUsedVia]}})
}

// usedVia describes how a client sent its secret, by auth.Client.LastUsedVia.
var usedVia = map[string]string{
	"basic": "secret sent in the header",
	"form":  "secret sent in a form",
	"json":  "secret sent as JSON",
	"query": "secret sent in the URL, where it may be logged",
}
