package endpoints

import (
	"context"
	"net/http"
	"sync"

	"github.com/seed-d8a106b4/licensekit/licensing/metering"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/webhook"
)

// Config holds what the API is built on.
type Config struct {
	Auth     *auth.Auth
	Webhooks *webhook.Service
	Metadata http.Handler                          // authorization server metadata (RFC 8414)
	KeySet   func(context.Context) ([]byte, error) // the keys of license files, as a JWKS
	// Revocations returns the signed revocation list of a product, or of one of its
	// licenses.
	Revocations func(ctx context.Context, productID, licenseID string) (string, error)
	Ready       func(context.Context) error // whether the store responds
	Health      func(context.Context) (any, error)
	MaxImport   int64  // in bytes
	PortalURL   string // without a final slash; empty: there are no links
	PublicURL   string // without a final slash; empty: the description has relative addresses

	description func() web.Document // made once, for the first who asks
}

// Routes returns the endpoints of the API. A row defines everything about HTTP;
// the functions only call the rules.
func Routes(c Config) []web.Route {
	const (
		read  = auth.ScopeLicenseRead
		write = auth.ScopeLicenseWrite
		hook  = auth.ScopeWebhookWrite
		whole = auth.ScopeCustomerWrite // all that is known of a customer

		created  = http.StatusCreated
		accepted = http.StatusAccepted
	)
	type rules = license.Service
	hooks := c.Webhooks
	c.description = sync.OnceValue(func() web.Document { return description(c.PublicURL) })
	return []web.Route{
		{Method: "GET", Path: "/oauth/token", Handle: serve(c.Auth.ServeToken), OAuth: true}, // POST too
		{Method: "POST", Path: "/oauth/revoke", Handle: serve(c.Auth.ServeRevoke), OAuth: true},
		{Method: "POST", Path: "/oauth/introspect", Handle: serve(c.Auth.ServeIntrospect), OAuth: true},
		{Method: "GET", Path: "/.well-known/oauth-authorization-server", Handle: serve(c.Metadata.ServeHTTP)},

		// With an Idempotency-Key, Options.BeforeCreate runs before the Update: it may take
		// long, and an Update holds the write lock. So a creation comes in parts.
		//
		// GET /license/{licenseID} returns one license, or all licenses of a
		// customer. License IDs begin with "lic_"; customer IDs never do.
		{Method: "POST", Path: "/license", Scope: write, Do: web.DoInParts((*rules).Create, createInParts), Status: created, Created: newLicense},
		{Method: "GET", Path: "/license", Scope: read, Do: web.As[api.License](web.List(listLicenses))},
		{Method: "PATCH", Path: "/license", Scope: write, Do: web.Do(updateByQuery, checkUpdateByQuery)},
		{Method: "GET", Path: "/license/{licenseID}", Prefix: "lic_", Scope: read, Do: web.As[api.License](web.Do(getLicense))},
		{Method: "GET", Path: "/license/{licenseID}", Scope: read, Do: web.As[api.License](web.List(listOfCustomer))},
		{Method: "PATCH", Path: "/license/{licenseID}", Scope: write, Do: web.Do(updateLicense, checkUpdate)},
		{Method: "DELETE", Path: "/license/{licenseID}", Scope: write, Do: web.Do(deleteLicense)},

		{Method: "POST", Path: "/license/batch", Scope: write, Do: web.DoInParts((*rules).CreateBatch, createBatchInParts), Status: created},
		{Method: "POST", Path: "/license/claim", Scope: write, Do: web.Do((*rules).Claim)},

		{Method: "POST", Path: "/license/{licenseID}/suspend", Scope: write, Do: web.Do((*rules).Suspend), OptionalBody: true},
		{Method: "POST", Path: "/license/{licenseID}/reinstate", Scope: write, Do: web.Do((*rules).Reinstate), OptionalBody: true},
		{Method: "POST", Path: "/license/{licenseID}/revoke", Scope: write, Do: web.Do((*rules).Revoke), OptionalBody: true},
		{Method: "POST", Path: "/license/{licenseID}/renew", Scope: write, Do: web.Do((*rules).Renew), OptionalBody: true},
		{Method: "POST", Path: "/license/{licenseID}/transfer", Scope: write, Do: web.DoInParts((*rules).Transfer, transferInParts)},
		{Method: "POST", Path: "/license/{licenseID}/rekey", Scope: write, Do: web.Do((*rules).Rekey), OptionalBody: true},

		{Method: "POST", Path: "/customer/{customerID}/suspend", Scope: write, Do: web.DoInParts((*rules).SuspendCustomer, changeCustomerStateInParts(true)), OptionalBody: true},
		{Method: "POST", Path: "/customer/{customerID}/reinstate", Scope: write, Do: web.DoInParts((*rules).ReinstateCustomer, changeCustomerStateInParts(false)), OptionalBody: true},
		{Method: "GET", Path: "/customer/{customerID}/export", Scope: whole, Do: web.Stream(exportCustomer), Bulk: true, Media: web.JSON},
		{Method: "POST", Path: "/customer/{customerID}/rename", Scope: whole, Do: web.Do(renameCustomer), Bulk: true, Steps: true},
		{Method: "DELETE", Path: "/customer/{customerID}", Scope: whole, Do: web.Do(eraseCustomer), Bulk: true, Steps: true},

		{Method: "GET", Path: "/license/{licenseID}/verdict", Scope: read, Do: web.Do((*rules).Explain)},
		{Method: "GET", Path: "/license/{licenseID}/refusal", Scope: read, Do: web.List((*rules).Refusals)},
		{Method: "GET", Path: "/license/{licenseID}/activation", Scope: read, Do: web.List((*rules).ListActivations)},
		{Method: "DELETE", Path: "/license/{licenseID}/activation/{activationID}", Scope: write, Do: web.Do((*rules).ReleaseActivation)},

		{Method: "POST", Path: "/license/{licenseID}/file", Scope: write, Do: web.Do((*rules).IssueFile), OptionalBody: true},
		{Method: "POST", Path: "/license/{licenseID}/file/void", Scope: write, Do: web.Do(voidFiles), OptionalBody: true},

		{Method: "POST", Path: "/license/{licenseID}/plan", Scope: write, Do: web.Do(sell((*selling.Service).ApplyPlan))},
		{Method: "POST", Path: "/license/trial", Scope: write, Do: web.DoInParts(sell((*selling.Service).StartTrial), startTrialInParts), Created: newTrial},

		{Method: "GET", Path: "/plan", Scope: read, Do: web.List(sell((*selling.Service).ListPlans))},
		{Method: "GET", Path: "/plan/{planID}", Scope: read, Do: web.Do(byID[byPlan](sell((*selling.Service).GetPlan)))},
		{Method: "PUT", Path: "/plan/{planID}", Scope: write, Do: web.Do(putPlan), Created: newPlan},
		{Method: "DELETE", Path: "/plan/{planID}", Scope: write, Do: web.Do(deletePlan)},
		{Method: "GET", Path: "/plan/{planID}/use", Scope: read, Do: web.Do(byID[byPlan](sell((*selling.Service).GetPlanUse)))},
		{Method: "POST", Path: "/plan/{planID}/rollout", Scope: write, Do: web.Do(sell((*selling.Service).RollOutPlan)), OptionalBody: true},
		{Method: "POST", Path: "/plan/{planID}/waiting", Scope: write, Do: web.Do(sell((*selling.Service).TakeUpWaiting)), OptionalBody: true, Bulk: true, Steps: true},
		{Method: "GET", Path: "/purchase", Scope: read, Do: web.List(sell((*selling.Service).ListPurchases))},
		{Method: "GET", Path: "/purchase/{reference}", Scope: read, Do: web.Do(byID[byReference](sell((*selling.Service).GetPurchase)))},
		{Method: "PUT", Path: "/purchase/{reference}", Scope: write, Do: web.Do(sell((*selling.Service).RecordPurchase)), Created: purchaseCreated},
		{Method: "POST", Path: "/purchase/{reference}/reopen", Scope: write, Do: web.DoInParts(sell((*selling.Service).ReopenPurchase), reopenInParts), OptionalBody: true},
		{Method: "POST", Path: "/license/{licenseID}/trial", Scope: write, Do: web.Do(allowTrial), OptionalBody: true},

		{Method: "GET", Path: "/sales", Scope: auth.ScopeSalesRead, Do: web.Do(byPeriod), Judged: "period"},

		{Method: "GET", Path: "/license/{licenseID}/usage", Scope: read, Do: web.List(meter((*metering.Service).ListUsage))},
		{Method: "PUT", Path: "/license/{licenseID}/meter/{meter}", Scope: write, Do: web.Do(meter((*metering.Service).CorrectUsage))},
		{Method: "POST", Path: "/usage", Scope: write, Do: web.Do(meter((*metering.Service).RecordUsage)), Body: 1 << 20},

		// The license key is the credential; no token is needed.
		{Method: "POST", Path: "/license/validate", Do: web.Do((*rules).Validate)},
		{Method: "POST", Path: "/license/activate", Do: web.Do((*rules).Activate)},
		{Method: "POST", Path: "/license/deactivate", Do: web.Do((*rules).Deactivate)},
		{Method: "POST", Path: "/license/usage", Do: web.Do(meter((*metering.Service).CountUsage))},
		{Method: "POST", Path: "/license/file", Do: web.Do(issueFileByKey, checkFileByKey)},
		{Method: "POST", Path: "/license/activation", Do: web.List((*rules).ListActivations)},

		// A program without a key gets one when a customer approves.
		{Method: "POST", Path: "/license/link", Do: web.Do(c.startLink), Status: created},
		{Method: "POST", Path: "/license/link/poll", Do: web.Do(pollLink()), Pending: linkPending},

		// These paths are not below /license because GET /license/export
		// would list the licenses of a customer with that ID.
		{Method: "GET", Path: "/export/license", Scope: read, Do: web.Stream(exportLicenses), Bulk: true},
		{Method: "GET", Path: "/export/license.csv", Scope: read, Do: web.Stream(exportCSV), Bulk: true, Media: web.CSV},
		{Method: "POST", Path: "/import/license", Scope: write, Do: web.Stream(importLicenses), Bulk: true, Rows: c.MaxImport, Slots: make(chan struct{}, 4)},

		{Method: "GET", Path: "/event", Scope: auth.ScopeEventRead, Do: web.List((*rules).Events), Judged: "before"},

		{Method: "POST", Path: "/webhook", Scope: hook, Do: web.Do(on(hooks, createWebhook), faults[api.CreateWebhookParams](hooks)), Status: created, Created: newWebhook, OptionalBody: true, Secret: true},
		{Method: "GET", Path: "/webhook", Scope: hook, Do: web.List(on(hooks, (*webhook.Service).List))},
		{Method: "GET", Path: "/webhook/{webhookID}", Scope: hook, Do: web.Do(on(hooks, byID[byWebhook]((*webhook.Service).Get)))},
		{Method: "PATCH", Path: "/webhook/{webhookID}", Scope: hook, Do: web.Do(on(hooks, (*webhook.Service).Update), faults[api.UpdateWebhookParams](hooks))},
		{Method: "DELETE", Path: "/webhook/{webhookID}", Scope: hook, Do: web.Do(on(hooks, deleteWebhook))},
		{Method: "POST", Path: "/webhook/{webhookID}/rotate", Scope: hook, Do: web.Do(on(hooks, rotateWebhook)), OptionalBody: true, Secret: true},
		{Method: "POST", Path: "/webhook/{webhookID}/test", Scope: hook, Do: web.Do(on(hooks, byID[byWebhook]((*webhook.Service).Test))), Status: accepted},
		{Method: "GET", Path: "/webhook/{webhookID}/delivery", Scope: hook, Do: web.List(on(hooks, (*webhook.Service).Deliveries))},
		{Method: "POST", Path: "/webhook/{webhookID}/delivery/{deliveryID}/resend", Scope: hook, Do: web.Do(on(hooks, resend)), Status: accepted},

		{Method: "GET", Path: "/file/keys", Do: web.Do(c.fileKeys)},
		{Method: "GET", Path: "/file/revocations", Do: web.Do(c.revocations)},

		{Method: "GET", Path: "/openapi.json", Do: web.Do(c.describe)},
		{Method: "GET", Path: "/health", Do: web.Do(healthy), Probe: true, Unlimited: true},
		{Method: "GET", Path: "/ready", Do: web.Do(c.ready), Probe: true, Scope: auth.ScopeEventRead, ScopeFor: "verbose"},
	}
}

// serve adapts a handler that sends its own errors.
func serve(h http.HandlerFunc) web.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		h(w, r)
		return nil
	}
}

// The parameters of calls that only need an ID.
type (
	byLicense struct {
		ID string `path:"licenseID"`
	}
	byCustomer struct {
		ID string `path:"customerID"`
	}
	byPlan struct {
		ID string `path:"planID"`
	}
	byReference struct {
		ID string `path:"reference"`
	}
	byWebhook struct {
		ID string `path:"webhookID"`
	}
)

// byID adapts a function that takes only an ID.
func byID[P byLicense | byPlan | byReference | byWebhook, S, R any](fn func(*S, context.Context, string) (R, error)) func(*S, context.Context, P) (R, error) {
	return func(s *S, ctx context.Context, p P) (R, error) { return fn(s, ctx, byLicense(p).ID) }
}

// deleted is the response to a deletion.
type deleted struct {
	Object  string `json:"object"`
	ID      string `json:"id"`
	Deleted bool   `json:"deleted"`
}
