package dashboard

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// seedActivations creates active and released activations, including long names.
func (h *host) seedActivations(t *testing.T, licenseID string) (activationID string) {
	t.Helper()
	is := is.New(t)
	ctx := t.Context()
	l, err := h.Service().Get(ctx, licenseID)
	is.NoErr(err)
	for i, name := range []string{"Reception", "", "The workstation in the basement of the north tower, behind the boiler", "Ines’ laptop"} {
		v, err := h.Service().Activate(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: fmt.Sprintf("sha256:%064x", 7919*(i+1)), Name: name})
		is.NoErr(err)
		activationID = v.Activation.ID
	}
	_, err = h.Service().ReleaseActivation(ctx, api.ReleaseActivationParams{LicenseID: l.ID, ActivationID: activationID, Reason: "Sold"})
	is.NoErr(err)
	v, err := h.Service().Activate(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: "build-server", Name: "Build server"})
	is.NoErr(err)
	return v.Activation.ID
}

// seedWebhooks creates webhooks and sends a test event to one.
func (h *host) seedWebhooks(t *testing.T) (id string) {
	t.Helper()
	is := is.New(t)
	ctx := t.Context()
	for _, p := range []api.CreateWebhookParams{
		{URL: "https://shop.example/hooks/licenses", Description: "The web shop", Types: []string{"license.*", "activation.evicted"}},
		{URL: "https://the.royal.observatory.of.the.northern.isles.example/procurement/licensing/receive/all/of/them?and=then&some=more", Products: []string{"atlas"}},
	} {
		w, _, err := h.Webhooks().Create(ctx, p)
		is.NoErr(err)
		if id == "" {
			id = w.ID
		}
	}
	_, err := h.Webhooks().Test(ctx, id)
	is.NoErr(err)
	_, _, err = h.Webhooks().RotateSecret(ctx, api.RotateWebhookParams{ID: id})
	is.NoErr(err)
	return id
}

// TestEveryPageWithData checks the pages about activations, webhooks, customers,
// products and events as TestEveryPage does.
func TestEveryPageWithData(t *testing.T) {
	inspect := newInspection(t)

	empty := newHost(t)
	empty.admin(t)
	t.Run("empty", func(t *testing.T) {
		inspect.views(t, empty, empty.cookie(t, adminEmail, adminPassword), []view{
			{"overview-empty", func(b *browser) { b.open("") }},
			{"customers-empty", func(b *browser) { b.open("customers") }},
			{"webhooks-empty", func(b *browser) { b.open("settings/webhooks") }},
		})
	})

	full := newHost(t)
	full.admin(t)
	licenseID, _ := full.seed(t)
	seat := full.seedActivations(t, licenseID)
	hook := full.seedWebhooks(t)
	list, err := full.Service().List(t.Context(), api.ListLicensesParams{Status: api.LicenseRevoked})
	is.New(t).NoErr(err)
	revoked := list.Data[0].ID
	hooks, err := full.Webhooks().List(t.Context(), api.ListWebhooksParams{})
	is.New(t).NoErr(err)
	long, err := full.Webhooks().Test(t.Context(), hooks.Data[len(hooks.Data)-1].ID)
	is.New(t).NoErr(err)
	at := time.Now().UTC().AddDate(2, 0, 0).Format("2006-01-02")
	t.Run("admin", func(t *testing.T) {
		inspect.views(t, full, full.cookie(t, adminEmail, adminPassword), []view{
			{"overview", func(b *browser) { b.open("") }},
			{"refusals-table", func(b *browser) {
				b.open("refusals")
				b.unfold("Show as table")
			}},
			{"search", func(b *browser) { b.open("search?q=studio") }},
			{"search-none", func(b *browser) { b.open("search?q=unheard") }},
			{"customers", func(b *browser) { b.open("customers") }},
			{"customer", func(b *browser) { b.open("customer?id=studio-meridian") }},
			{"products", func(b *browser) { b.open("products") }},
			{"customer-erase-long", func(b *browser) {
				b.open("customer/erase?id=the.royal.observatory.of.the.northern.isles@procurement.example.org")
			}},
			{"license-file", func(b *browser) { b.open("licenses/" + licenseID + "/file") }},
			{"delivery-long", func(b *browser) { b.open("settings/webhooks/" + long.WebhookID + "/deliveries/" + long.ID) }},
			{"customer-erase", func(b *browser) { b.open("customer/erase?id=studio-meridian") }},
			{"products", func(b *browser) { b.open("products") }},
			{"products-none", func(b *browser) { b.open("products?q=unheard") }},
			{"audit", func(b *browser) { b.open("audit") }},
			{"audit-details", func(b *browser) {
				b.open("audit?q=basement&actor=license:&customer=studio-meridian")
				b.keys("table summary", kb.Enter)
			}},
			{"audit-none", func(b *browser) { b.open("audit?type=license.rekeyed") }},
			{"audit-wrong", func(b *browser) { b.open("audit?type=license.mislaid") }},
			{"license-seats", func(b *browser) { b.open("licenses/" + licenseID) }},
			{"license-verdict", func(b *browser) {
				b.open("licenses/" + licenseID + "?at=" + at + "&fingerprint=elsewhere&product=compass")
			}},
			{"license-verdict-errors", func(b *browser) { b.open("licenses/" + licenseID + "?at=soon") }},
			{"activations-selected", func(b *browser) {
				b.open("licenses/" + licenseID + "/activations")
				eval[bool](b, `document.querySelector("[data-all]").click(), true`)
			}},
			{"activations-release", func(b *browser) {
				b.open("licenses/" + licenseID + "/activations/release?id=" + seat)
			}},
			{"licenses-only", func(b *browser) { b.open("licenses?only=updates_end_soon") }},
			{"activations", func(b *browser) { b.open("licenses/" + licenseID + "/activations?ended=1") }},
			{"activation-release", func(b *browser) { b.open("licenses/" + licenseID + "/activations/" + seat + "/release") }},
			{"license-renew", func(b *browser) { b.open("licenses/" + licenseID + "/renew") }},
			{"license-renew-errors", func(b *browser) {
				b.open("licenses/" + licenseID + "/renew")
				b.choose("length")
				b.fill("Length", "a while")
				b.press("Renew license")
			}},
			{"selected", func(b *browser) {
				b.open("licenses")
				b.choose(licenseID)
				b.choose(revoked)
				b.press("Suspend")
			}},
			{"selected-done", func(b *browser) {
				b.open("licenses/selected/suspend?id=" + revoked + "&id=" + licenseID)
				b.fill("Reason", "The invoice of April is open")
				b.press("Suspend 1 license") // the other is revoked
				b.see("1 of 1 succeeded.")
			}},
			{"webhooks", func(b *browser) { b.open("settings/webhooks") }},
			{"webhook", func(b *browser) { b.open("settings/webhooks/" + hook) }},
			{"delivery", func(b *browser) {
				b.open("settings/webhooks/" + hook)
				b.press("webhook.test")
			}},
			{"webhook-new", func(b *browser) { b.open("settings/webhooks/new") }},
			{"webhook-new-errors", func(b *browser) {
				b.open("settings/webhooks/new")
				b.fill("URL", "shop.example")
				b.choose("license.*") // in addition to all events
				b.press("Create webhook")
			}},
			{"webhook-secret", func(b *browser) {
				b.open("settings/webhooks/new")
				b.fill("URL", "https://shop.example/other")
				b.press("Create webhook")
			}},
			{"webhook-rotate", func(b *browser) { b.open("settings/webhooks/" + hook + "/rotate") }},
			{"webhook-delete", func(b *browser) { b.open("settings/webhooks/" + hook + "/delete") }},
			{"about", func(b *browser) { b.open("settings/about") }},
		})
	})
}

