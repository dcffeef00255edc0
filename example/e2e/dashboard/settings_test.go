package dashboard

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// keys focuses the element that a CSS selector matches and types keys into it.
func (b *browser) keys(css, keys string) {
	b.t.Helper()
	b.act("type into "+css, chromedp.SendKeys(chromedp.CSS(css), keys))
}

// shown reports whether the element that a CSS selector matches is displayed.
func (b *browser) shown(css string) bool {
	b.t.Helper()
	ctx, cancel := b.step()
	defer cancel()
	shown, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`document.querySelector('`+css+`').checkVisibility()`))
	b.do("look at "+css, err)
	return shown
}

// TestSettingsByKeyboard reads the quick start of a credential, deletes a
// credential, searches the audit log and opens the details of an event, with the
// keyboard where the page has controls of its own.
func TestSettingsByKeyboard(t *testing.T) {
	for name, script := range map[string]bool{"with JavaScript": true, "without JavaScript": false} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			h := newHost(t)
			h.admin(t)
			h.seed(t)
			c, _, err := h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "Retired shop"})
			is.NoErr(err)
			hook := h.seedWebhooks(t)
			b := newSignedIn(t, h, script)

			b.open("settings/credentials")
			b.see("Read and change licenses")
			b.see(c.ID)
			b.press("Retired shop")
			is.True(b.shown("#quick-curl") && !b.shown("#quick-go"))
			b.keys(".langs input:checked", kb.ArrowRight)
			is.True(!b.shown("#quick-curl") && b.shown("#quick-go"))
			b.keys(".langs input:checked", kb.ArrowRight+kb.ArrowRight)
			is.True(b.shown("#quick-python"))
			is.Equal(strings.Contains(b.read("#quick-python"), h.base), script) // the address comes from the page
			b.openMenu(script, "Delete")
			b.press("Delete API client")
			b.see("The API client has been deleted.")
			b.missing("Retired shop")

			b.open("settings/webhooks/" + hook)
			b.openMenu(script, "Delete")
			b.press("Delete webhook")
			b.see("The webhook has been deleted.")

			b.open("audit")
			b.fill("Search", "retired")
			b.keys("#actor", adminEmail) // selects the option
			if script {
				b.wait(`document.readyState === "complete" && location.search.includes("actor=operator")`)
			} else {
				b.press("Apply")
			}
			require.Contains(t, b.read("tbody"), "API client deleted")
			require.NotContains(t, b.read("tbody"), "API client created") // by the host application
			is.True(!b.shown("table details p"))
			b.keys("table summary", kb.Enter)
			is.True(b.shown("table details p"))
			b.see("Request ID: req_")

			is.Equal(b.policyErrors(), nil) // no policy violation, no exception
		})
	}
}

// TestTablesOnNarrowScreens checks that the changes in the audit log use the width
// of a narrow screen, and that each license in a list takes a line and up to three for
// its name, and one more if it says where a search has matched.
func TestTablesOnNarrowScreens(t *testing.T) {
	is := is.New(t)
	h := newHost(t)
	h.admin(t)
	h.seed(t)
	b := newSignedIn(t, h, true)
	is.NoErr(chromedp.Do(b.ctx, chromedp.EmulateViewport(390, 900)))
	measure := func(page, js string) float64 {
		b.open(page)
		ctx, cancel := b.step()
		defer cancel()
		n, err := chromedp.Run(ctx, chromedp.Evaluate[float64](js))
		is.NoErr(err)
		return n
	}
	require.Greater(t, measure("audit", `document.querySelector("td.changes").getBoundingClientRect().width`), 250)
	for page, most := range map[string]float64{"licenses": 120, "search?q=atlas": 168, "customer?id=studio-meridian": 120} {
		height := measure(page, `Math.max(...[...document.querySelectorAll("tbody tr")].map((row) => row.getBoundingClientRect().height))`)
		require.Greater(t, height, 48)
		require.Less(t, height, most) // a row of a license list
		cut := measure(page, `[...document.querySelectorAll("td:has(.seats)")].filter((td) => td.scrollWidth > td.clientWidth).length`)
		is.Equal(cut, 0.0) // all seats can be read
	}
}

// TestLicensesStayATable: the list of licenses is a table down to 900 pixels, beside the
// navigation or below it.
func TestLicensesStayATable(t *testing.T) {
	is := is.New(t)
	h := newHost(t)
	h.admin(t)
	h.seed(t)
	b := newSignedIn(t, h, true)
	for width, want := range map[int64]string{900: "table-row", 1024: "table-row", 1088: "table-row", 1280: "table-row", 800: "grid"} {
		is.NoErr(chromedp.Do(b.ctx, chromedp.EmulateViewport(width, 900)))
		b.open("licenses")
		if got := eval[string](b, `getComputedStyle(document.querySelector("tbody tr")).display`); got != want {
			t.Errorf("at %d pixels, a license is a %s, want %s", width, got, want)
		}
	}
}

// TestSaving: a form that is being sent says so, is not sent twice, and is as before when
// the browser shows its page again.
func TestSaving(t *testing.T) {
	is := is.New(t)
	h := newHost(t)
	h.admin(t)
	id, _ := h.seed(t)
	b := newSignedIn(t, h, true)
	b.open("licenses/" + id + "/edit")
	send := `document.querySelector("main form[method=post]").dispatchEvent(new SubmitEvent("submit", {bubbles: true, cancelable: true}))`
	state := func() string {
		return eval[string](b, `(f => f.ariaBusy + " " + f.querySelector(".primary").textContent)(document.querySelector("main form[method=post]"))`)
	}
	is.True(eval[bool](b, send))
	b.wait(`document.querySelector("main .primary").textContent === "Saving…"`)
	is.Equal(state(), "true Saving…")
	is.True(!eval[bool](b, send)) // the second time
	eval[bool](b, `dispatchEvent(new PageTransitionEvent("pageshow"))`)
	is.Equal(state(), "null Save changes")
}
