package dashboard

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/matryer/is"
)

// TestSearchBox searches from a page: with JavaScript by Ctrl+K.
func TestSearchBox(t *testing.T) {
	for name, script := range map[string]bool{"with JavaScript": true, "without JavaScript": false} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.admin(t)
			h.seed(t)
			b := newSignedIn(t, h, script)
			b.open("audit")
			if script {
				focused, err := chromedp.Run(b.ctx, chromedp.Evaluate[string](`
					const press = (e) => { e.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true, bubbles: true })); return document.activeElement.id; };
					const other = document.querySelector("main input");
					other.focus();
					[press(other) === "find", press(document.body)].join()`))
				b.do("press Ctrl+K", err)
				is.New(t).Equal(focused, "true,find")
				b.do("type", chromedp.Do(b.ctx, chromedp.KeyEvent("meridi")))
				ctx, cancel := b.step()
				_, err = chromedp.RunResponse(ctx, chromedp.KeyEvent("\r"))
				cancel()
				b.do("press Enter", err)
			} else {
				b.fill("Search licenses, customers and products", "meridi")
				b.press("Search")
			}
			b.see("Results for “meridi”")
			b.press("studio-meridian")
			b.see("Newest licenses")
		})
	}
}
