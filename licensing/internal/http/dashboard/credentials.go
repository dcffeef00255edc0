package dashboard

import (
	"net/http"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/auth"
)

// credentialsPage is the number of credentials on a page of the list.
const credentialsPage = 50

// scopeWords are the scopes in a few words.
var scopeWords = map[string]string{
	auth.ScopeLicenseRead:     "read licenses",
	auth.ScopeLicenseWrite:    "change licenses",
	auth.ScopeEventRead:       "read events",
	auth.ScopeWebhookWrite:    "manage webhooks",
	auth.ScopeTokenIntrospect: "introspect tokens",
}

// describeScopes describes scopes: "Read and change licenses, read events".
func describeScopes(scopes []string) string {
	var words []string
	for _, s := range scopes {
		if s == auth.ScopeLicenseWrite && slices.Contains(words, scopeWords[auth.ScopeLicenseRead]) {
			words[0] = "read and change licenses"
			continue
		}
		words = append(words, scopeWords[s])
	}
	return sentenceCase(strings.Join(words, ", "))
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
	return v.render(http.StatusOK, "credentials", page{Title: "API credentials", Section: "credentials", Body: struct {
		Rows []auth.Client
		pager
	}{clients.Data, newPager(nil, "after", after, clients.NextCursor)}})
}

func showCredential(v *visit) error {
	c, err := v.credential()
	if err != nil {
		return err
	}
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
