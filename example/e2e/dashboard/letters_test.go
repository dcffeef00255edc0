package dashboard

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestLetters answers the twelve letters of a day of support in the role of support, which sees no
// keys, on a desk and on a phone. Nine of them it answers itself, and for three it gets a
// link to the page and action for an admin. With LICENSEKIT_PICTURES=DIR it also writes
// pictures.
func TestLetters(t *testing.T) {
	source := axe(t)
	for _, width := range []int{1440, 390} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			is := is.New(t)
			h := newHost(t)
			_, err := h.Operators().Create(t.Context(), operator.CreateParams{Email: "sue@example.com", Password: adminPassword, Role: operator.RoleSupport})
			is.NoErr(err)
			b := newBrowser(t, h, true)
			b.use(h.cookie(t, "sue@example.com", adminPassword))
			is.NoErr(chromedp.Do(b.ctx, chromedp.EmulateViewport(int64(width), 900)))
			c := &counted{browser: b}
			create := func(name, customer string, p api.CreateLicenseParams) api.License {
				p.Name, p.ProductID, p.CustomerID = name, "atlas", customer
				p.Metadata = map[string]string{"email": customer + "@customer.example"}
				l, err := h.Service().Create(t.Context(), p)
				is.NoErr(err)
				return l
			}
			activate := func(l api.License, n int) {
				for i := range n {
					_, err := h.Service().Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: fmt.Sprintf("pc-%02d-%s", i, l.ID), Name: fmt.Sprintf("Ward PC %02d", i)})
					is.NoErr(err)
				}
			}
			active := func(l api.License) int {
				page, err := h.Service().ListActivations(t.Context(), api.ListActivationsParams{LicenseID: l.ID})
				is.NoErr(err)
				return len(page.Data)
			}
			past, three := time.Now().Add(-time.Hour), int64(3)
			lost, laptop, school := create("Lost Larch", "lost", api.CreateLicenseParams{}), create("Laptop Lantern", "laptop", api.CreateLicenseParams{Terms: api.Terms{MaxActivations: &three}}), create("School Sedge", "school", api.CreateLicenseParams{})
			create("Moved Maple", "moved", api.CreateLicenseParams{})
			two, leaked := create("Two Tulips", "two", api.CreateLicenseParams{}), create("Leaked Laurel", "leaked", api.CreateLicenseParams{})
			create("Expired Ember", "expired", api.CreateLicenseParams{ExpiresAt: &past})
			create("Offline Otter", "offline", api.CreateLicenseParams{})
			create("Erased Elm", "erased", api.CreateLicenseParams{})
			create("Bought Birch", "bought", api.CreateLicenseParams{})
			activate(laptop, 3)
			activate(two, 2)
			activate(school, 40)
			_, err = h.Selling().PutPlan(t.Context(), api.PutPlanParams{ID: "try", ProductID: "atlas", Name: "Trial", Duration: api.Duration{Days: 14}})
			is.NoErr(err)
			_, err = h.Selling().StartTrial(t.Context(), api.StartTrialParams{PlanID: "try", CustomerID: "trying"})
			is.NoErr(err)
			_, err = h.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: "stripe:si_1", CustomerID: "refunded", PlanID: "try", State: api.PurchaseActive, At: time.Now(), Name: "Refunded Rowan"})
			is.NoErr(err)
			find := func(text, title string) {
				c.open("search?q=" + text)
				c.press(title)
			}
			for _, letter := range []struct {
				name string
				most int // clicks after the search
				run  func()
			}{
				{"lost-key", 3, func() {
					find("Dear+sirs,+I+am+lost@customer.example+and+lost+my+key", "Lost Larch")
					c.ask("Mail a link")
					c.follow(`//dialog//button[.="Mail a link"]`)
					c.see("A link was mailed to lost@customer.example.")
					is.Equal(<-h.mails, "lost@customer.example")
				}},
				{"mail-address", 3, func() {
					find("moved", "moved")
					c.ask("Change email")
					c.fill("New email", "new@customer.example")
					c.follow(`//dialog//button[.="Change email"]`)
					c.see("The email address of 1 license has been changed.")
					is.Equal(<-h.mails, "moved@customer.example")
				}},
				{"trial", 5, func() {
					find("trying", "trying")
					c.press("trial")
					c.ask("Allow another trial")
					c.follow(`//dialog//button[.="Allow another trial"]`)
					c.see("Another trial is allowed.")
				}},
				{"refund", 2, func() {
					find("refunded", "refunded")
					c.press("stripe:si_1")
					c.see("At Stripe. Its event ends the purchase here.")
				}},
				{"new-laptop", 3, func() {
					find("Laptop", "Laptop Lantern")
					c.click(`(//section[@aria-labelledby="devices-title"]//a[starts-with(normalize-space(), "Remove")])[1]`)
					c.press("Remove device")
					is.Equal(active(laptop), 2)
				}},
				{"forty-machines", 6, func() {
					find("School", "School Sedge")
					c.press("All 40")
					if width == 390 { // without the head of the table, which selects all
						c.click(`(//td//input)[1]`)
						c.click(`(//td//input)[2]`)
						c.press("Remove selected")
						c.press("Remove 2 devices")
						is.Equal(active(school), 38)
						return
					}
					c.click(`//input[@data-all]`)
					c.press("Remove selected")
					c.press("Remove 40 devices")
					is.Equal(active(school), 0)
				}},
				{"two-machines", 4, func() {
					find("Two", "Two Tulips")
					c.click(`(//section[@aria-labelledby="devices-title"]//a[starts-with(normalize-space(), "Remove")])[1]`)
					c.press("Remove device")
					is.Equal(active(two), 1)
				}},
				{"expired", 3, func() {
					find("Ember", "Expired Ember")
					c.ask("Renew")
					c.press("Renew license")
					c.see("The license has been renewed.")
				}},
				{"offline", 4, func() {
					find("Offline", "Offline Otter")
					c.more()
					c.press("Issue license file")
					c.see("Request text")
				}},
				{"company-bought", 4, func() {
					find("bought", "bought")
					c.unfold("Ask an admin")
					c.clicks++
					c.press("Change customer ID")
					c.see("/dashboard/customer/id?id=bought")
				}},
				{"leaked-key", 4, func() {
					c.open("search?q=my+key+" + leaked.Key + "+was+published")
					c.see("Leaked Laurel")
					c.more()
					c.press("Replace key")
					c.see("/dashboard/licenses/" + leaked.ID + "/rekey")
				}},
				{"erase", 4, func() {
					find("erased", "erased")
					c.unfold("Ask an admin")
					c.clicks++
					c.press("Erase customer data")
					c.see("/dashboard/customer/erase?id=erased")
				}},
			} {
				t.Run(letter.name, func(t *testing.T) {
					c.t, c.clicks = t, 0
					letter.run()
					require.AtMost(t, c.clicks, letter.most)
					if source != "" {
						is.Equal(len(c.violations(source, false)), 0)
					}
					is.True(eval[bool](c.browser, `document.documentElement.scrollWidth <= innerWidth`))
					if dir := os.Getenv("LICENSEKIT_PICTURES"); dir != "" {
						shot, err := chromedp.Run(c.ctx, chromedp.FullScreenshot(100))
						is.NoErr(err)
						is.NoErr(os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d.png", letter.name, width)), shot, 0o644))
					}
				})
			}
			is.Equal(c.policyErrors(), nil)
			require.NotContains(t, c.read("body"), lost.Key)
		})
	}
}
