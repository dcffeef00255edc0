package dashboard

import (
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestClicksOfSupport does the tasks of a day of support, each from the overview to its
// end, and counts the clicks.
func TestClicksOfSupport(t *testing.T) {
	is := is.New(t)
	h := newHost(t)
	h.admin(t)
	create := func(p api.CreateLicenseParams) api.License {
		p.ProductID, p.CustomerID = "atlas", "customer of "+p.Name
		l, err := h.Service().Create(t.Context(), p)
		is.NoErr(err)
		return l
	}
	activate := func(l api.License, n int) {
		for i := range n {
			_, err := h.Service().Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: fmt.Sprintf("pc-%02d", i)})
			is.NoErr(err)
		}
	}
	one, past := int64(1), time.Now().Add(-time.Hour)
	laptop := create(api.CreateLicenseParams{Name: "Laptop Lantern", Terms: api.Terms{MaxActivations: &one}})
	activate(laptop, 1)
	expired := create(api.CreateLicenseParams{Name: "Expired Ember", ExpiresAt: &past})
	leaked := create(api.CreateLicenseParams{Name: "Leaked Larch"})
	create(api.CreateLicenseParams{Name: "Offline Otter"})
	school := create(api.CreateLicenseParams{Name: "School Sedge"})
	activate(school, 40)
	c := &counted{browser: newSignedIn(t, h, true)}
	find := func(name string) {
		c.act("type", chromedp.SendKeys(chromedp.CSS("#find"), name))
		c.wait(`[...document.querySelectorAll("#results a")].some((a) => a.textContent === ` + fmt.Sprintf("%q", name) + `)`)
		c.click(`//*[@id="results"]/a[.="` + name + `"]`)
		c.wait(`document.title.startsWith("` + name + ` ")`)
	}
	create(api.CreateLicenseParams{Name: "Erased Elm"})
	bought := create(api.CreateLicenseParams{Name: "Bought Birch"})
	_, err := h.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: "shop:charged", CustomerID: "customer who was charged", PlanID: "price_new", State: api.PurchaseActive, At: time.Now()})
	is.NoErr(err)
	active := func(l api.License) int {
		page, err := h.Service().ListActivations(t.Context(), api.ListActivationsParams{LicenseID: l.ID})
		is.NoErr(err)
		return len(page.Data)
	}
	for _, task := range []struct {
		name string
		most int
		run  func()
	}{
		{"new laptop", 3, func() {
			find(laptop.Name)
			c.click(`(//section[@aria-labelledby="devices-title"]//a[starts-with(normalize-space(), "Remove")])[1]`)
			c.press("Remove device")
			is.Equal(active(laptop), 0)
		}},
		{"paid but expired", 3, func() {
			find(expired.Name)
			c.ask("Renew")
			c.press("Renew license")
			c.see("Expires · in 12 months")
		}},
		{"leaked key", 5, func() {
			find(leaked.Name)
			c.more()
			c.ask("Replace key")
			c.follow(`//dialog//button[.="Replace key"]`)
			c.see("The old key no longer works.")
		}},
		{"offline file", 5, func() {
			find("Offline Otter")
			c.more()
			c.press("Issue license file")
			c.fill("Fingerprint", "machine-without-network")
			c.click(`//button[.="Issue and download"]`)
			c.see("The download has started.")
			time.Sleep(time.Second) // a page that is opened before the answer fails to load
		}},
		{"40 machines", 6, func() {
			find(school.Name)
			c.press("All 40")
			eval[bool](c.browser, `document.querySelector("#unseen").value = "`+time.Now().AddDate(0, 0, 2).Format(time.DateOnly)+`", document.querySelector("#unseen").form.requestSubmit(), true`)
			c.wait(`location.search.startsWith("?unseen=") && document.readyState === "complete"`)
			c.click(`//input[@data-all]`)
			c.press("Remove selected")
			c.press("Remove 40 devices")
			c.see("The devices have been removed.")
			is.Equal(active(school), 0)
		}},
		{"erase", 5, func() {
			find("customer of Erased Elm")
			c.more()
			c.ask("Erase customer data")
			c.fill("Customer ID", "customer of Erased Elm")
			c.follow(`//dialog//button[.="Erase customer data"]`)
			c.see("The customer's data has been erased.")
		}},
		{"bought company", 4, func() {
			find("customer of Bought Birch")
			c.more()
			c.ask("Change customer ID")
			c.fill("New customer ID", "the buyer")
			c.follow(`//dialog//button[.="Change customer ID"]`)
			c.see("The customer has the new ID.")
			l, err := h.Service().Get(t.Context(), bought.ID)
			is.NoErr(err)
			is.Equal(l.CustomerID, "the buyer")
		}},
		{"charged without a key", 7, func() {
			c.press("Create it")
			c.fill("Name", "New")
			c.fill("Product", "atlas")
			c.fill("Duration", "1y")
			c.press("Create plan")
			c.see("1 waiting purchase has its license now.")
		}},
	} {
		t.Run(task.name, func(t *testing.T) {
			c.t, c.clicks = t, 0
			c.open("")
			task.run()
			t.Logf("clicks: %d", c.clicks)
			require.AtMost(t, c.clicks, task.most)
		})
	}
	is.Equal(c.policyErrors(), nil)
}
