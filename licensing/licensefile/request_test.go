package licensefile

import (
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

func TestRequests(t *testing.T) {
	for _, key := range []string{"", "8X2KQ-00000-00000-00000-00000"} {
		for _, fingerprint := range []string{"m", "Ada's machine ü", strings.Repeat("f", 128), strings.Repeat("語", 255)} {
			is := is.New(t)
			r := NewRequest(key, fingerprint)
			text, err := r.Text()
			is.NoErr(err)
			require.Matches(t, text, regexp.MustCompile(`^[A-Z0-9-]+$`)) // alphanumeric mode of a QR code
			is.True(len(text) <= 400 || len(fingerprint) > 128)
			require.NotContains(t, text, "8X2KQ")
			var lines strings.Builder
			for i, c := range strings.ToLower(text) {
				if i%70 == 69 {
					lines.WriteString(" \r\n")
				}
				lines.WriteRune(c)
			}
			for _, typed := range []string{text, " " + text + "\n", lines.String()} {
				got, err := ParseRequest(typed)
				is.NoErr(err)
				is.Equal(got, r)
			}
		}
	}
	is := is.New(t)
	first, second := NewRequest("", "m"), NewRequest("", "m")
	is.True(first.Nonce != second.Nonce)
}

func TestParseRequestRefuses(t *testing.T) {
	is := is.New(t)
	text, err := NewRequest("", "machine").Text()
	is.NoErr(err)
	swapped := []byte(text)
	if swapped[30] = 'A'; text[30] == 'A' {
		swapped[30] = 'B'
	}
	for _, wrong := range []string{
		"", "machine", requestPrefix, text[:len(text)-1], text[1:], text + "A", string(swapped), strings.Replace(text, "-1-", "-2-", 1),
		must(Sign(leastClaims(), edKey('a'))), requestPrefix + strings.Repeat("A", 100_000),
		requestPrefix + requestEncoding.EncodeToString(append(make([]byte, 32), checksum(make([]byte, 32))...)), // no fingerprint
		requestPrefix + requestEncoding.EncodeToString(append(append(make([]byte, 32), 0xff), checksum(append(make([]byte, 32), 0xff))...)),
	} {
		_, err := ParseRequest(wrong)
		require.ErrorIs(t, err, ErrRequest)
	}
	for _, r := range []Request{{}, {Fingerprint: "m"}, NewRequest("", ""), NewRequest("", strings.Repeat("f", 1021)), NewRequest("", "\xff"), {"m", "x", NewRequest("", "m").Nonce}} {
		_, err := r.Text()
		require.ErrorIs(t, err, ErrMalformed)
	}
}

func TestKeyHash(t *testing.T) {
	is := is.New(t)
	want := KeyHash("8X2K1-01234-56789-ABCDE-FGHJK")
	is.Equal(len(want), 22)
	for _, typed := range []string{"8x2kl-o1234-56789-abcde-fghjk", "8X2KI01234 56789_ABCDE.FGHJK", "8X2K1–01234–56789–ABCDE–FGHJK\n"} {
		is.Equal(KeyHash(typed), want)
	}
	is.True(KeyHash("8X2K1-01234-56789-ABCDE-FGHJM") != want)
	is.Equal(KeyHash(""), "")
	is.Equal(KeyHash(" - "), "")
}

// FuzzParseRequest parses any text: what is read has a text that is read alike.
func FuzzParseRequest(f *testing.F) {
	f.Add(must(NewRequest("key", "machine").Text()))
	f.Add(requestPrefix)
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRequest(text)
		if err != nil {
			return
		}
		again, err := r.Text()
		if err != nil {
			t.Fatal(err)
		}
		if read, err := ParseRequest(again); err != nil || read != r {
			t.Errorf("read %+v and %v, want %+v", read, err, r)
		}
	})
}
