package dashboard

import (
	"net/http"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/audit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/forms"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/kit"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/people"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/dashboard/settings"
)

// routes has all pages. It is set by init because the error pages refer to it.
var routes []kit.Route

func init() {
	const get, post = http.MethodGet, http.MethodPost
	routes = []kit.Route{
		{Method: get, Path: "", Query: "period", Handle: showOverview},
		{Method: post, Path: "dismiss-setup", Access: kit.Admins, Handle: people.DismissSetup},
		{Method: post, Path: "theme", Access: kit.Public, Handle: kit.ChooseTheme},

		{Path: "sign-in", Query: "return", Access: kit.Public, Form: forms.Builder(people.SignInForm), SignIn: true},
		{Method: post, Path: "sign-out", Access: kit.Public, Handle: people.SignOut, SignIn: true},
		{Path: "setup", Query: "return", Access: kit.Public, Form: forms.Builder(people.SetupForm), SignIn: true},
		{Path: "join", Access: kit.Public, Form: forms.Builder(people.JoinForm), SignIn: true},
		{Path: "password", Form: forms.Builder(people.AccountForm), SignIn: true, Account: true},
		{Path: "sign-in-code", Query: "return", Access: kit.Public, Form: forms.Builder(people.CodeForm), SignIn: true},
		{Path: "second-factor", Form: forms.Builder(people.SecondFactorForm), SignIn: true, Account: true},
		{Method: post, Path: "sessions", Handle: people.EndOwnSession, SignIn: true, Account: true},

		{Method: get, Path: "licenses", Query: "q key status product customer plan expires only sort cursor back window", Handle: showLicenses},
		{Method: get, Path: "licenses.csv", Query: "q key status product customer expires sort of id*", Handle: exportLicenses, Download: true},
		{Path: "licenses/new", Query: "product customer plan", Access: kit.Admins, Form: forms.Builder(newLicenseForm)},
		{Method: get, Path: "licenses/import", Access: kit.Admins, Handle: showImport},
		{Method: post, Path: "licenses/import", Access: kit.Admins, Handle: previewImport, Upload: true},
		{Method: post, Path: "licenses/import/refused", Access: kit.Admins, Handle: downloadRefused, Upload: true, Download: true},
		{Method: post, Path: "licenses/import/run", Access: kit.Admins, Handle: runImport, Upload: true, Download: true},
		{Method: get, Path: "licenses/{id}", Query: "at fingerprint product entitlement built", Handle: forms.Showing(readLicenseHead, showLicense)},
		{Path: "licenses/{id}/edit", Access: kit.Admins, Form: forms.About(readLicense, editLicenseForm)},
		{Path: "licenses/{id}/renew", Query: "extend term duration duration_unit expires_at expires_at_time from reason version opened", Access: kit.Supporters, Form: forms.About(readLicense, renewForm)},
		{Path: "licenses/{id}/file", Access: kit.Supporters, Form: forms.About(readLicense, issueFileForm)},
		{Path: "licenses/{id}/activations/release", Query: "id*", Access: kit.Supporters, Form: forms.About(readLicense, releaseForm)},
		{Path: "licenses/{id}/mail-link", Access: kit.Supporters, Form: forms.About(readLicense, mailLinkForm)},
		{Method: get, Path: "licenses/{id}/activations", Query: "ended unseen cursor", Handle: forms.Showing(readLicenseHead, showActivations)},
		{Method: get, Path: "licenses/{id}/refusals", Handle: forms.Showing(readLicenseHead, showRefusals)},
		{Path: "licenses/{id}/activations/{activation}/release", Access: kit.Supporters, Form: forms.About(readLicense, releaseForm)},
		{Path: "licenses/{id}/meters/{meter}/correct", Access: kit.Admins, Form: forms.About(readLicense, correctMeterForm)},

		{Method: get, Path: "plans", Query: "after count", Handle: showPlans},
		{Path: "plans/new", Query: "id", Access: kit.Admins, Form: forms.Builder(newPlanForm)},
		{Method: get, Path: "plan/{id}", Query: "count", Handle: forms.Showing(planAt, showPlan)},
		{Path: "plan/{id}/edit", Access: kit.Admins, Form: forms.About(planAt, editPlanForm)},
		{Path: "plan/{id}/rollout", Query: "after reason", Access: kit.Admins, Form: forms.About(planAt, rollOutPlanForm)},
		{Path: "plan/{id}/waiting", Query: "after", Access: kit.Admins, Form: forms.About(planAt, takeUpForm)},
		{Path: "plan/{id}/delete", Query: "count", Access: kit.Admins, Form: forms.About(planAt, deletePlanForm)},

		{Method: get, Path: "purchases", Query: "reference", Handle: showPurchases},
		{Method: get, Path: "purchase/{reference}", Handle: forms.Showing(readPurchase, showPurchase)},
		{Path: "purchase/{reference}/license", Access: kit.Admins, Form: forms.About(readPurchase, createForPurchaseForm)},
		{Path: "purchase/{reference}/reopen", Access: kit.Admins, Form: forms.About(readPurchase, reopenForm)},
		{Path: "purchase/{reference}/allow-trial", Access: kit.Supporters, Form: forms.About(readPurchase, allowTrialForm)},

		{Method: get, Path: "refusals", Query: "reason days open cursor", Handle: showRefusedLicenses},
		{Method: get, Path: "search", Query: "q activations", Handle: showSearch},
		{Method: get, Path: "customers", Query: "q after", Handle: customers.show},
		{Method: get, Path: "products", Query: "q after", Handle: Products.show},
		{Method: get, Path: "customer", Query: "id", Handle: forms.Showing(readCustomer, showCustomer)},
		{Path: "customer/suspend", Query: "id", Access: kit.Admins, Form: forms.About(readCustomer, suspendCustomerForm)},
		{Path: "customer/reinstate", Query: "id", Access: kit.Admins, Form: forms.About(readCustomer, reinstateCustomerForm)},
		{Method: get, Path: "customer/devices", Query: "id unseen cursor", Handle: forms.Showing(readCustomer, showDevices)},
		{Path: "customer/release", Query: "customer id*", Access: kit.Supporters, Form: forms.Builder(releaseDevicesForm)},
		{Path: "customer/mail-link", Query: "id", Access: kit.Supporters, Form: forms.About(readMailable, mailCustomerLinkForm)},
		{Path: "customer/email", Query: "id", Access: kit.Supporters, Form: forms.About(readCustomer, changeEmailForm)},
		{Path: "customer/id", Query: "id", Access: kit.Admins, Form: forms.About(readCustomer, customerIDForm)},
		{Method: get, Path: "customer.json", Query: "id", Access: kit.Admins, Handle: forms.Showing(readCustomer, exportCustomer), Download: true},
		{Path: "customer/erase", Query: "id", Access: kit.Admins, Form: forms.About(readCustomer, eraseForm)},
		{Method: get, Path: "sales.csv", Query: "period", Handle: exportSales, Download: true},
		{Method: get, Path: "audit", Query: "q type actor from to subject customer plan after", Handle: audit.ShowAudit},
		{Method: get, Path: "audit.csv", Query: "q type actor from to subject customer plan", Handle: audit.ExportAudit, Download: true},

		{Method: get, Path: "settings/operators", Query: "after", Handle: people.ShowOperators, SignIn: true},
		{Path: "settings/operators/new", Access: kit.Admins, Form: forms.Builder(people.InviteForm), SignIn: true},
		{Method: post, Path: "settings/operators/revoke", Access: kit.Admins, Handle: people.RevokeInvitation, SignIn: true},
		{Path: "settings/operators/{id}", Access: kit.Admins, Form: forms.Builder(people.OperatorForm), SignIn: true},

		{Method: get, Path: "settings", Handle: settings.ShowSettings},
		{Method: get, Path: "settings/credentials", Query: "after", Access: kit.Auditors, Handle: settings.ShowCredentials},
		{Path: "settings/credentials/new", Access: kit.Admins, Form: forms.Builder(settings.NewCredentialForm)},
		{Method: get, Path: "settings/credentials/{id}", Access: kit.Auditors, Handle: forms.Showing(settings.ReadCredential, settings.ShowCredential)},
		{Path: "settings/credentials/{id}/edit", Access: kit.Admins, Form: forms.About(settings.ReadCredential, settings.EditCredentialForm)},
		{Path: "settings/credentials/{id}/rotate", Access: kit.Admins, Form: forms.About(settings.ReadCredential, settings.RotateCredentialForm)},
		{Path: "settings/credentials/{id}/disable", Access: kit.Admins, Form: forms.About(settings.ReadCredential, settings.DisableCredentialForm)},
		{Path: "settings/credentials/{id}/delete", Access: kit.Admins, Form: forms.About(settings.ReadCredential, settings.DeleteCredentialForm)},
		{Method: post, Path: "settings/credentials/{id}/enable", Access: kit.Admins, Handle: settings.EnableCredential},
		{Path: "settings/credentials/{id}/secrets/{secret}/revoke", Access: kit.Admins, Form: forms.About(settings.ReadCredential, settings.RevokeSecretForm)},

		{Method: get, Path: "settings/keys", Access: kit.Admins, Handle: settings.ShowSigningKeys},
		{Method: get, Path: "settings/keys.json", Access: kit.Admins, Handle: settings.DownloadSigningKeys},
		{Path: "settings/keys/rotate", Access: kit.Admins, Form: forms.Builder(settings.RotateKeyForm)},
		{Path: "settings/keys/{id}/compromise", Access: kit.Admins, Form: forms.About(settings.SigningKey, settings.CompromiseKeyForm)},

		{Method: get, Path: "settings/about", Handle: settings.ShowAbout},
		{Method: get, Path: "settings/webhooks", Query: "after", Handle: settings.ShowWebhooks},
		{Path: "settings/webhooks/new", Access: kit.Admins, Form: forms.Builder(settings.NewWebhookForm)},
		{Method: get, Path: "settings/webhooks/{id}", Query: "status cursor", Handle: forms.Showing(settings.ReadWebhook, settings.ShowWebhook)},
		{Path: "settings/webhooks/{id}/edit", Access: kit.Admins, Form: forms.About(settings.ReadWebhook, settings.EditWebhookForm)},
		{Path: "settings/webhooks/{id}/rotate", Access: kit.Admins, Form: forms.About(settings.ReadWebhook, settings.RotateWebhookForm)},
		{Path: "settings/webhooks/{id}/delete", Access: kit.Admins, Form: forms.About(settings.ReadWebhook, settings.DeleteWebhookForm)},
		{Method: post, Path: "settings/webhooks/{id}/pause", Access: kit.Admins, Handle: settings.PauseWebhook},
		{Method: post, Path: "settings/webhooks/{id}/resume", Access: kit.Admins, Handle: settings.ResumeWebhook},
		{Method: post, Path: "settings/webhooks/{id}/test", Access: kit.Admins, Handle: settings.TestWebhook},
		{Method: get, Path: "settings/webhooks/{id}/deliveries/{delivery}", Handle: forms.Showing(settings.ReadWebhook, settings.ShowDelivery)},
		{Method: post, Path: "settings/webhooks/{id}/deliveries/{delivery}/resend", Access: kit.Admins, Handle: settings.Resend},
	}
	for _, m := range stateChanges {
		routes = append(routes, kit.Route{Path: "licenses/{id}/" + m.Name, Access: m.access, Form: forms.About(readLicense, m.form)})
	}
	for _, m := range bulkChanges {
		routes = append(routes, kit.Route{Path: "licenses/selected/" + m.Name, Query: "id* all q key status product customer plan expires only sort", Access: m.access, Form: forms.Builder(m.bulkForm), Download: true})
	}
	for i, r := range routes {
		if r.Form == nil {
			continue
		}
		show, submit := r, r
		show.Method, show.Handle, show.Download = get, r.Form.Show, false
		submit.Method, submit.Handle = post, r.Form.Submit
		routes[i] = show
		routes = append(routes, submit)
	}
}
