package dashboard

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// TestSupportMailsALink: a customer has lost the key. Support, which sees no keys, finds the
// license and mails a link from its page, and from the page of the customer, on a phone too.
// With LICENSEKIT_PICTURES=DIR it also writes pictures.
func TestSupportMailsALink(t *testing.T) {
	source := axe(t)
	for name, script := range map[string]bool{"with JavaScript": true, "without JavaScript": false} {
		for _, width := range []int{390, 1440} {
			t.Run(fmt.Sprint(name, " ", width), func(t *testing.T) {
				is := is.New(t)
				h := newHost(t)
				_, err := h.Operators().Create(t.Context(), operator.CreateParams{Email: "sue@example.com", Password: adminPassword, Role: operator.RoleSupport})
				is.NoErr(err)
				l, err := h.Service().Create(t.Context(), api.CreateLicenseParams{
					Name: "License of Ada", ProductID: "atlas", CustomerID: "ada", Metadata: map[string]string{"email": "a.rather.long.address.of.ada@mail.customer.example"},
				})
				is.NoErr(err)
				b := newBrowser(t, h, script)
				b.use(h.cookie(t, "sue@example.com", adminPassword))
				is.NoErr(chromedp.Do(b.ctx, chromedp.EmulateViewport(int64(width), 900)))
				picture := func(name string) {
					dir := os.Getenv("LICENSEKIT_PICTURES")
					if dir == "" {
						return
					}
					shot, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
					is.NoErr(err)
					is.NoErr(os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d-%t.png", name, width, script)), shot, 0o644))
				}
				for _, page := range []string{"licenses/" + l.ID, "customer?id=ada"} {
					b.open(page)
					picture("page-" + page[:8])
					b.ask(script, "Mail a link")
					b.see("to a.rather.long.address.of.ada@mail.customer.example.")
					picture("form-" + page[:8])
					if source != "" && script {
						is.Equal(len(b.violations(source, false)), 0)
					}
					b.load("press the button", chromedp.Click(`(//dialog|//main)//form//button[normalize-space()="Mail a link"]`))
					b.see("A link was mailed to a.rather.long.address.of.ada@mail.customer.example.")
					picture("done-" + page[:8])
					is.Equal(<-h.mails, "a.rather.long.address.of.ada@mail.customer.example")
				}
				b.see("Customer got a link by mail")
				is.Equal(b.policyErrors(), nil)
				require.NotContains(t, b.read("body"), l.Key)
			})
		}
	}
}
