package dashboard

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/matryer/is"

	example "github.com/seed-d8a106b4/licensekit/example/internal/host"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// maxClicks is the most clicks that a task of support takes on the page that it
// begins with. Typing is not a click; choosing a file is.
const maxClicks = 3

// counted is a browser that counts clicks.
type counted struct {
	*browser
	clicks int
}

// click clicks an element, which an XPath selects.
func (c *counted) click(path string) {
	c.t.Helper()
	c.act("click "+path, chromedp.Click(path))
	c.clicks++
}

// follow is click for an element that leads to another page.
func (c *counted) follow(path string) {
	c.t.Helper()
	c.load("click "+path, chromedp.Click(path))
	c.clicks++
}

// ask opens a confirmation as a dialog.
func (c *counted) ask(title string) {
	c.t.Helper()
	c.browser.ask(true, title)
	c.clicks++
}

func (c *counted) more() {
	c.t.Helper()
	c.unfold("More")
	c.clicks++
}

func (c *counted) press(text string) {
	c.t.Helper()
	c.browser.press(text)
	c.clicks++
}

// TestClicks does the everyday tasks of support with the sample data and counts the
// clicks of each.
func TestClicks(t *testing.T) {
	is := is.New(t)
	h := newHost(t)
	is.NoErr(example.Seed(t.Context(), h.store))
	h.admin(t)
	c := &counted{browser: newSignedIn(t, h, true)}
	var refused, other api.License // no seat of the first is free
	list, err := h.Service().List(t.Context(), api.ListLicensesParams{CustomerID: "stone-bridge"})
	is.NoErr(err)
	for _, l := range list.Data {
		switch l.Name {
		case "Stone Bridge Architects":
			refused = l
		case "Stone Bridge Architects, field service":
			other = l
		}
	}
	page, elsewhere := "licenses/"+refused.ID, "licenses/"+other.ID
	var csv string
	empty := newHost(t)
	empty.admin(t)
	for _, task := range []struct {
		name string
		page string // that the task begins with
		run  func()
	}{
		{"find a license by half a name", "", func() {
			c.act("type", chromedp.SendKeys(chromedp.CSS("#find"), "bridge archi"))
			c.wait(`!document.getElementById("results").hidden`)
			c.click(`//*[@id="results"]/a[.="Stone Bridge Architects"]`)
			c.wait(`document.title.startsWith("Stone Bridge Architects ")`)
		}},
		{"see why it is refused", page, func() {
			c.press("All refusals")
			c.see("No seat free")
			c.see("new-laptop")
		}},
		{"free a seat", page, func() {
			c.click(`(//section[@aria-labelledby="devices-title"]//a[starts-with(normalize-space(), "Remove")])[1]`)
			c.press("Remove device")
			c.see("The device has been removed.")
		}},
		{"renew", elsewhere, func() {
			c.ask("Renew")
			c.press("Renew license")
			c.see("The license has been renewed.")
		}},
		{"suspend", page, func() {
			c.more()
			c.ask("Suspend")
			c.press("Suspend license")
			c.see("The license has been suspended.")
		}},
		{"reissue the key", page, func() {
			c.more()
			c.ask("Replace key")
			c.follow(`//dialog//button[.="Replace key"]`)
			c.see("The license key has been replaced.")
		}},
		{"issue a license file", elsewhere, func() {
			c.more()
			c.press("Issue license file")
			c.click(`//button[.="Issue and download"]`)
			c.see("The download has started.")
			for { // a page that is opened before the answer fails to load
				issued, err := h.Service().Events(t.Context(), api.ListEventsParams{Subject: other.ID, Types: []string{"license_file.*"}})
				is.NoErr(err)
				if len(issued.Data) > 0 {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			time.Sleep(100 * time.Millisecond)
		}},
		{"change in bulk", "licenses?q=lantern", func() {
			c.click(`//input[@data-all]`)
			c.press("Suspend")
			c.see("Selected: ")
			c.follow(`//main//form//button[starts-with(., "Suspend")]`)
			c.see("Undo: Reinstate these")
		}},
		{"undo it", "current", func() {
			c.follow(`//button[starts-with(., "Undo")]`)
			c.see("Undo: Suspend these")
		}},
		{"download a CSV file", "licenses", func() {
			c.click(`//main//a[.="Download CSV"]`)
			c.see("The download has started.")
			csv = h.download(t, "licenses.csv")
		}},
		{"import it", "licenses", func() {
			c.press("Import CSV")
			c.preview(csv)
			c.clicks++
			c.press("Import 70 licenses")
			c.see("70 licenses created.")
		}},
	} {
		t.Run(task.name, func(t *testing.T) {
			c.t, c.clicks = t, 0
			if task.name == "import it" { // into another service
				c.browser = newSignedIn(t, empty, true)
			}
			if task.page != "current" {
				c.open(task.page)
			}
			task.run()
			t.Logf("clicks: %d", c.clicks)
			require.AtMost(t, c.clicks, maxClicks)
		})
	}
}

// download returns the text of a page.
func (h *host) download(t *testing.T, page string) string {
	t.Helper()
	is := is.New(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.base+"/dashboard/"+page, nil)
	is.NoErr(err)
	req.AddCookie(h.cookie(t, adminEmail, adminPassword))
	resp, err := http.DefaultClient.Do(req)
	is.NoErr(err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	is.NoErr(err)
	return string(text)
}

// TestMonday answers the questions of a seller's Monday with the sample data: most on the
// first page, and each in full after at most two clicks.
func TestMonday(t *testing.T) {
	is := is.New(t)
	h := newHost(t)
	is.NoErr(example.Seed(t.Context(), h.store))
	h.admin(t)
	hook, _, err := h.Webhooks().Create(t.Context(), api.CreateWebhookParams{URL: "https://127.0.0.1/accounting", Description: "Accounting"})
	is.NoErr(err)
	_, err = h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Fjord Garage", ProductID: "atlas", CustomerID: "fjord-garage"})
	is.NoErr(err)
	h.runUntil(t, `!document.body.textContent.includes("being counted") && document.querySelector(".todo").textContent.includes("Accounting")`)
	c := &counted{browser: newSignedIn(t, h, true)}
	within := func(heading string) string { return `//section[.//h2[normalize-space()="` + heading + `"]]` }
	from := func(clicks int, do func()) {
		t.Helper()
		c.open("")
		c.clicks = 0
		do()
		is.Equal(c.clicks, clicks)
	}

	from(0, func() { // what was sold last week by plan, who is due and near the limit, which webhook fails and why
		c.see("Sales, ")
		is.True(eval[int](c.browser, `document.querySelectorAll(".figures.wide tbody tr").length`) > 2)
		for _, heading := range []string{"Ends soon, in the next 30 days", "Near the limit"} {
			is.True(eval[int](c.browser, `document.evaluate('count(`+within(heading)+`//li)', document, null, 1).numberValue`) > 2)
		}
		c.see("Accounting Fails (the address is not public)")
	})
	from(1, func() { // this month
		c.press("This month")
		c.see("in the month before")
	})
	from(1, func() { // the events of a number
		c.follow(`//table[contains(@class, "figures")]//td/a[contains(@href, "audit")]`)
		is.True(eval[int](c.browser, `document.querySelectorAll("[role=rowheader]").length`) > 0)
	})
	from(1, func() { // all that are due
		number := c.read(`[aria-labelledby="due-title"] .between .small`)
		c.press("View licenses that end soon")
		c.see(number + " matching licenses")
	})
	from(1, func() { // all that are near the limit
		number := strings.TrimSuffix(c.read(`[aria-labelledby="near-title"] .between .small`), " licenses")
		c.press("View licenses near the limit")
		c.see(number + " matching licenses")
	})
	from(1, func() { // the failing webhook
		c.follow(`//section[contains(@class, "todo")]//a[normalize-space()="Accounting"]`)
		c.see(hook.URL)
	})
	from(2, func() { // what colleagues changed
		c.press("Audit log")
		eval[bool](c.browser, `(e => { e.value = "operator:"; return e.dispatchEvent(new Event("change", { bubbles: true })); })(document.getElementById("actor"))`)
		c.clicks++
		c.wait(`location.search.includes("actor=operator") && document.readyState === "complete"`)
		is.Equal(eval[int](c.browser, `[...document.querySelectorAll("td[data-label=By]")].filter(e => !e.textContent.includes("@")).length`), 0)
	})
	is.Equal(c.policyErrors(), nil)
}
