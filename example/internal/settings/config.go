package settings

import (
	"cmp"
	"errors"
	"net"
	"net/url"
	"strings"

	"github.com/seed-d8a106b4/licensekit/internal/texts"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/mail"
	"github.com/seed-d8a106b4/licensekit/licensing/payment"
)

// A Config is a configuration file: its names are those of the fields.
type Config struct {
	// Store is the path of a SQLite file, the URL of a PostgreSQL database without a password,
	// or "file:PATH" or "env:NAME" of a URL. A path here and below is relative to the folder of
	// this file, and may begin with a variable, such as $STATE_DIRECTORY.
	Store string

	// Addr is the host:port to listen on. Default: 127.0.0.1:8181.
	Addr string

	// MetricsAddr is the host:port of GET /metrics, which asks for no credentials. Default:
	// no metrics.
	MetricsAddr string

	// TLSCert is a PEM file with the certificate, for HTTPS. Default: plain HTTP.
	TLSCert string

	// TLSKey is a PEM file with the key of the certificate.
	TLSKey string

	// TrustedProxies are the addresses and networks of proxies whose X-Forwarded-For is
	// used. Default: none.
	TrustedProxies []string

	// LogLevel is debug, info, warn or error. Default: info.
	LogLevel string

	// Language is that of mails and customer pages: en, de or fr. Single Texts below win.
	// Default: en.
	Language string

	// Options are the options of the service. Its functions can be set in Go only.
	Options licensing.Options

	// Payments are the accounts at payment providers. The webhook of one is at /payments/ and
	// its name in lower case, beside /licensing.
	Payments Payments

	// Mail mails license keys to customers, and links to sign in to the customer pages, at
	// /account beside /licensing. Default: no mails, and no customer pages.
	Mail *Mail

	// Portal are the customer pages.
	Portal Portal
}

// Payments are accounts at payment providers.
type Payments struct {
	// Stripe is an account of Stripe. The page after a payment is
	// /payments/stripe/thanks?session_id={CHECKOUT_SESSION_ID}.
	Stripe *payment.Stripe

	// Paddle is an account of Paddle Billing.
	Paddle *payment.Paddle

	// Polar is an organization at Polar.
	Polar *payment.Polar

	// LemonSqueezy is a store at Lemon Squeezy.
	LemonSqueezy *payment.LemonSqueezy
}

// Mail is how mails are sent.
type Mail struct {
	// Server is the SMTP server that sends them.
	Server mail.Server

	// Shop is the name under the mails. Default: none.
	Shop string

	// Texts replace texts of the mails and of the pages of the sign-in.
	Texts mail.Texts
}

// Portal are the customer pages.
type Portal struct {
	// Renew is the URL at which a license is renewed, in which {license} and {product} are
	// replaced with their IDs. Default: no link.
	Renew string

	// Buy is the URL at which a license is bought, in which {product} is replaced with the ID
	// of the product. Default: no link.
	Buy string

	// Texts replace texts of the pages.
	Texts licensing.PortalTexts
}

// Mount is the path of the service.
const Mount = "/licensing"

const defaultAddr = "127.0.0.1:8181"

// URL returns the URL of the service for operators: the public one or, if it is not known,
// that on this machine.
func (c Config) URL() string {
	return strings.TrimSuffix(cmp.Or(c.Options.PublicURL, c.LocalURL()), "/")
}

// LocalURL returns the URL of the service on this machine.
func (c Config) LocalURL() string {
	host, port, _ := net.SplitHostPort(c.Addr)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	u := url.URL{Scheme: "http", Host: net.JoinHostPort(host, port), Path: Mount}
	if c.TLSCert != "" {
		u.Scheme = "https"
	}
	return u.String()
}

// check returns what the packages say about the settings of the groups that are needed: lines
// that begin with a path.
func (c Config) check(needed func(group string) bool) (lines []string) {
	var all []error
	if err, ok := errors.AsType[*api.InvalidError](c.Options.Validate()); ok {
		for _, f := range err.Fields {
			lines = append(lines, f.Field+" "+f.Detail)
		}
	}
	if needed("Payments") {
		for _, a := range c.Payments.Accounts() {
			all = append(all, a.Validate())
		}
	}
	if needed("Mail") && c.Mail != nil {
		all = append(all, c.Mail.Server.Validate())
	}
	if _, ok := mail.TextsFor(cmp.Or(c.Language, "en")); !ok {
		lines = append(lines, "Language must be en, de or fr")
	}
	if err := errors.Join(all...); err != nil {
		lines = append(lines, strings.Split(groups.Replace(err.Error()), "\n")...)
	}
	for _, at := range [][2]string{{"Portal.Renew", c.Portal.Renew}, {"Portal.Buy", c.Portal.Buy}} {
		if u, err := url.Parse(at[1]); at[1] != "" && (err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http") {
			lines = append(lines, at[0]+" must be a URL such as https://example.com/buy?product={product}")
		}
	}
	return lines
}

// groups replaces the names of packages in errors with those of groups in the file.
var groups = strings.NewReplacer("payment: ", "Payments.", "mail: ", "Mail.")

// Translate puts texts of the language in the place of those that the file does not have.
func (c *Config) Translate() {
	pages, _ := licensing.PortalTextsFor(c.Language)
	texts.Fill(&c.Portal.Texts, pages)
	if c.Mail != nil {
		mails, _ := mail.TextsFor(c.Language)
		texts.Fill(&c.Mail.Texts, mails)
	}
}
