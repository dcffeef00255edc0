package license_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

func TestNewKey(t *testing.T) {
	is := is.New(t)
	form := regexp.MustCompile(`^([0-9A-HJKMNP-TV-Z]{5}-){4}[0-9A-HJKMNP-TV-Z]{5}$`)
	seen := map[string]bool{}
	for range 1000 {
		key := license.NewKey()
		is.True(form.MatchString(key))
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
	l := f.create(t, func(p *license.CreateParams) { p.Key = strings.ToLower(key) })
	is.Equal(l.Key, key) // one of ours is kept in its usual form
}
