package license_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

func TestNewKey(t *testing.T) {
	is := is.New(t)
	form := regexp.MustCompile(`^([0-9A-HJKMNP-TV-Z]{5}-){4}[0-9A-HJKMNP-TV-Z]{5}$`)
	seen := map[string]bool{}
	for range 1000 {
		key := license.NewKey()
		require.Matches(t, key, form)
		is.True(!seen[key])
		seen[key] = true
		read, ok := license.ParseKey(key)
		is.True(ok)
		is.Equal(read, key)
	}
}

func TestParseKeyForgives(t *testing.T) {
	forgiven := strings.NewReplacer("1", "l", "0", "o", "-", " – ")
	for range 200 {
		key := license.NewKey()
		for _, typed := range []string{
			strings.ToLower(key), strings.ReplaceAll(key, "-", ""), forgiven.Replace(key), " " + key + "\n",
			strings.ReplaceAll(strings.ReplaceAll(key, "1", "I"), "-", "_"), strings.Join(strings.Split(key, ""), "."),
		} {
			if read, ok := license.ParseKey(typed); !ok || read != key {
				t.Fatalf("ParseKey(%q) = %q, %t; want %q", typed, read, ok, key)
			}
		}
	}
}

// TestParseKeyFindsSlips: every wrong character and every two that changed
// places are found.
func TestParseKeyFindsSlips(t *testing.T) {
	const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	random := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		key := license.NewKey()
		for i := range key {
			if key[i] == '-' {
				continue
			}
			for _, c := range []byte(alphabet) {
				slip := []byte(key)
				slip[i] = c
				if _, ok := license.ParseKey(string(slip)); ok != (c == key[i]) {
					t.Fatalf("%s for %s: ok is %t", slip, key, ok)
				}
			}
			j := random.IntN(len(key))
			if key[j] == '-' || key[j] == key[i] {
				continue
			}
			slip := []byte(key)
			slip[i], slip[j] = slip[j], slip[i]
			if _, ok := license.ParseKey(string(slip)); ok {
				t.Fatalf("%s for %s: two changed places, and it is ok", slip, key)
			}
		}
	}
}

func TestParseKeyRefuses(t *testing.T) {
	key := license.NewKey()
	for _, text := range []string{"", "-", key + "0", key[1:], key[:len(key)-1] + "U", key[:len(key)-1] + "é", key + strings.Repeat(" ", 1024), "\xff" + key} {
		if _, ok := license.ParseKey(text); ok {
			t.Errorf("ParseKey(%q) is ok", text)
		}
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add(license.NewKey())
	f.Add("ſ-K-ı")
	f.Fuzz(func(t *testing.T, text string) {
		key, ok := license.ParseKey(text)
		if !ok {
			return
		}
		if again, ok := license.ParseKey(key); !ok || again != key {
			t.Errorf("ParseKey(%q) = %q, which reads as %q", text, key, again)
		}
	})
}

func TestKeysAreFoundAsTyped(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	key := license.NewKey()
	l := f.create(t, func(p *api.CreateLicenseParams) { p.Key = " " + strings.ToLower(key) })
	is.Equal(l.Key, key) // spaces belong to no key, so this one was typed
}

// foreignKey is a key of another system whose check character happens to match,
// with the letters that no generated key has.
func foreignKey(t *testing.T) string {
	t.Helper()
	for range 100_000 {
		key := []byte(license.NewKey())
		i := strings.IndexAny(string(key), "01")
		if i < 0 {
			continue
		}
		key[i] = map[byte]byte{'0': 'O', '1': 'L'}[key[i]]
		return string(key)
	}
	t.Fatal("no key")
	return ""
}

// TestForeignKeysAreShownAsSupplied: a key of another system that reads as a
// generated one is found in any form, and is shown and exported unchanged.
func TestForeignKeysAreShownAsSupplied(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	key := foreignKey(t)
	canonical, ok := license.ParseKey(key)
	is.True(ok)
	is.True(key != canonical)
	l := f.create(t, func(p *api.CreateLicenseParams) { p.Key = key })
	is.Equal(l.Key, key)

	shown := func(want string) {
		t.Helper()
		read, err := f.Get(t.Context(), l.ID)
		is.NoErr(err)
		is.Equal(read.Key, want)
		page, err := f.List(t.Context(), api.ListLicensesParams{})
		is.NoErr(err)
		is.Equal(page.Data[0].Key, want)
		var out strings.Builder
		is.NoErr(f.Export(t.Context(), &out, api.ListLicensesParams{}))
		require.Contains(t, out.String(), `"key":"`+want+`"`)
		out.Reset()
		is.NoErr(inner.Of(f.Service).MoveIn().ExportCSV(t.Context(), &out, api.ListLicensesParams{}))
		require.Contains(t, out.String(), ","+want+",")
		masked, err := f.As(license.Caller{MaskKeys: true}).Get(t.Context(), l.ID)
		is.NoErr(err)
		is.Equal(masked.Key, "…"+want[len(want)-4:])
	}
	shown(key)
	_, err := f.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, Name: ptr("changed")})
	is.NoErr(err)
	shown(key)
	for _, typed := range []string{key, canonical, strings.ToLower(key)} {
		v, err := f.Validate(t.Context(), api.ValidateKeyParams{Key: typed})
		is.NoErr(err)
		is.True(v.Valid)
		page, err := f.List(t.Context(), api.ListLicensesParams{Search: typed})
		is.NoErr(err)
		is.Equal(len(page.Data), 1)
		p := plain()
		p.Key = typed
		_, err = f.Create(t.Context(), p)
		require.ErrorIs(t, err, api.ErrKeyTaken)
		_, err = f.Rekey(t.Context(), api.RekeyLicenseParams{ID: l.ID, Key: typed})
		is.Equal(fields(t, err), map[string]string{"key": "taken"})
	}

	row, err := f.store.License(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(row.Key, canonical)
	other := foreignKey(t)
	_, err = f.Rekey(t.Context(), api.RekeyLicenseParams{ID: l.ID, Key: other})
	is.NoErr(err)
	shown(other)
	_, err = f.Rekey(t.Context(), api.RekeyLicenseParams{ID: l.ID, Key: canonical})
	is.NoErr(err)
	shown(canonical)
}

func TestForeignKeysAreImportedAsSupplied(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	key := foreignKey(t)
	canonical, _ := license.ParseKey(key)
	row := `{"name":"n","product_id":"p","customer_id":"c","key":"` + key + `"}`
	results := importAll(t, f.Service, row)
	is.Equal(results[0].Result, api.ImportCreated)
	l, err := f.Get(t.Context(), results[0].ID)
	is.NoErr(err)
	is.Equal(l.Key, key)
	var out strings.Builder
	is.NoErr(f.Export(t.Context(), &out, api.ListLicensesParams{}))
	for _, again := range []string{row, strings.ReplaceAll(row, key, canonical), strings.TrimSpace(out.String())} {
		is.Equal(importAll(t, f.Service, again)[0].Result, api.ImportExists)
	}
	file := []byte("name,product_id,customer_id,key\nn,p,c," + key + "\nn,p,c," + canonical + "\n")
	p, err := inner.Of(f.Service).MoveIn().PreviewCSV(t.Context(), file)
	is.NoErr(err)
	is.Equal(p.Results[0].Result, api.ImportExists)
	is.Equal(p.Results[1].Result, api.ImportRefused) // the same key twice
}
