package dashboard

import "net/http"

// A route is one page or one form action.
type route struct {
	method   string
	path     string // below dashboard/; a segment in braces is a parameter
	query    string // the parameters of the query, in addition to list and done; one with a star may be repeated
	access   access
	handle   func(*visit) error
	signIn   bool // part of the built-in sign-in
	download bool // may take longer than other pages
	upload   bool // the form is multipart/form-data and may be larger
}

// routes has all pages. It is set by init because the error pages refer to it.
var routes []route

func init() {
	const get, post = http.MethodGet, http.MethodPost
	routes = []route{
		{method: get, path: "", query: "days", handle: showOverview},
		{method: post, path: "theme", access: public, handle: chooseTheme},

		{method: get, path: "sign-in", query: "return", access: public, handle: showSignIn, signIn: true},
		{method: post, path: "sign-in", access: public, handle: signIn, signIn: true},
		{method: post, path: "sign-out", access: public, handle: signOut, signIn: true},
		{method: get, path: "setup", access: public, handle: showSetup, signIn: true},
		{method: post, path: "setup", access: public, handle: setUp, signIn: true},
		{method: get, path: "join", access: public, handle: showJoin, signIn: true},
		{method: post, path: "join", access: public, handle: join, signIn: true},
		{method: get, path: "password", handle: showPassword, signIn: true},
		{method: post, path: "password", handle: changePassword, signIn: true},
		{method: get, path: "sign-in-code", query: "return", access: public, handle: showSignInCode, signIn: true},
		{method: post, path: "sign-in-code", access: public, handle: signInWithCode, signIn: true},
		{method: get, path: "second-factor", handle: showSecondFactor, signIn: true},
		{method: post, path: "second-factor", handle: changeSecondFactor, signIn: true},
		{method: post, path: "sessions", handle: endOwnSession, signIn: true},

		{method: get, path: "licenses", query: "q key status product customer expires sort cursor back window", handle: showLicenses},
		{method: get, path: "licenses.csv", query: "q key status product customer expires sort of id* all", handle: exportLicenses, download: true},
		{method: get, path: "licenses/new", query: "from product customer", access: admins, handle: showNewLicense},
		{method: post, path: "licenses/new", access: admins, handle: createLicense},
		{method: get, path: "licenses/import", access: admins, handle: showImport},
		{method: post, path: "licenses/import", access: admins, handle: previewImport, upload: true},
		{method: post, path: "licenses/import/run", access: admins, handle: runImport, upload: true, download: true},
		{method: get, path: "licenses/selected/{move}", query: "id* all cursor window", access: byMove, handle: showSelected},
		{method: post, path: "licenses/selected/{move}", access: byMove, handle: moveSelected, download: true},
		{method: get, path: "licenses/{id}", query: "at fingerprint product entitlement", handle: showLicense},
		{method: get, path: "licenses/{id}/edit", access: admins, handle: showEditLicense},
		{method: post, path: "licenses/{id}/edit", access: admins, handle: updateLicense},
		{method: get, path: "licenses/{id}/delete", access: admins, handle: showDeleteLicense},
		{method: post, path: "licenses/{id}/delete", access: admins, handle: deleteLicense},
		{method: get, path: "licenses/{id}/renew", access: supporters, handle: showRenew},
		{method: post, path: "licenses/{id}/renew", access: supporters, handle: renew},
		{method: get, path: "licenses/{id}/file", access: admins, handle: showIssueFile},
		{method: post, path: "licenses/{id}/file", access: admins, handle: issueFile},
		{method: get, path: "licenses/{id}/activations", query: "ended cursor", handle: showActivations},
		{method: get, path: "licenses/{id}/refusals", handle: showRefusals},
		{method: get, path: "licenses/{id}/activity", query: "after", handle: showActivity},
		{method: get, path: "licenses/{id}/api", handle: showLicenseAPI},
		{method: get, path: "licenses/{id}/activations/{activation}/release", access: supporters, handle: showRelease},
		{method: post, path: "licenses/{id}/activations/{activation}/release", access: supporters, handle: release},
		{method: get, path: "licenses/{id}/{move}", access: byMove, handle: showMove},
		{method: post, path: "licenses/{id}/{move}", access: byMove, handle: makeMove},

		{method: get, path: "search", query: "q activations", handle: showSearch},
		{method: get, path: "customers", query: "q after", handle: customers.show},
		{method: get, path: "products", query: "q after", handle: products.show},
		{method: get, path: "customer", query: "id", handle: customers.showOne},
		{method: get, path: "product", query: "id", handle: products.showOne},
		{method: get, path: "customer/erase", query: "id", access: admins, handle: showErase},
		{method: post, path: "customer/erase", query: "id", access: admins, handle: erase},
		{method: get, path: "audit", query: "q type actor from to subject customer after", handle: showAudit},
		{method: get, path: "audit.csv", query: "q type actor from to subject customer", handle: exportAudit, download: true},

		{method: get, path: "settings/operators", query: "after", handle: showOperators, signIn: true},
		{method: get, path: "settings/operators/new", access: admins, handle: showInvite, signIn: true},
		{method: post, path: "settings/operators/new", access: admins, handle: invite, signIn: true},
		{method: post, path: "settings/operators/revoke", access: admins, handle: revokeInvitation, signIn: true},
		{method: get, path: "settings/operators/{id}", access: admins, handle: showOperator, signIn: true},
		{method: post, path: "settings/operators/{id}", access: admins, handle: changeOperator, signIn: true},
		{method: get, path: "reference", query: "q", handle: showReference},
		{method: get, path: "reference/{name}", handle: showReferencePart},

		{method: get, path: "settings", handle: showSettings},
		{method: get, path: "settings/credentials", query: "after", access: auditors, handle: showCredentials},
		{method: get, path: "settings/credentials/new", access: admins, handle: showNewCredential},
		{method: post, path: "settings/credentials/new", access: admins, handle: createCredential},
		{method: get, path: "settings/credentials/{id}", access: auditors, handle: showCredential},
		{method: get, path: "settings/credentials/{id}/edit", access: admins, handle: showEditCredential},
		{method: post, path: "settings/credentials/{id}/edit", access: admins, handle: updateCredential},
		{method: get, path: "settings/credentials/{id}/rotate", access: admins, handle: showRotate},
		{method: post, path: "settings/credentials/{id}/rotate", access: admins, handle: rotate},
		{method: get, path: "settings/credentials/{id}/disable", access: admins, handle: showDisableCredential},
		{method: post, path: "settings/credentials/{id}/disable", access: admins, handle: disableCredential},
		{method: get, path: "settings/credentials/{id}/delete", access: admins, handle: showDeleteCredential},
		{method: post, path: "settings/credentials/{id}/delete", access: admins, handle: deleteCredential},
		{method: post, path: "settings/credentials/{id}/enable", access: admins, handle: enableCredential},
		{method: get, path: "settings/credentials/{id}/secrets/{secret}/revoke", access: admins, handle: showRevokeSecret},
		{method: post, path: "settings/credentials/{id}/secrets/{secret}/revoke", access: admins, handle: revokeSecret},

		{method: get, path: "settings/keys", access: admins, handle: showSigningKeys},
		{method: get, path: "settings/keys.json", access: admins, handle: downloadSigningKeys},
		{method: get, path: "settings/keys/rotate", access: admins, handle: showRotateKey},
		{method: post, path: "settings/keys/rotate", access: admins, handle: rotateKey},
		{method: get, path: "settings/keys/{id}/compromise", access: admins, handle: showCompromiseKey},
		{method: post, path: "settings/keys/{id}/compromise", access: admins, handle: compromiseKey},

		{method: get, path: "settings/about", handle: showAbout},
		{method: get, path: "settings/webhooks", query: "after", handle: showWebhooks},
		{method: get, path: "settings/webhooks/new", access: admins, handle: showNewWebhook},
		{method: post, path: "settings/webhooks/new", access: admins, handle: createWebhook},
		{method: get, path: "settings/webhooks/{id}", query: "status cursor", handle: showWebhook},
		{method: get, path: "settings/webhooks/{id}/edit", access: admins, handle: showEditWebhook},
		{method: post, path: "settings/webhooks/{id}/edit", access: admins, handle: updateWebhook},
		{method: get, path: "settings/webhooks/{id}/rotate", access: admins, handle: showRotateWebhook},
		{method: post, path: "settings/webhooks/{id}/rotate", access: admins, handle: rotateWebhook},
		{method: get, path: "settings/webhooks/{id}/delete", access: admins, handle: showDeleteWebhook},
		{method: post, path: "settings/webhooks/{id}/delete", access: admins, handle: deleteWebhook},
		{method: post, path: "settings/webhooks/{id}/pause", access: admins, handle: pauseWebhook},
		{method: post, path: "settings/webhooks/{id}/resume", access: admins, handle: resumeWebhook},
		{method: post, path: "settings/webhooks/{id}/test", access: admins, handle: testWebhook},
		{method: get, path: "settings/webhooks/{id}/deliveries/{delivery}", handle: showDelivery},
		{method: post, path: "settings/webhooks/{id}/deliveries/{delivery}/resend", access: admins, handle: resend},
	}
}
