package dashboard

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/matryer/is"
)

// TestShortPagesDoNotScroll checks that pages shorter than the screen have no
// scroll bar.
func TestShortPagesDoNotScroll(t *testing.T) {
	h := newHost(t)
	h.admin(t)
	b := newBrowser(t, h, true)
	check := func(page string, width int64) {
		t.Helper()
		is := is.New(t)
		is.NoErr(chromedp.Do(b.ctx, chromedp.EmulateViewport(width, 900)))
		b.open(page)
		over, err := chromedp.Run(b.ctx, chromedp.Evaluate[float64](`document.documentElement.scrollHeight - innerHeight`))
		is.NoErr(err)
		if over > 0 {
			t.Errorf("%s at %d scrolls by %v pixels", page, width, over)
		}
	}
	for _, width := range []int64{1440, 1280} {
		check("sign-in", width)
	}
	b.use(h.cookie(t, adminEmail, adminPassword))
	for _, width := range []int64{1440, 1280, 400} {
		for _, page := range []string{"settings/webhooks", "settings/credentials", "nowhere"} {
			check(page, width)
		}
	}
}
