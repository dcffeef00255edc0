package main

import (
	"crypto/tls"
	"net"
	netmail "net/mail"
	"net/url"
	"os"

	"github.com/seed-d8a106b4/licensekit/example/internal/settings"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/mail"
)

// A config is the configuration of serve.
type config struct {
	store       string
	addr        string
	metricsAddr string            // empty: no metrics
	tls         *tls.Config       // nil: plain HTTP
	mail        *mail.Server      // nil: no mails
	options     licensing.Options // with what flags set
}

// readConfig reads the flags of serve and the environment. Its error names everything
// that is wrong.
func readConfig(args []string) (c config, err error) {
	set := settings.New(name+" serve FLAGS", os.Stdout)
	addr := set.String("addr", "127.0.0.1:8181", "the host:port to listen on")
	publicURL := set.String("public-url", "", "the URL of the service for its clients, such as https://licenses.example.com/licensing")
	proxies := set.String("trusted-proxies", "", "addresses and networks of proxies, with commas, whose X-Forwarded-For is used")
	cert, key := tlsFlags(set)
	metricsAddr := set.String("metrics-addr", "", "the host:port of GET /metrics, which asks for no credentials")
	smtpAddr := set.String("smtp-addr", "", "the host:port of an SMTP server; customers get their keys by mail, at the email in the metadata of a license, and with --public-url links to /account/licenses/")
	smtpFrom := set.String("smtp-from", "", "the address of the sender")
	smtpUser := set.String("smtp-user", "", "the user at the SMTP server")
	smtpPassword := set.String("smtp-password-file", "", "a file with the password of that user")
	rest, err := set.Parse(args)
	if err != nil {
		return config{}, err
	}
	if len(rest) > 0 {
		return config{}, &settings.Error{Text: "serve has flags only; see " + name + " serve -help"}
	}

	c = config{store: set.Store(), addr: *addr, metricsAddr: *metricsAddr, options: set.MasterKeys()}
	rejectAddr(set, "addr", c.addr)
	if c.metricsAddr != "" {
		rejectAddr(set, "metrics-addr", c.metricsAddr)
	}
	if trusted, err := parseProxies(*proxies); err != nil {
		set.Reject("trusted-proxies", err.Error())
	} else if len(trusted) > 0 {
		c.options.ClientIP = trusted.clientIP
	}
	c.tls = readTLS(set, *cert, *key)
	c.mail = readMail(set, *smtpAddr, *smtpFrom, *smtpUser, *smtpPassword)
	public := licensing.Options{PublicURL: *publicURL}
	if err := public.Validate(); err != nil {
		set.Reject("public-url", "must be the URL of the service, such as https://licenses.example.com/licensing")
	} else if u, _ := url.Parse(*publicURL); u.Host != "" {
		c.options.Dashboard.Origins = []string{u.Scheme + "://" + u.Host} // a proxy may rewrite the Host header
	}
	c.options.PublicURL = *publicURL
	return c, set.Err()
}

// tlsFlags adds the flags for HTTPS.
func tlsFlags(set *settings.Set) (cert, key *string) {
	return set.String("tls-cert", "", "a PEM file with the certificate, for HTTPS"),
		set.String("tls-key", "", "a PEM file with the key of the certificate")
}

// readTLS returns the configuration for HTTPS; nil: plain HTTP.
func readTLS(set *settings.Set, cert, key string) *tls.Config {
	if cert == "" && key == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		set.Reject("tls-cert", "with --tls-key: "+err.Error())
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}}
}

// readMail returns the mail server, or nil if there is none.
func readMail(set *settings.Set, addr, from, user, passwordFile string) *mail.Server {
	if addr == "" {
		if from != "" || user != "" || passwordFile != "" {
			set.Reject("smtp-addr", "the other flags of SMTP need it")
		}
		return nil
	}
	rejectAddr(set, "smtp-addr", addr)
	if a, err := netmail.ParseAddress(from); err != nil || a.Address != from {
		set.Reject("smtp-from", "must be an address such as licenses@example.com")
	}
	var password string
	if (user == "") != (passwordFile == "") {
		set.Reject("smtp-user", "needs --smtp-password-file, and the other way around")
	} else if passwordFile != "" {
		password = set.File("smtp-password-file", passwordFile)
	}
	return &mail.Server{Addr: addr, From: from, User: user, Password: password}
}

func rejectAddr(set *settings.Set, flag, addr string) {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		set.Reject(flag, "must be host:port, such as 127.0.0.1:8181")
	}
}
