package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	kitmail "github.com/seed-d8a106b4/licensekit/licensing/mail"
)

// TestConfigOfServe: the customer pages are where mails and programs send people, forms from
// the public origin are trusted, and what serve cannot use is named by its path.
func TestConfigOfServe(t *testing.T) {
	is := is.New(t)
	file := filepath.Join(t.TempDir(), "licensekit.json")
	read := func(text string) (config, string) {
		is.NoErr(os.WriteFile(file, []byte(text), 0o600))
		c, err := readConfig([]string{"--config", file})
		if err != nil {
			return c, err.Error()
		}
		return c, ""
	}
	const mail = `"Store": "a.db", "Mail": {"Server": {"Addr": "smtp.example:587", "From": "a@b.example"}}`
	c, faults := read(`{` + mail + `, "Options": {"PublicURL": "https://a.example/licensing/", "Dashboard": {"Origins": ["https://b.example"]}}}`)
	is.Equal([]any{faults, c.Options.PortalURL, c.accountURL()}, []any{"", "https://a.example/account/licenses", "https://a.example/account"})
	is.Equal(c.Options.Dashboard.Origins, []string{"https://b.example", "https://a.example"})
	c, faults = read(`{` + mail + `, "Options": {"PublicURL": "https://a.example/licensing", "PortalURL": "https://c.example/account/licenses/"}}`)
	is.Equal([]any{faults, c.accountURL()}, []any{"", "https://c.example/account"})
	c, faults = read(`{"Store": "a.db", "Options": {"PublicURL": "https://a.example/licensing"}}`)
	is.Equal([]any{faults, c.Options.PortalURL, c.accountURL()}, []any{"", "", ""}) // no mails, so no pages

	c, faults = read(`{"Language": "de", ` + strings.Replace(mail, "}}", `}, "Texts": {"LinkSubject": "Licenses"}}`, 1) + `, "Portal": {"Texts": {"Title": "My licenses"}}, "Options": {"PublicURL": "https://a.example/licensing"}}`)
	german, _ := licensing.PortalTextsFor("de")
	is.Equal([]any{faults, c.Portal.Texts.Title, c.Portal.Texts.None}, []any{"", "My licenses", german.None})
	mails, _ := kitmail.TextsFor("de")
	is.Equal([]any{c.Mail.Texts.LinkSubject, c.Mail.Texts.KeySubject}, []any{"Licenses", mails.KeySubject})

	for text, want := range map[string]string{
		`{` + mail + `}`: "Options.PublicURL must be set and end in /licensing",
		`{` + mail + `, "Options": {"PublicURL": "https://a.example/licenses"}}`: "Options.PublicURL must be set and end in /licensing",
		`{` + mail + `, "Options": {"PortalURL": "https://a.example/account"}}`:  "Options.PortalURL must end in /account/licenses",
		`{"Store": "a.db", "Portal": {"Renew": "https://a.example/renew"}}`:      "Portal needs Mail",
		`{"Store": "a.db", "Language": "tlh"}`:                                   "Language must be en, de or fr",
		`{"Store": "a.db", "LogLevel": "loud"}`:                                  "LogLevel must be debug, info, warn or error",
		`{"Store": "a.db", "TrustedProxies": ["proxy"]}`:                         "TrustedProxies must be addresses",
		`{"Store": "a.db", "Addr": "here", "MetricsAddr": "there"}`:              "MetricsAddr must be host:port",
		`{"Store": "a.db", "TLSCert": "none.crt", "TLSKey": "none.key"}`:         "TLSCert with the key: open " + filepath.Dir(file),
	} {
		_, faults := read(text)
		require.Contains(t, faults, file+": "+want)
	}
	is.Equal(fillURL("https://a.example/{product}?l={license}", "license", "lic_1", "product", "a&b {license}"), "https://a.example/a%26b%20%7Blicense%7D?l=lic_1")
}
