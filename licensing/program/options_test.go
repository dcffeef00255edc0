package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

func TestOptions(t *testing.T) {
	is := is.New(t)
	jwks, _ := newKey(t)
	dir := tempDir(t)
	good := Options{URL: "https://acme.example/licensing/", Keys: jwks, ProductID: "atlas", Dir: dir}
	for want, change := range map[string]func(*Options){
		"Options.Keys must be set":              func(o *Options) { o.Keys = nil },
		"Options.Keys must be the answer":       func(o *Options) { o.Keys = []byte("<html>") },
		"Options.ProductID must be set":         func(o *Options) { o.ProductID = "" },
		"Options.URL must begin":                func(o *Options) { o.URL = "acme.example" },
		"Options.URL must not have":             func(o *Options) { o.URL = "https://me:secret@acme.example" },
		"Options.URL must be a URL":             func(o *Options) { o.URL = "https://me:secret@%" },
		"Options.Fingerprint must be at most":   func(o *Options) { o.Fingerprint = strings.Repeat("x", 256) },
		"Options.Name must be at most":          func(o *Options) { o.Name = "\xff" },
		"Options.Fingerprint must be at most 2": func(o *Options) { o.Fingerprint = "pc-1\n" },
	} {
		o := good
		change(&o)
		l, err := Open(o)
		is.Equal(l, nil)
		require.Contains(t, err.Error(), "program: "+want)
		require.NotContains(t, err.Error(), "secret")
	}

	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "AppData"} {
		t.Setenv(name, "")
	}
	o := good
	o.Dir = ""
	_, err := Open(o)
	require.Contains(t, err.Error(), "program: Options.Dir must be set")
	is.NoErr(o.complete())
	host, err := os.Hostname()
	is.NoErr(err)
	is.Equal(o.Name, host)
	is.Equal(o.URL, "https://acme.example/licensing")
}

// TestFingerprints: the ID of the machine is hashed with the product; without one,
// a random ID is kept; without a directory either, there is none.
func TestFingerprints(t *testing.T) {
	is := is.New(t)
	nothing := func() string { return "" }
	const uuid = "12345678-1234-1234-1234-123456789ABC"
	linux := machine{func(path string) string {
		if path == "/etc/machine-id" {
			return "0123456789abcdef0123456789abcdef\n"
		}
		return ""
	}, nothing, nothing}
	dbus := machine{func(path string) string {
		if path == "/etc/machine-id" {
			return "uninitialized\n"
		}
		return "0123456789abcdef0123456789abcdef\n"
	}, nothing, nothing}
	windows := machine{func(string) string { return "" }, func() string { return utf16Text(uuid + "\x00") }, nothing}
	mac := machine{func(string) string { return "" }, nothing, func() string {
		return `+-o J314sAP  <class IOPlatformExpertDevice>
      "IOPlatformUUID" = "` + uuid + `"
      "IOPlatformSerialNumber" = "X"`
	}}
	none := machine{func(string) string { return "" }, nothing, nothing}

	seen := map[string]bool{}
	for _, m := range []machine{linux, windows} {
		for _, product := range []string{"atlas", "borealis"} {
			f, err := m.fingerprint(product, disk{"/dev/null/none"})
			is.NoErr(err)
			is.Equal(len(f), 32)
			require.NotContains(t, f, "0123456789abcdef")
			seen[f] = true
		}
	}
	is.Equal(len(seen), 4)
	same := func(a, b machine) {
		t.Helper()
		x, _ := a.fingerprint("atlas", disk{})
		y, _ := b.fingerprint("atlas", disk{})
		is.Equal(x, y)
	}
	same(linux, dbus)
	same(windows, mac)

	d := disk{filepath.Join(tempDir(t), "license")}
	f, err := none.fingerprint("atlas", d)
	is.NoErr(err)
	is.Equal(len(f), 26)
	again, err := none.fingerprint("atlas", d)
	is.NoErr(err)
	is.Equal(again, f)
	f, err = none.fingerprint("atlas", disk{"/dev/null/none"})
	is.Equal(f, "")
	is.True(err != nil)
	if thisMachine().id() == "" {
		t.Log("this machine has no ID")
	}
}

// TestNoFingerprint: a program that cannot be identified takes no seat, however
// often it starts.
func TestNoFingerprint(t *testing.T) {
	onStage(t, func(s *stage) {
		b := s.box("pc-1")
		nothing := func() string { return "" }
		b.machine, b.opts.Dir = machine{func(string) string { return "" }, nothing, nothing}, "/dev/null/none"
		for range 3 {
			l := b.open()
			s.is(l, CodeFingerprintRequired, CodeDirUnusable)
			require.ErrorIs(s.T, l.SetKey(s.Context(), s.license.Key), CodeFingerprintRequired)
			_, err := l.Request()
			require.ErrorIs(s.T, err, CodeFingerprintRequired)
		}
		s.Equal(len(s.requests()), 0)
		s.Equal(len(s.seats()), 0)
	})
}
