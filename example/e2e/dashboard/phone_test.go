package dashboard

import (
	"regexp"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
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
			b.do("open the menu", chromedp.Do(b.ctx, chromedp.Click(`//header//summary[normalize-space()="Menu"]`)))
			require.Greater(t, height(), 0)
			b.press("Customers")
			b.see("No customers yet")
		})
	}
}

// TestLocalTime checks that pages show times in the time zone of the browser, and
// in UTC on hover and without JavaScript.
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
	require.Matches(t, text, regexp.MustCompile(`^\d+ \w+ \d{4}, \d\d:\d\d:\d\d GMT\+9$`))
	require.Matches(t, title, regexp.MustCompile(`^\d+ \w+ \d{4}, \d\d:\d\d:\d\d UTC$`))
	b.see("Times are in Asia/Tokyo; forms use UTC")

	b = newSignedIn(t, h, false)
	b.open("licenses/" + id)
	require.Matches(t, b.read(".facts time"), regexp.MustCompile(` UTC$`))
	b.see("All times are UTC")
}
