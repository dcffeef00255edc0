package dashboard

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/internal/keymail"
	"github.com/seed-d8a106b4/licensekit/example/internal/maillink"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestLinkByMail asks for a link by mail in a browser and follows it to the licenses: with
// JavaScript in one step, and without by typing in the token. The address of no page keeps
// the token.
func TestLinkByMail(t *testing.T) {
	source := axe(t)
	for name, script := range map[string]bool{"with JavaScript": true, "without JavaScript": false} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			h := licensing.NewHandler(memory.New(), licensing.Options{})
			_, err := h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "License of Ada", ProductID: "atlas", CustomerID: "ada", Metadata: map[string]string{"email": "ada@customer.example"}})
			is.NoErr(err)
			mux := http.NewServeMux()
			server := httptest.NewServer(mux)
			t.Cleanup(server.Close)
			links := maillink.Links{Key: []byte(strings.Repeat("k", 32)), URL: server.URL + "/account/link"}
			mails := make(chan string, 1)
			mux.Handle("/account/link", links)
			mux.Handle("/account/sign-in", &maillink.SignIn{Links: links, Licenses: h.Service(), Send: func(_ context.Context, m keymail.Mail) error {
				mails <- m.Text
				return nil
			}})
			mux.Handle("/account/licenses/", http.StripPrefix("/account/licenses", h.Portal(licensing.Portal{Mailbox: func(_ http.ResponseWriter, r *http.Request) (string, bool) {
				return links.Mailbox(r)
			}})))

			b := newBrowser(t, &host{}, script)
			b.base = server.URL + "/account/"
			b.open("sign-in")
			if source != "" && script {
				is.Equal(len(b.violations(source, false)), 0)
			}
			b.fill("Your email address", "ada@customer.example")
			b.press("Send a link")
			b.see("on its way to you")
			text := <-mails
			_, token, _ := strings.Cut(strings.TrimSpace(text), "#")
			b.open("link#" + token)
			if !script {
				b.fill("What follows # in the link", token)
				b.press("Show licenses")
			}
			b.wait(`location.href.endsWith("/account/licenses/") && document.readyState === "complete"`)
			b.see("License of Ada")
			is.Equal(b.policyErrors(), nil)
			if script {
				b.open("link")
				b.see("What follows #") // and posts nothing
				if source != "" {
					is.Equal(len(b.violations(source, false)), 0)
				}
			}
		})
	}
}
