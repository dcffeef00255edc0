package api

import (
	"context"
	"net/http"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// Config is what the API is over.
type Config struct {
	Licenses  *license.Service
	Auth      *auth.Auth
	Metadata  http.Handler                // the description of the authorization server (RFC 8414)
	Ready     func(context.Context) error // whether the store answers
	MaxImport int64                       // bytes that the body of an import may have
}

type api struct {
	Config
	imports chan struct{} // one element for each import under way
}

// maxImports is how many imports one process runs concurrently. Each holds its
// body in memory.
const maxImports = 4

// Routes returns the endpoints of the API.
func Routes(c Config) []web.Route {
	a := api{c, make(chan struct{}, maxImports)}
	const (
		read  = auth.ScopeLicenseRead
		write = auth.ScopeLicenseWrite
		hook  = auth.ScopeWebhookWrite
	)
	return []web.Route{
		{Method: "GET", Path: "/oauth/token", Handle: serve(a.Auth.ServeToken), OAuth: true}, // POST too
		{Method: "POST", Path: "/oauth/revoke", Handle: serve(a.Auth.ServeRevoke), OAuth: true},
		{Method: "POST", Path: "/oauth/introspect", Handle: serve(a.Auth.ServeIntrospect), OAuth: true},
		{Method: "GET", Path: "/.well-known/oauth-authorization-server", Handle: serve(a.Metadata.ServeHTTP)},

		{Method: "POST", Path: "/license", Scope: write, Handle: a.createLicense},
		{Method: "GET", Path: "/license", Scope: read, Handle: a.listLicenses},
		{Method: "PATCH", Path: "/license", Scope: write, Handle: a.updateLicense},
		{Method: "GET", Path: "/license/{licenseID}", Scope: read, Handle: a.getLicenses},
		{Method: "PATCH", Path: "/license/{licenseID}", Scope: write, Handle: a.updateLicenseAt},
		{Method: "DELETE", Path: "/license/{licenseID}", Scope: write, Handle: a.deleteLicense},

		{Method: "POST", Path: "/license/{licenseID}/suspend", Scope: write, Handle: a.move((*license.Service).Suspend)},
		{Method: "POST", Path: "/license/{licenseID}/reinstate", Scope: write, Handle: a.move((*license.Service).Reinstate)},
		{Method: "POST", Path: "/license/{licenseID}/revoke", Scope: write, Handle: a.move((*license.Service).Revoke)},
		{Method: "POST", Path: "/license/{licenseID}/renew", Scope: write, Handle: a.renewLicense},
		{Method: "POST", Path: "/license/{licenseID}/rekey", Scope: write, Handle: a.rekeyLicense},

		{Method: "GET", Path: "/license/{licenseID}/verdict", Scope: read, Handle: a.explain},
		{Method: "GET", Path: "/license/{licenseID}/activation", Scope: read, Handle: a.listActivations},
		{Method: "DELETE", Path: "/license/{licenseID}/activation/{activationID}", Scope: write, Handle: a.releaseActivation},

		// With a license key, which is the credential; no token is asked for.
		{Method: "POST", Path: "/license/validate", Handle: a.validate},
		{Method: "POST", Path: "/license/activate", Handle: a.activate},
		{Method: "POST", Path: "/license/deactivate", Handle: a.deactivate},
		{Method: "POST", Path: "/license/activation", Handle: a.listActivationsByKey},

		{Method: "GET", Path: "/export/license", Scope: read, Handle: a.exportLicenses, Bulk: true},
		{Method: "POST", Path: "/import/license", Scope: write, Handle: a.importLicenses, Bulk: true},

		{Method: "GET", Path: "/event", Scope: auth.ScopeEventRead, Handle: a.listEvents},

		{Method: "POST", Path: "/webhook", Scope: hook, Handle: a.createWebhook},
		{Method: "GET", Path: "/webhook", Scope: hook, Handle: a.listWebhooks},
		{Method: "GET", Path: "/webhook/{webhookID}", Scope: hook, Handle: a.getWebhook},
		{Method: "PATCH", Path: "/webhook/{webhookID}", Scope: hook, Handle: a.updateWebhook},
		{Method: "DELETE", Path: "/webhook/{webhookID}", Scope: hook, Handle: a.deleteWebhook},
		{Method: "POST", Path: "/webhook/{webhookID}/rotate", Scope: hook, Handle: a.rotateWebhook},
		{Method: "POST", Path: "/webhook/{webhookID}/test", Scope: hook, Handle: a.testWebhook},
		{Method: "GET", Path: "/webhook/{webhookID}/delivery", Scope: hook, Handle: a.listDeliveries},
		{Method: "POST", Path: "/webhook/{webhookID}/delivery/{deliveryID}/resend", Scope: hook, Handle: a.resend},

		{Method: "GET", Path: "/openapi.json", Handle: describe},
		{Method: "GET", Path: "/health", Handle: a.health},
		{Method: "GET", Path: "/ready", Handle: a.ready},
	}
}

// serve makes a Handler of one that answers everything itself.
func serve(h http.HandlerFunc) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		h(w, r)
		return nil
	}
}

// rules returns the rules, acting for the client of r.
func (a api) rules(r *http.Request) *license.Service {
	grant, _ := auth.GrantFrom(r.Context())
	return a.Licenses.As(license.Caller{
		Actor:     "client:" + grant.ClientID,
		RequestID: web.RequestID(r.Context()),
		Products:  grant.Products,
	})
}
