package web

import (
	"strings"
	"testing"
)

// FuzzEntityTags reads what it has read once more, written as ETag writes it.
func FuzzEntityTags(f *testing.F) {
	for _, s := range []string{`"1.active"`, `W/"1.active", "2.expired"`, "*", "", `"`, `,,"a",`, `"a""b"`, `w/"a"`, "\"\x7f\"", `"é"`, " \t", `*,"a"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tags, any, err := entityTags(withHeader("If-Match", s), "If-Match")
		if err != nil || any {
			return
		}
		var written []string
		for _, tag := range tags {
			text := `"` + tag.opaque + `"`
			if tag.weak {
				text = "W/" + text
			}
			written = append(written, text)
		}
		again, _, err := entityTags(withHeader("If-Match", strings.Join(written, ", ")), "If-Match")
		if err != nil || len(again) != len(tags) || len(tags) == 0 {
			t.Fatalf("%q gave %v, and then %v, %v", s, tags, again, err)
		}
		for i := range tags {
			if tags[i] != again[i] {
				t.Errorf("%q gave %v, and then %v", s, tags[i], again[i])
			}
		}
	})
}

// FuzzIdempotencyKey reads each key once more, in quotes.
func FuzzIdempotencyKey(f *testing.F) {
	for _, s := range []string{"k", `"k"`, `"a\"b\\c"`, `"`, `""`, "a b", "é", `"a"b`, `\`, `"\x"`, strings.Repeat("k", 256)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		key, err := idempotencyKey(withHeader("Idempotency-Key", s))
		if err != nil {
			return
		}
		if key == "" || len(key) > 255 || strings.ContainsFunc(key, func(c rune) bool { return c <= ' ' || c > '~' }) {
			t.Fatalf("%q passed as %q", s, key)
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
		if again, err := idempotencyKey(withHeader("Idempotency-Key", quoted)); err != nil || again != key {
			t.Errorf("%q gave %q, and then %q, %v", s, key, again, err)
		}
	})
}
