package settings

import (
	"net/http"
	"strings"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
)

// credentialsPage is the number of credentials on a page of the list.
const credentialsPage = 50

// scopeTexts are the scopes in a few words, and what each allows.
var scopeTexts = map[string]struct{ words, hint string }{
	auth.ScopeLicenseRead:     {"read licenses", "Read licenses, activations and verdicts"},
	auth.ScopeLicenseWrite:    {"change licenses", "Create, change and delete licenses"},
	auth.ScopeEventRead:       {"read events", "Read events"},
	auth.ScopeWebhookWrite:    {"manage webhooks", "Manage webhooks"},
	auth.ScopeCustomerWrite:   {"manage customers", "Export, rename and erase customers"},
	auth.ScopeSalesRead:       {"read sales", "Read what was sold"},
	auth.ScopeTokenIntrospect: {"introspect tokens", "Check the access tokens of other clients"},
}

// DescribeScopes describes scopes: "Read and change licenses, read events".
func DescribeScopes(scopes []string) string {
	words := kit.Each(scopes, func(s string) string { return scopeTexts[s].words })
	return kit.SentenceCase(strings.Replace(strings.Join(words, ", "), "read licenses, change licenses", "read and change licenses", 1))
}

// DescribeProducts describes the products that a client can access.
func DescribeProducts(products []string) string {
	if products == nil {
		return "all products"
	}
	return "only " + strings.Join(products, ", ")
}

// ShowSettings redirects to the first page of the settings.
func ShowSettings(v *kit.Visit) error {
	if v.May(kit.Auditors) {
		return v.Redirect("settings/credentials")
	}
	return v.Redirect("settings/webhooks")
}

func ShowCredentials(v *kit.Visit) error {
	clients, err := v.Auth.ListClients(v.R.Context(), auth.ListClientsParams{Cursor: v.R.URL.Query().Get("after"), Limit: credentialsPage})
	if err != nil {
		return err
	}
	return v.Render(http.StatusOK, "credentials", kit.Page{Title: "API credentials", Section: "credentials", Body: struct {
		Rows []auth.Client
		kit.Pager
	}{clients.Data, v.Pager(nil, "after", clients.NextCursor)}})
}

func ShowCredential(v *kit.Visit, c auth.Client) error {
	return v.Render(http.StatusOK, "credential", kit.Page{Title: c.Name, Section: "credentials", Body: struct {
		auth.Client
		Quick *QuickStart
		Via   string // how the secret was sent last
	}{c, quickStartOf(v, c, "YOUR_SECRET"), usedVia[c.LastUsedVia]}})
}

// usedVia describes how a client sent its secret, by auth.Client.LastUsedVia.
var usedVia = map[string]string{
	"basic": "secret sent in the header",
	"form":  "secret sent in a form",
	"json":  "secret sent as JSON",
	"query": "secret sent in the URL, where it may be logged",
}
