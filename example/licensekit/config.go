package main

import (
	"cmp"
	"crypto/tls"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"

	"github.com/seed-d8a106b4/licensekit/example/internal/settings"
)

// A config is the configuration of serve.
type config struct {
	settings.Config
	file string      // the path of the configuration file; empty: none
	tls  *tls.Config // nil: plain HTTP
	log  slog.Level
}

// readConfig reads the flags of serve, the environment and the configuration file. Its error
// names everything that is wrong.
func readConfig(args []string) (c config, err error) {
	set := settings.New(name+" serve FLAGS", os.Stdout)
	set.AddConfig()
	set.AddStore()
	addFlags(set)
	if err := set.ParseFlags(args); err != nil {
		return config{}, err
	}

	c = config{Config: set.Config("Store", "TLSCert", "TLSKey", "Options", "Payments", "Mail"), file: set.File()}
	rejectAddr(set, "Addr", c.Addr)
	if c.MetricsAddr != "" {
		rejectAddr(set, "MetricsAddr", c.MetricsAddr)
	}
	if trusted, err := parseProxies(c.TrustedProxies); err != nil {
		set.Reject("TrustedProxies", err.Error())
	} else if len(trusted) > 0 {
		c.Options.ClientIP = trusted.clientIP
	}
	c.tls = readTLS(set, c.TLSCert, c.TLSKey)
	if err := c.log.UnmarshalText([]byte(cmp.Or(c.LogLevel, "info"))); err != nil {
		set.Reject("LogLevel", "must be debug, info, warn or error")
	}
	if u, err := url.Parse(c.Options.PublicURL); err == nil && u.Host != "" { // a proxy may rewrite the Host header
		c.Options.Dashboard.Origins = append(c.Options.Dashboard.Origins, u.Scheme+"://"+u.Host)
	}
	if root, ok := strings.CutSuffix(strings.TrimSuffix(c.Options.PublicURL, "/"), mount); ok && c.Mail != nil {
		c.Options.PortalURL = cmp.Or(c.Options.PortalURL, root+account+"/licenses")
	}
	if c.Mail == nil && c.Portal != (settings.Portal{}) {
		set.Reject("Portal", "needs Mail, by which customers sign in to the pages")
	}
	if c.Mail != nil && c.accountURL() == "" {
		if c.Options.PortalURL != "" {
			set.Reject("Options.PortalURL", "must end in "+account+"/licenses, where the customer pages are")
		} else if c.file != "" {
			set.Reject("Options.PublicURL", "must be set and end in "+mount+": mails have links to the customer pages, at "+account+" on the same host")
		}
	}
	c.Translate()
	return c, set.Err()
}

// addFlags adds the flags of serve.
func addFlags(set *settings.Set) {
	set.String("addr", "", "the host:port to listen on; default: 127.0.0.1:8181")
	set.String("public-url", "", "the URL of the service for its clients, such as https://licenses.example.com/licensing")
	set.String("trusted-proxies", "", "addresses and networks of proxies, with commas, whose X-Forwarded-For is used")
	tlsFlags(set)
	set.String("metrics-addr", "", "the host:port of GET /metrics, which asks for no credentials")
	set.String("log-level", "", "debug, info, warn or error; default: info")
	set.String("smtp-addr", "", "the host:port of an SMTP server; customers get their keys by mail, at the email in the metadata of a license, and with --public-url links to /account/licenses/")
	set.String("smtp-from", "", "the address of the sender")
	set.String("smtp-user", "", "the user at the SMTP server")
	set.String("smtp-password-file", "", "a file with the password of that user")
}

// accountURL returns the URL of the customer pages and of the sign-in; empty: there are none.
func (c config) accountURL() string {
	root, ok := strings.CutSuffix(strings.TrimSuffix(c.Options.PortalURL, "/"), account+"/licenses")
	if c.Mail == nil || !ok {
		return ""
	}
	return root + account
}

// tlsFlags adds the flags for HTTPS.
func tlsFlags(set *settings.Set) (cert, key *string) {
	return set.String("tls-cert", "", "a PEM file with the certificate, for HTTPS; start the program again when it changes"),
		set.String("tls-key", "", "a PEM file with the key of the certificate")
}

// readTLS returns the configuration for HTTPS; nil: plain HTTP.
func readTLS(set *settings.Set, cert, key string) *tls.Config {
	if cert == "" && key == "" {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		set.Reject("TLSCert", "with the key: "+err.Error())
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}}
}

func rejectAddr(set *settings.Set, setting, addr string) {
	_, port, err := net.SplitHostPort(addr)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil {
		set.Reject(setting, "must be host:port, such as 127.0.0.1:8181")
	}
}