// TestSupportWorkflow finds the licenses of a customer, renews one, releases an
// activation, tests a validation, creates a webhook, suspends licenses and reads
// the audit log.
func TestSupportWorkflow(t *testing.T) {
	for name, script := range map[string]bool{"with JavaScript": true, "without JavaScript": false} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.admin(t)
			id, _ := h.seed(t)
			seat := h.seedActivations(t, id)
			b := newSignedIn(t, h, script)

			b.open("")
			b.see("Needs attention")
			b.press("Customers")
			b.fill("Search", "studio")
			b.apply(script)
			b.missing("harbour-pilots")
			b.press("Atlas Pro, 25 floating seats")
			b.press("Atlas Pro, 25 floating seats")

			b.ask(script, "Renew")
			before := b.read("[data-live]")
			b.choose("P6M")
			if script {
				b.wait(`document.querySelector("[data-live]").textContent !== ` + strconv.Quote(before))
			}
			b.see("New expiry:")
			b.fill("Reason", "Paid in advance")
			b.press("Renew license")
			b.see("The license has been renewed.")
			b.see("Paid in advance")

			b.see("4/25")
			b.open("licenses/" + id + "/activations/" + seat + "/release")
			b.press("Remove device")
			b.see("The device has been removed.")
			b.see("3 of 25 seats used.")
			b.open("licenses/" + id)
			b.see("3/25")

			b.unfold("Test what a program would be told")
			b.fill("Product", "compass")
			b.press("Run test")
			b.see("The license is for another product.")

			b.press("Webhooks")
			b.press("New webhook")
			b.fill("URL", "https://shop.example/hooks")
			b.press("Create webhook")
			secret := b.read("#webhook-secret")
			b.press("I have copied it")
			b.missing(secret)
			b.press("Send test event")
			b.see("A test event has been queued.")
			b.see("webhook.test")

			b.press("Licenses")
			b.choose(id)
			b.press("Suspend")
			b.see("For each license: validation fails as suspended")
			b.fill("Reason", "The invoice of April is open")
			b.press("Suspend 1 license")
			b.see("1 of 1 succeeded.")
			b.press("Go to licenses")
			b.choose(id)
			b.press("Renew")
			b.see("Renew licenses")
			b.press("Renew 1 license")
			b.see("1 of 1 succeeded.")

			b.press("Audit log")
			b.see("The invoice of April is open")
			b.see("Activation released")
			is.New(t).Equal(b.policyErrors(), nil) // no policy violation, no exception
		})
	}
}
