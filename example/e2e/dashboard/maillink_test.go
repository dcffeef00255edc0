package dashboard

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/mail"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestLinkByMail asks for a link by mail in a browser, follows it to the licenses and signs
// out. Without JavaScript, the customer types in the token. The address of no page keeps it.
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
			mails := make(chan string, 1)
			signIn := &mail.SignIn{URL: server.URL + "/account", Send: func(_ context.Context, m mail.Message) error {
				mails <- m.Text
				return nil
			}}
			mux.Handle("/account/", http.StripPrefix("/account", signIn.Handler(h, licensing.Portal{})))

			b := newBrowser(t, &host{}, script)
			b.base = server.URL + "/account/"
			b.open("licenses/")
			b.wait(`location.href.endsWith("/account/sign-in")`)
			if source != "" && script {
				is.Equal(len(b.violations(source, false)), 0)
			}
			b.fill("Your email address", "ada@customer.example")
			b.press("Send a link")
			b.see("on its way to you")
			text := <-mails
			_, after, _ := strings.Cut(text, "#")
			token := strings.Fields(after)[0]
			b.open("link#" + token)
			if !script {
				b.fill("What follows # in the link", token)
			} else if source != "" {
				is.Equal(len(b.violations(source, false)), 0)
			}
			b.press("Sign in")
			b.wait(`location.href.endsWith("/account/licenses/") && document.readyState === "complete"`)
			b.see("License of Ada")
			is.Equal(b.policyErrors(), nil)
			b.press("Sign out")
			b.see("Your email address")
			b.open("licenses/")
			b.see("Your email address")
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
