package dashboard

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/matryer/is"

	example "github.com/seed-d8a106b4/licensekit/example/internal/host"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestPicture inspects pages of the sample data, and takes pictures of them for the gallery.
func TestPicture(t *testing.T) {
	is := is.New(t)
	h := newHost(t)
	is.NoErr(example.Seed(t.Context(), h.store))
	h.admin(t)
	h.runUntil(t, `!document.body.textContent.includes("being counted")`)
	b := newSignedIn(t, h, true)
	b.do("set the size", chromedp.Do(b.ctx, chromedp.EmulateViewport(1440, 900)))
	b.scheme("light")
	b.open("")
	b.see("refused in the last 7 days: no seat free")
	b.open("refusals?days=30")
	b.see("No seat free")
	b.see("Remove a device")
	b.open("licenses")
	cut := eval[[]string](b, `[...document.querySelectorAll("tbody th a")].filter((a) => a.scrollWidth > a.clientWidth).map((a) => a.textContent)`)
	is.Equal(len(cut), 0) // names that do not fit
	b.open("?period=month")
	b.see("Needs attention")
	b.picture("overview", 1440, 900, "")
	b.picture("sales", 1440, 900, "sales-title")
	found, err := h.Service().List(t.Context(), api.ListLicensesParams{Search: "stone bridge"})
	is.NoErr(err)
	for _, page := range []struct{ name, path string }{
		{"license", "licenses/" + found.Data[0].ID}, {"customer", "customer?id=stone-bridge"}, {"plan", "plan/price_atlas_pro_year"},
	} {
		b.open(page.path)
		b.picture(page.name, 1440, 900, "")
	}
	newInspection(t).views(t, h, h.cookie(t, adminEmail, adminPassword), []view{
		{"sample-overview", func(b *browser) { b.open("") }},
		{"sample-refusals", func(b *browser) { b.open("refusals?days=90") }},
		{"sample-refusals-product", func(b *browser) { b.open("refusals?days=90&reason=product_mismatch") }},
		{"sample-refusals-none", func(b *browser) { b.open("refusals?reason=scheduled") }},
		{"sample-customers", func(b *browser) { b.open("customers") }},
		{"sample-customer", func(b *browser) { b.open("customer?id=stone-bridge") }},
		{"sample-devices", func(b *browser) { b.open("customer/devices?id=stone-bridge") }},
		{"sample-merge", func(b *browser) {
			b.open("customer/id?id=stone-bridge")
			b.fill("New customer ID", "tall-ships")
			b.press("Change customer ID")
			b.see("This merges the two customers")
		}},
		{"sample-search", func(b *browser) { b.open("search?q=bridge") }},
		{"sample-licenses", func(b *browser) { b.open("licenses") }},
		{"sample-results", func(b *browser) {
			b.open("settings/about")
			b.act("type", chromedp.SendKeys(chromedp.CSS("#find"), "stone"))
			b.wait(`!document.getElementById("results").hidden`)
		}},
		{"sample-undo", func(b *browser) {
			b.open("refusals?days=90")
			eval[bool](b, `document.querySelector("[name=id]").click(), true`)
			b.press("Suspend")
			b.press("Suspend 1 license")
			b.see("Undo: Reinstate this license")
		}},
	})
}
