package settings

import (
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/internal/configfile"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// all are the groups that serve needs.
var all = []string{"Store", "TLSCert", "TLSKey", "Options", "Payments", "Mail"}

// key is a master key in base64.
const key = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

// read reads a configuration file with flags, and returns what it says and all faults in it.
func read(t *testing.T, text string, needs []string, flags ...string) (Config, string) {
	t.Helper()
	is := is.New(t)
	dir := t.TempDir()
	for name, content := range map[string]string{"master.key": key + "\n", "short.key": "c2hvcnQ=", "stripe.key": "rk_1\n", "empty": " \n", "licensekit.json": text} {
		is.NoErr(os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	name := filepath.Join(dir, "licensekit.json")
	set := New("test", io.Discard)
	set.AddConfig()
	set.AddStore()
	set.String("addr", "", "")
	_, err := set.Parse(append(flags, "--config", name))
	is.NoErr(err)
	c := set.Config(needs...)
	if err := set.Err(); err != nil {
		return c, strings.ReplaceAll(err.Error(), name+": ", "")
	}
	return c, ""
}

// TestConfig: comments and final commas are allowed, durations have days, secrets come from
// files and variables, paths are relative to the file, and texts may look like comments.
func TestConfig(t *testing.T) {
	is := is.New(t)
	t.Setenv("STRIPE_SECRET", "whsec_1")
	t.Setenv("STATE_DIRECTORY", "/var/lib/licensekit")
	t.Setenv("CREDENTIALS_DIRECTORY", t.TempDir())
	is.NoErr(os.WriteFile(filepath.Join(os.Getenv("CREDENTIALS_DIRECTORY"), "polar"), []byte("polar_1"), 0o600))
	c, faults := read(t, "\ufeff"+`{ // "Addr": "a comment",
		"Store": "$STATE_DIRECTORY/licenses.db", "Addr": "127.0.0.1:1", // and "more", here
		"TrustedProxies": ["10.0.0.0/8",],
		"Options": {"PublicURL": "https://a.example//licensing", "MasterKey": "file:master.key", "ProductNames": {"atlas": "Atlas 5\", // really ,}"},
			"Events": {"Retention": "30d", "ExpiryNotices": ["90m", "1d"]}, "Tokens": {"DisableGET": true, "Max": 7}},
		"Payments": {"Stripe": {"Key": "file:stripe.key", "Secrets": ["env:STRIPE_SECRET"], "States": {"frozen": "paused"}}, "Polar": {"Secrets": ["file:$CREDENTIALS_DIRECTORY/polar"]}},
		"Mail": {"Server": {"Addr": "smtp.example:587", "From": "A <a@example.com>"}, "Texts": {"Lang": "de"}}, "Portal": {"Texts": {"Key": "Ihr Schlüssel"},
	 },
	}`, all)
	is.Equal(faults, "")
	is.Equal([]any{c.Store, c.Addr, c.TrustedProxies, c.Options.PublicURL, string(c.Options.MasterKey)},
		[]any{"/var/lib/licensekit/licenses.db", "127.0.0.1:1", []string{"10.0.0.0/8"}, "https://a.example//licensing", "0123456789abcdef0123456789abcdef"})
	is.Equal([]any{c.Options.Events.Retention, c.Options.Events.ExpiryNotices[1], c.Options.Tokens.DisableGET, c.Options.Tokens.Max}, []any{30 * 24 * time.Hour, 24 * time.Hour, true, 7})
	is.Equal([]any{c.Payments.Stripe.Key, c.Payments.Stripe.Secrets[0], string(c.Payments.Stripe.States["frozen"]), c.Payments.Paddle == nil, c.Payments.Polar.Secrets[0]}, []any{"rk_1", "whsec_1", "paused", true, "polar_1"})
	is.Equal([]any{c.Options.ProductNames["atlas"], c.Mail.Texts.Lang, c.Portal.Texts.Key}, []any{`Atlas 5", // really ,}`, "de", "Ihr Schlüssel"})

	c, faults = read(t, `{"Store": "licenses.db"}`, all)
	is.Equal([]any{faults, filepath.Base(c.Store), filepath.IsAbs(c.Store), c.Addr}, []any{"", "licenses.db", true, "127.0.0.1:8181"})
}

// TestConfigFaults: all faults are named together, with their paths and what to do, and no
// value is repeated.
func TestConfigFaults(t *testing.T) {
	_, faults := read(t, `{"Store": "a=b.db", "addr": "x", "Addr": 5, "Addr": "y", "LogLevel": null, "Nothing": 1, "PublicURL": "x", "Stripe": {},
		"Options": {"PublicUrl": "x", "TLSkey": "x", "PortalURL": "ftp://x", "Logger": {}, "RecheckAfter": 60, "MaxOffline": "2w", "MasterKey": "`+key+`", "PreviousMasterKeys": ["file:short.key"],
			"Limits": {"MaxBody": 1.5}, "Tokens": [], "HoldOffline": 1, "Events": {"Retention": "1h"}, "ProductNames": {"a": "b", "a": "c"}, "Dashboard": {"ConfigFile": "x"}},
		"Payments": {"Stripe": {"Key": "rk_live_secret", "Client": {}, "States": {"new": "pause"}}, "Polar": {"Secrets": ["env:NOT_SET_HERE"]}, "LemonSqueezy": {"Secrets": ["file:empty", "file:none"]}, "Paddle": {}},
		"Mail": {"Server": {"Addr": "smtp.example", "User": "u", "Password": ""}, "Texts": []}, "Portal": {"Buy": "shop"}}`, all)
	for _, want := range []string{
		"addr is not a setting; it is written Addr", "Addr must be a text in quotes", "Addr is there twice", "LogLevel is null; leave it out",
		"Nothing is not a setting; licensekit config prints all settings", "PublicURL is not a setting; it is written Options.PublicURL", "Stripe is not a setting; it is written Payments.Stripe",
		"Options.PublicUrl is not a setting; it is written Options.PublicURL", "Options.PortalURL must be an absolute http or https URL", "Options.TLSkey is not a setting; it is written TLSKey", "Options.Logger cannot be set in a file", "Options.Dashboard.ConfigFile cannot be set in a file",
		`Options.RecheckAfter must be a duration such as "90s", "12h" or "30d"`, "Options.MaxOffline must be a duration", "Options.MasterKey is a secret", "Options.PreviousMasterKeys[0] must lead to a key",
		"Options.Limits.MaxBody must be a whole number", "Options.Tokens must be an object", "Options.HoldOffline must be true or false", "Options.Events.Retention must be", "Options.ProductNames.a is there twice",
		"Payments.Stripe.Key is a secret", "Payments.Stripe.Client cannot be set in a file", "Payments.Stripe.States", "Payments.Polar.Secrets[0] refers to the variable NOT_SET_HERE, which is not set",
		"Payments.LemonSqueezy.Secrets[0] refers to the file", "which is empty", "Payments.LemonSqueezy.Secrets[1] refers to a file that cannot be read", "no such file", "Payments.Paddle.Key must be",
		"Mail.Server.Addr must be host:port", "Mail.Server.From must be", "Mail.Server.User needs Password", "Mail.Server.Password is a secret", "Mail.Texts must be an object", "Portal.Buy must be a URL",
		"Store must be the path of a SQLite file",
	} {
		if !strings.Contains(faults, want) {
			t.Errorf("no fault %q in\n%s", want, faults)
		}
	}
	require.NotContains(t, faults, "rk_live_secret", "MDEyMzQ1", "must be at least 32 bytes", "Stripe.Key must be") // the first says it
	for text, want := range map[string]string{
		"{": "line 1: ", "{\"Addr\": \n\n\"a\" \"b\"}": "line 3: ", `{} {}`: "line 1: ", `[]`: "must be an object", "": "line 1: ",
		`{"Store": "postgres://u:hunter2@db/x"}`: "Store has a password", `{"Store": "postgres://u@db/x?password=hunter2"}`: "Store has a password",
		`{"Store": "$NOT_SET_HERE/licenses.db"}`: "Store has the variable NOT_SET_HERE, which is not set", `{}`: "Store must be a SQLite file",
	} {
		_, faults := read(t, text, all)
		require.Contains(t, faults, want)
		require.NotContains(t, faults, "hunter2")
	}
}

// TestFlagsWin over the file, whose value is not even read; a fault names where the setting is
// made.
func TestFlagsWin(t *testing.T) {
	is := is.New(t)
	file := filepath.Join(t.TempDir(), "key")
	is.NoErr(os.WriteFile(file, []byte(key), 0o600))
	t.Setenv("LICENSEKIT_PUBLIC_URL", "https://b.example/licensing") // also for a command without that flag
	c, faults := read(t, `{"Store": "$NOT_SET_HERE/a.db", "Addr": "127.0.0.1:1", "Options": {"PublicURL": "https://a.example/licensing", "MasterKey": "file:none"}}`, all,
		"--store", "b.db", "--addr", "127.0.0.1:2", "--master-key-file", file)
	is.Equal(faults, "")
	is.Equal([]any{c.Store, c.Addr, c.URL(), len(c.Options.MasterKey)}, []any{"b.db", "127.0.0.1:2", "https://b.example/licensing", 32})
	t.Setenv("LICENSEKIT_PUBLIC_URL", "b.example")
	_, faults = read(t, `{"Store": "a.db", "Options": {"PortalURL": "a.example"}}`, all)
	require.Contains(t, faults, "--public-url (LICENSEKIT_PUBLIC_URL): must be an absolute", "Options.PortalURL must be an absolute")
}

// TestSecretsThatAreNotNeeded are not read: a backup has neither the credentials of the
// service nor its master key.
func TestSecretsThatAreNotNeeded(t *testing.T) {
	is := is.New(t)
	const text = `{"Store": "licenses.db", "TLSCert": "$NOT_SET_HERE/cert", "Options": {"MasterKey": "file:none", "PreviousMasterKeys": ["env:NOT_SET_EITHER"]},
		"Payments": {"Stripe": {"Key": "env:STRIPE_NOT_SET", "Secrets": []}}, "Mail": {"Server": {"Password": "file:nothing"}}}`
	c, faults := read(t, text, []string{"Store"})
	is.Equal([]any{faults, filepath.Base(c.Store)}, []any{"", "licenses.db"})
	_, faults = read(t, text, []string{"Options"})
	require.Contains(t, faults, "Options.MasterKey refers", "NOT_SET_EITHER")
	require.NotContains(t, faults, "STRIPE_NOT_SET", "nothing", "NOT_SET_HERE")
	_, faults = read(t, text, all)
	require.Contains(t, faults, "STRIPE_NOT_SET", "nothing", "NOT_SET_HERE", "Payments.Stripe.Secrets must have", "Mail.Server.Addr must be")
}

// TestOptionsInFile: a file can set each option that is a value.
func TestOptionsInFile(t *testing.T) {
	var left []string
	var walk func(path string, of reflect.Type)
	walk = func(path string, of reflect.Type) {
		fields := configfile.Fields(of)
		for f := range of.Fields() {
			switch at := configfile.Join(path, f.Name); {
			case IsOwn("Options." + at):
			case !slices.ContainsFunc(fields, func(g reflect.StructField) bool { return g.Name == f.Name }):
				left = append(left, at)
			case f.Type.Kind() == reflect.Struct:
				walk(at, f.Type)
			}
		}
	}
	walk("", reflect.TypeOf(Config{}.Options))
	is.New(t).Equal(left, []string{
		"Now", "Logger", "RequestLog", "SigningKeys", "ClientIP", "Observe", "BeforeCreate", "Limiter", "Subscribers", "Webhooks.Transport", "Dashboard.Operator", "Dashboard.Mailer",
	})
}
