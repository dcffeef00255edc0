package dashboard

import (
	"regexp"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// TestPhoneMenu checks that narrow screens have the navigation in a menu.
func TestPhoneMenu(t *testing.T) {
	for name, script := range map[string]bool{"with JavaScript": true, "without JavaScript": false} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			h := newHost(t)
			h.admin(t)
			b := newSignedIn(t, h, script)
			is.NoErr(chromedp.Do(b.ctx, chromedp.EmulateViewport(390, 900)))
			b.open("")
			height := func() float64 {
				box, err := chromedp.Run(b.ctx, chromedp.Evaluate[float64](`document.querySelector("header nav").getBoundingClientRect().height`))
				is.NoErr(err)
				return box
			}
			is.Equal(height(), 0.0) // closed
			b.act("open the menu", chromedp.Click(`//header//summary[normalize-space()="Menu"]`))
			require.Greater(t, height(), 0)
			b.press("Customers")
			b.see("No customers yet")
		})
	}
}

// TestLocalTime checks that pages show times in UTC, as their forms do, and in the time
// zone of the browser on hover.
func TestLocalTime(t *testing.T) {
	is := is.New(t)
	h := newHost(t)
	h.admin(t)
	id, _ := h.seed(t)
	b := newSignedIn(t, h, true)
	_, err := chromedp.Call(b.ctx, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "Asia/Tokyo"})
	is.NoErr(err)
	b.open("licenses/" + id)
	text := b.read(".facts time")
	title, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.querySelector(".facts time").title`))
	is.NoErr(err)
	require.Matches(t, text, regexp.MustCompile(`^\d+ \w+ \d{4}, \d\d:\d\d$`))
	require.Matches(t, title, regexp.MustCompile(`^\d+ \w+ \d{4}, \d\d:\d\d:\d\d UTC = \d+ \w+ \d{4}, \d\d:\d\d:\d\d GMT\+9$`))
	b.see("All times are UTC")

	b = newSignedIn(t, h, false)
	b.open("licenses/" + id)
	is.Equal(b.read(".facts time"), text)
	b.see("All times are UTC")
}
