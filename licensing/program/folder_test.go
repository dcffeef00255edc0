package program

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
)

// A seller is a vendor of the product atlas, whose programs have no Options.Dir and
// run on a machine without an ID.
type seller struct {
	*is.I
	t       *testing.T
	vendor  *licensingtest.Vendor
	license api.License
}

func newSeller(t *testing.T) *seller {
	s := &seller{I: is.New(t), t: t, vendor: licensingtest.NewVendor(t)}
	var err error
	s.license, err = s.vendor.Handler.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Acme Ltd", ProductID: "atlas", CustomerID: "cus_1", Terms: api.Terms{MaxActivations: new(int64(1))}})
	s.NoErr(err)
	s.vendor.Requests()
	return s
}

// open starts a program that pins these keys.
func (s *seller) open(keys []byte) *License {
	s.t.Helper()
	nothing := func() string { return "" }
	l, err := open(Options{URL: licensingtest.VendorURL, Keys: keys, ProductID: "atlas", Name: "pc", HTTPClient: s.vendor.HTTPClient()},
		machine{func(string) string { return "" }, nothing, nothing}, func() time.Time { return time.Now().Round(0) })
	s.NoErr(err)
	s.t.Cleanup(func() { l.Close() })
	return l
}

// userConfig makes a directory that of the configuration of the user.
func userConfig(t *testing.T) string {
	home := tempDir(t)
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "AppData"} {
		t.Setenv(name, home)
	}
	config, err := os.UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// TestVendorsWithOneProductID share no directory, so neither service receives the key
// of the other vendor.
func TestVendorsWithOneProductID(t *testing.T) {
	is := is.New(t)
	userConfig(t)
	a, b := newSeller(t), newSeller(t)
	one := a.open(a.vendor.Keys(t))
	is.NoErr(one.SetKey(t.Context(), a.license.Key))
	is.True(one.Status().Valid)

	two := b.open(b.vendor.Keys(t))
	is.Equal(two.Status().Code, CodeNoKey)
	is.NoErr(two.Refresh(t.Context()))
	is.Equal(len(b.vendor.Requests()), 0)
	is.True(one.fingerprint != two.fingerprint)
	is.NoErr(two.SetKey(t.Context(), b.license.Key))
	is.NoErr(errors.Join(one.Close(), two.Close()))

	for s, before := range map[*seller]*License{a: one, b: two} {
		l := s.open(s.vendor.Keys(t))
		is.True(l.Status().Valid)
		is.Equal(l.key, s.license.Key)
		is.Equal(l.fingerprint, before.fingerprint)
		is.Equal(l.disk, before.disk)
	}
}

// TestPinnedKeysRotate: each version of a program pins the keys of its time, and one
// in common with the version before is enough to keep the license key, the fingerprint
// and the seat. An older version finds the same directory.
func TestPinnedKeysRotate(t *testing.T) {
	is := is.New(t)
	config := userConfig(t)
	s := newSeller(t)
	var pins [][]byte
	first := s.open(s.vendor.Keys(t))
	is.NoErr(first.SetKey(t.Context(), s.license.Key))
	is.NoErr(first.Close())
	for range 3 {
		pins = append(pins, s.vendor.Keys(t))
		l := s.open(pins[len(pins)-1])
		is.True(l.Status().Valid)
		is.Equal(len(l.keys.IDs()), 2)
		is.Equal(l.key, s.license.Key)
		is.Equal(l.fingerprint, first.fingerprint)
		is.NoErr(l.Close())
		_, err := s.vendor.Handler.Files().RotateKey(t.Context(), files.RotateKeyParams{Force: true})
		is.NoErr(err)
		_, err = s.vendor.Handler.Files().RetireKey(t.Context(), l.keys.IDs()[0])
		is.NoErr(err)
	}
	for _, i := range []int{0, 2, 1, 2} {
		l := s.open(pins[i])
		is.Equal(l.key, s.license.Key)
		is.NoErr(l.Close())
	}
	entries, err := os.ReadDir(config)
	is.NoErr(err)
	is.Equal(len(entries), 1)
	page, err := s.vendor.Handler.Service().ListActivations(t.Context(), api.ListActivationsParams{LicenseID: s.license.ID})
	is.NoErr(err)
	is.Equal(len(page.Data), 1)
}

// TestFolderNames: the directories of products differ on file systems that ignore
// case, have no name that Windows reserves, and no product finds that of another.
func TestFolderNames(t *testing.T) {
	is := is.New(t)
	config := tempDir(t)
	seen := map[string]string{}
	for _, product := range []string{"atlas", "Atlas", "con", "nul", "CON", "con.txt", "../etc", "a b", "a-b", "a/b", "アトラス", ".", strings.Repeat("x", 255), strings.Repeat("x", 254)} {
		dir, text := findDir(config, product, []string{"key-1", "key-2"})
		name, err := filepath.Rel(config, filepath.Dir(dir))
		is.NoErr(err)
		is.Equal(filepath.Base(dir), "license")
		if other, ok := seen[strings.ToLower(name)]; ok {
			t.Errorf("%q and %q share %s", product, other, name)
		}
		seen[strings.ToLower(name)] = product
		if len(name) > 57 || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			t.Errorf("%q has the directory %q", product, name)
		}
		if base, _, found := strings.Cut(name, "-"); !found {
			t.Errorf("%q is reserved on Windows", base)
		}
		is.NoErr(disk{dir}.write(ownerName, text))
		same, text := findDir(config, product, []string{"key-2"})
		is.Equal(same, dir)
		is.Equal(text, "")
	}
	require.HasPrefix(t, seen["atlas-"+folderDigest("atlas", "key-1")], "atlas")
}

// TestDamagedOwner: a directory without a readable owner is that of the same keys.
func TestDamagedOwner(t *testing.T) {
	is := is.New(t)
	config := tempDir(t)
	dir, text := findDir(config, "atlas", []string{"key-1", "key-2"})
	is.NoErr(disk{dir}.write(ownerName, "{"))
	again, same := findDir(config, "atlas", []string{"key-1", "key-2"})
	is.Equal(again, dir)
	is.Equal(same, text)
	other, _ := findDir(config, "atlas", []string{"key-2"})
	is.True(other != dir)
}
