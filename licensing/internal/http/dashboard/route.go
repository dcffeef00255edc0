package dashboard

import "net/http"

// A route is one page or one form action.
type route struct {
	method   string
	path     string // below dashboard/; a segment in braces is a parameter
	query    string // the parameters of the query, in addition to done; one with a star may be repeated
	access   access
	handle   func(*visit) error
	form     func(*visit) (*formPage, error) // instead of method and handle: a page with a form, for GET and POST
	signIn   bool                            // part of the built-in sign-in
	account  bool                            // for an operator without a second factor, too
	download bool                            // may take longer than other pages
	upload   bool                            // the form is multipart/form-data and may be larger
}

// routes has all pages. It is set by init because the error pages refer to it.
var routes []route

func init() {
	const get, post = http.MethodGet, http.MethodPost
	routes = []route{
		{method: get, path: "", query: "period", handle: showOverview},
		{method: post, path: "dismiss-setup", access: admins, handle: dismissSetup},
		{method: post, path: "theme", access: public, handle: chooseTheme},

		{path: "sign-in", query: "return", access: public, form: signInForm, signIn: true},
		{method: post, path: "sign-out", access: public, handle: signOut, signIn: true},
		{path: "setup", query: "return", access: public, form: setupForm, signIn: true},
		{path: "join", access: public, form: joinForm, signIn: true},
		{path: "password", form: accountForm, signIn: true, account: true},
		{path: "sign-in-code", query: "return", access: public, form: codeForm, signIn: true},
		{path: "second-factor", form: secondFactorForm, signIn: true, account: true},
		{method: post, path: "sessions", handle: endOwnSession, signIn: true, account: true},

		{method: get, path: "licenses", query: "q key status product customer plan expires only sort cursor back window", handle: showLicenses},
		{method: get, path: "licenses.csv", query: "q key status product customer expires sort of id*", handle: exportLicenses, download: true},
		{path: "licenses/new", query: "product customer plan", access: admins, form: newLicenseForm},
		{method: get, path: "licenses/import", access: admins, handle: showImport},
		{method: post, path: "licenses/import", access: admins, handle: previewImport, upload: true},
		{method: post, path: "licenses/import/refused", access: admins, handle: downloadRefused, upload: true, download: true},
		{method: post, path: "licenses/import/run", access: admins, handle: runImport, upload: true, download: true},
		{method: get, path: "licenses/{id}", query: "at fingerprint product entitlement built", handle: showing((*visit).licenseHead, showLicense)},
		{path: "licenses/{id}/edit", access: admins, form: about((*visit).license, editLicenseForm)},
		{path: "licenses/{id}/renew", query: "extend term duration duration_unit expires_at from reason version opened", access: supporters, form: about((*visit).license, renewForm)},
		{path: "licenses/{id}/file", access: supporters, form: about((*visit).license, issueFileForm)},
		{path: "licenses/{id}/activations/release", query: "id*", access: supporters, form: about((*visit).license, releaseForm)},
		{method: get, path: "licenses/{id}/activations", query: "ended unseen cursor", handle: showing((*visit).licenseHead, showActivations)},
		{method: get, path: "licenses/{id}/refusals", handle: showing((*visit).licenseHead, showRefusals)},
		{method: get, path: "licenses/{id}/activity", query: "after", handle: showing((*visit).licenseHead, showActivity)},
		{path: "licenses/{id}/activations/{activation}/release", access: supporters, form: about((*visit).license, releaseForm)},
		{path: "licenses/{id}/meters/{meter}/correct", access: admins, form: about((*visit).license, correctMeterForm)},

		{method: get, path: "plans", query: "after count", handle: showPlans},
		{path: "plans/new", query: "id", access: admins, form: newPlanForm},
		{method: get, path: "plan/{id}", query: "count", handle: showing((*visit).plan, showPlan)},
		{path: "plan/{id}/edit", access: admins, form: about((*visit).plan, editPlanForm)},
		{path: "plan/{id}/rollout", query: "after reason", access: admins, form: about((*visit).plan, rollOutPlanForm)},
		{path: "plan/{id}/fulfill", query: "after", access: admins, form: about((*visit).plan, fulfillPlanForm)},
		{path: "plan/{id}/delete", query: "count", access: admins, form: about((*visit).plan, deletePlanForm)},

		{method: get, path: "purchases", query: "reference", handle: showPurchases},
		{method: get, path: "purchase/{reference}", handle: showing((*visit).purchase, showPurchase)},
		{path: "purchase/{reference}/fulfill", access: admins, form: about((*visit).purchase, fulfillForm)},
		{path: "purchase/{reference}/reopen", access: admins, form: about((*visit).purchase, reopenForm)},
		{path: "purchase/{reference}/allow-trial", access: admins, form: about((*visit).purchase, allowTrialForm)},

		{method: get, path: "refusals", query: "reason days open cursor", handle: showRefusedLicenses},
		{method: get, path: "search", query: "q activations", handle: showSearch},
		{method: get, path: "customers", query: "q after", handle: customers.show},
		{method: get, path: "products", query: "q after", handle: products.show},
		{method: get, path: "customer", query: "id", handle: showing((*visit).customer, showCustomer)},
		{path: "customer/suspend", query: "id", access: admins, form: about((*visit).customer, suspendCustomerForm)},
		{path: "customer/reinstate", query: "id", access: admins, form: about((*visit).customer, reinstateCustomerForm)},
		{method: get, path: "customer/devices", query: "id unseen cursor", handle: showing((*visit).customer, showDevices)},
		{path: "customer/release", query: "customer id*", access: supporters, form: releaseDevicesForm},
		{path: "customer/id", query: "id", access: admins, form: about((*visit).customer, customerIDForm)},
		{method: get, path: "customer.json", query: "id", access: admins, handle: showing((*visit).customer, exportCustomer), download: true},
		{path: "customer/erase", query: "id", access: admins, form: about((*visit).customer, eraseForm)},
		{method: get, path: "sales", query: "period", handle: showSales},
		{method: get, path: "sales.csv", query: "period", handle: exportSales, download: true},
		{method: get, path: "audit", query: "q type actor from to subject customer plan after", handle: showAudit},
		{method: get, path: "audit.csv", query: "q type actor from to subject customer plan", handle: exportAudit, download: true},

		{method: get, path: "settings/operators", query: "after", handle: showOperators, signIn: true},
		{path: "settings/operators/new", access: admins, form: inviteForm, signIn: true},
		{method: post, path: "settings/operators/revoke", access: admins, handle: revokeInvitation, signIn: true},
		{path: "settings/operators/{id}", access: admins, form: operatorForm, signIn: true},

		{method: get, path: "settings", handle: showSettings},
		{method: get, path: "settings/credentials", query: "after", access: auditors, handle: showCredentials},
		{path: "settings/credentials/new", access: admins, form: newCredentialForm},
		{method: get, path: "settings/credentials/{id}", access: auditors, handle: showing((*visit).credential, showCredential)},
		{path: "settings/credentials/{id}/edit", access: admins, form: about((*visit).credential, editCredentialForm)},
		{path: "settings/credentials/{id}/rotate", access: admins, form: about((*visit).credential, rotateCredentialForm)},
		{path: "settings/credentials/{id}/disable", access: admins, form: about((*visit).credential, disableCredentialForm)},
		{path: "settings/credentials/{id}/delete", access: admins, form: about((*visit).credential, deleteCredentialForm)},
		{method: post, path: "settings/credentials/{id}/enable", access: admins, handle: enableCredential},
		{path: "settings/credentials/{id}/secrets/{secret}/revoke", access: admins, form: about((*visit).credential, revokeSecretForm)},

		{method: get, path: "settings/keys", access: admins, handle: showSigningKeys},
		{method: get, path: "settings/keys.json", access: admins, handle: downloadSigningKeys},
		{path: "settings/keys/rotate", access: admins, form: rotateKeyForm},
		{path: "settings/keys/{id}/compromise", access: admins, form: about((*visit).signingKey, compromiseKeyForm)},

		{method: get, path: "settings/about", handle: showAbout},
		{method: get, path: "settings/webhooks", query: "after", handle: showWebhooks},
		{path: "settings/webhooks/new", access: admins, form: newWebhookForm},
		{method: get, path: "settings/webhooks/{id}", query: "status cursor", handle: showing((*visit).webhook, showWebhook)},
		{path: "settings/webhooks/{id}/edit", access: admins, form: about((*visit).webhook, editWebhookForm)},
		{path: "settings/webhooks/{id}/rotate", access: admins, form: about((*visit).webhook, rotateWebhookForm)},
		{path: "settings/webhooks/{id}/delete", access: admins, form: about((*visit).webhook, deleteWebhookForm)},
		{method: post, path: "settings/webhooks/{id}/pause", access: admins, handle: pauseWebhook},
		{method: post, path: "settings/webhooks/{id}/resume", access: admins, handle: resumeWebhook},
		{method: post, path: "settings/webhooks/{id}/test", access: admins, handle: testWebhook},
		{method: get, path: "settings/webhooks/{id}/deliveries/{delivery}", handle: showing((*visit).webhook, showDelivery)},
		{method: post, path: "settings/webhooks/{id}/deliveries/{delivery}/resend", access: admins, handle: resend},
	}
	for _, m := range moves {
		routes = append(routes, route{path: "licenses/{id}/" + m.Name, access: m.access, form: about((*visit).license, m.form)})
	}
	for _, m := range bulkMoves {
		routes = append(routes, route{path: "licenses/selected/" + m.Name, query: "id* all q key status product customer plan expires only sort", access: m.access, form: m.bulkForm, download: true})
	}
	for i, r := range routes {
		if r.form == nil {
			continue
		}
		show, submit := r, r
		show.method, show.handle, show.download = get, func(v *visit) error { return v.showForm(r.form) }, false
		submit.method, submit.handle = post, func(v *visit) error { return v.submitForm(r.form) }
		routes[i] = show
		routes = append(routes, submit)
	}
}
