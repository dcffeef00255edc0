package settings

import (
	"cmp"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/seed-d8a106b4/licensekit/example/internal/configfile"
)

// flagOf has the flags that win over a setting of the configuration file, by its path.
var flagOf = map[string]string{
	"Store": "store", "Addr": "addr", "MetricsAddr": "metrics-addr", "TLSCert": "tls-cert", "TLSKey": "tls-key",
	"TrustedProxies": "trusted-proxies", "LogLevel": "log-level", "Options.PublicURL": "public-url",
	"Options.MasterKey": "master-key-file", "Options.PreviousMasterKeys": "previous-master-keys-file",
	"Mail.Server.Addr": "smtp-addr", "Mail.Server.From": "smtp-from", "Mail.Server.User": "smtp-user", "Mail.Server.Password": "smtp-password-file",
}

// own are the options that the program sets itself.
var own = []string{"Options.Dashboard.ConfigFile", "Options.Dashboard.MailsKeys"}

// IsOwn reports whether the program sets the option at a path itself.
func IsOwn(path string) bool { return slices.Contains(own, path) }

// SettingOf returns the path of the setting over which a flag wins; empty: there is none.
func SettingOf(flag string) string {
	for path, f := range flagOf {
		if f == flag {
			return path
		}
	}
	return ""
}

// File returns the path of the configuration file; empty: none.
func (s *Set) File() string { return s.config }

// Values returns what the file says, by path, after Config.
func (s *Set) Values() map[string]json.RawMessage { return s.values }

// Config returns the settings of the file, and of flags and variables, which win. What is
// wrong is for Err. Of secrets and other files, only those in the groups that are needed are
// read: each is the beginning of a path, such as Store, TLSCert, Options or Payments.
func (s *Set) Config(needs ...string) (c Config) {
	needed := func(path string) bool {
		group, _, _ := strings.Cut(path, ".")
		_, given := s.value(flagOf[path])
		return slices.Contains(needs, group) && !given
	}
	faults := s.readFile(&c, needed)
	s.useFlags(&c, needed)
	if !slices.Contains(needs, "Options") {
		c.Options.MasterKey, c.Options.PreviousMasterKeys = nil, nil
	}
	for _, line := range c.check(needed) {
		path, text, _ := strings.Cut(line, " ")
		if !slices.ContainsFunc(faults, func(f configfile.Fault) bool { return strings.HasPrefix(f.Path, path) }) {
			s.Reject(path, text)
		}
	}
	if slices.Contains(needs, "Store") {
		s.checkStore(c.Store)
	}
	return c
}

// readFile reads the configuration file, if there is one, and returns what is wrong with
// settings.
func (s *Set) readFile(c *Config, needed func(path string) bool) []configfile.Fault {
	if s.config == "" {
		return nil
	}
	text, err := os.ReadFile(s.config)
	if err != nil {
		s.Reject("config", err.Error())
		return nil
	}
	file, err := configfile.JSON(text)
	if err != nil {
		s.note(s.config + ": " + err.Error())
		return nil
	}
	d := configfile.Decoder{Dir: filepath.Dir(s.config), Needs: needed, Own: own}
	d.Decode(file, c)
	kind, _, _ := strings.Cut(c.Store, ":")
	switch {
	case kind == "env", kind == "file":
		c.Store, _ = d.Secret("Store", c.Store)
	case !IsPostgres(c.Store) && needed("Store"):
		c.Store, _ = d.File("Store", c.Store)
	case hasPassword(c.Store):
		d.Fault("Store", `has a password: put the URL into a file or a variable, and refer to it, as in "file:store.url"`)
	}
	if needed("TLSCert") {
		c.TLSCert, _ = d.File("TLSCert", c.TLSCert)
	}
	if needed("TLSKey") {
		c.TLSKey, _ = d.File("TLSKey", c.TLSKey)
	}
	for _, f := range d.Faults {
		s.note(s.config + ": " + strings.TrimSpace(f.Path+" "+f.Text))
	}
	s.values = d.Values
	return d.Faults
}

// useFlags puts the flags and variables that are given in the place of what the file says.
func (s *Set) useFlags(c *Config, needed func(path string) bool) {
	var proxies, password string
	m := cmp.Or(c.Mail, new(Mail))
	for path, to := range map[string]*string{
		"Store": &c.Store, "Addr": &c.Addr, "MetricsAddr": &c.MetricsAddr, "TLSCert": &c.TLSCert, "TLSKey": &c.TLSKey, "LogLevel": &c.LogLevel,
		"Options.PublicURL": &c.Options.PublicURL, "TrustedProxies": &proxies,
		"Mail.Server.Addr": &m.Server.Addr, "Mail.Server.From": &m.Server.From, "Mail.Server.User": &m.Server.User, "Mail.Server.Password": &password,
	} {
		if value, given := s.value(flagOf[path]); given {
			*to = value
			if strings.HasPrefix(path, "Mail.") {
				c.Mail = m
			}
		}
	}
	c.Addr = cmp.Or(c.Addr, defaultAddr)
	if proxies != "" {
		c.TrustedProxies = strings.FieldsFunc(proxies, func(r rune) bool { return r == ',' || r == ' ' })
	}
	if password != "" && needed("Mail") {
		m.Server.Password = s.ReadFile("smtp-password-file", password)
	}
	if needed("Options") {
		s.masterKeys(&c.Options)
	}
}

// checkStore rejects the name of a store that cannot be one.
func (s *Set) checkStore(name string) {
	if name == "" {
		s.Reject("Store", "must be a SQLite file or a PostgreSQL database")
	} else if !IsPostgres(name) && (strings.Contains(name, "://") || strings.Contains(name, "=")) {
		s.Reject("Store", "must be the path of a SQLite file, without = and ://, or a URL such as postgres://USER@HOST/DATABASE")
	}
}

// hasPassword reports whether the URL of a database has a password, or cannot be read.
func hasPassword(store string) bool {
	if !IsPostgres(store) {
		return false
	}
	u, err := url.Parse(store)
	if err != nil {
		return true
	}
	_, has := u.User.Password()
	return has || u.Query().Has("password")
}
