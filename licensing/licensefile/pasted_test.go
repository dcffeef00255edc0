package licensefile_test

import (
	"crypto/ed25519"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// mangled are texts as they come out of mail programs and editors.
func mangled(text string) map[string]string {
	wrap := func(end, begin string) string {
		var lines []string
		for rest := text; rest != ""; {
			n := min(75, len(rest))
			lines, rest = append(lines, rest[:n]), rest[n:]
		}
		return begin + strings.Join(lines, end+begin) + "\n"
	}
	return map[string]string{
		"wrapped":              wrap("\n", ""),
		"quoted-printable":     wrap("=\r\n", ""),
		"a reply":              wrap("\r\n", "> "),
		"indented":             wrap("\n", "\t"),
		"a byte order mark":    "\ufeff" + text,
		"invisible characters": wrap("\u200b", "\u2060") + "\u00ad",
		"wide spaces":          wrap("\u00a0\n", "\u3000"),
		"quotes":               "\u201c" + text + "\u201d",
	}
}

// TestPasted: what mail does to a file, to a list and to an answer with both is undone, and
// Verify refuses it as any JOSE library does.
func TestPasted(t *testing.T) {
	is := is.New(t)
	_, signer, err := ed25519.GenerateKey(nil)
	is.NoErr(err)
	keys, err := licensefile.NewKeySet(signer.Public())
	is.NoErr(err)
	now := time.Now().Truncate(time.Second)
	file, err := licensefile.Sign(licensefile.Claims{
		ID: "file-1", LicenseID: "lic_1", ProductID: "atlas", Generation: 1, IssuedAt: now, NotBefore: now, ExpiresAt: now.Add(time.Hour),
		Entitlements: map[string]any{"note": strings.Repeat("long ", 50)},
	}, signer)
	is.NoErr(err)
	list, err := licensefile.SignRevocations(licensefile.Revocations{ProductID: "atlas", Sequence: 1, IssuedAt: now, ExpiresAt: now.Add(time.Hour)}, signer)
	is.NoErr(err)
	for name, text := range mangled(file) {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			is.Equal(licensefile.Pasted(text), file)
			_, err := keys.Verify(licensefile.Pasted(text))
			is.NoErr(err)
			if name != "indented" && strings.TrimSpace(text) != file {
				_, err = keys.Verify(text)
				is.True(err != nil)
			}
		})
	}
	for name, text := range mangled(list) {
		if got := licensefile.Pasted(text); got != list {
			t.Errorf("%s: %q", name, got)
		}
	}
	answer := file + " " + list
	is.Equal(licensefile.Pasted(answer), answer)
	for between, text := range map[string]string{"\n": file + "\n" + list, "nothing": file + list, "\r\n\r\n": file + "\r\n\r\n" + list} {
		if got := licensefile.Pasted(text); got != answer {
			t.Errorf("%q: %q", between, got)
		}
	}
	for name, text := range mangled(answer) {
		if got := licensefile.Pasted(text); got != answer {
			t.Errorf("%s: %q", name, got)
		}
	}
	for _, text := range []string{"", "?", "a.b", "a.b.c.d", file[:len(file)-1], file + "."} {
		is.Equal(licensefile.Pasted(text), strings.Trim(text, "?"))
	}
}

// TestPastedRequests: requests come by mail too.
func TestPastedRequests(t *testing.T) {
	is := is.New(t)
	_, signer, err := ed25519.GenerateKey(nil)
	is.NoErr(err)
	request := licensefile.NewRequest("ABCDE", strings.Repeat("fingerprint ", 10)+"x")
	text, err := request.Text()
	is.NoErr(err)
	for name, text := range mangled(text) {
		got, err := licensefile.ParseRequest(text)
		is.NoErr(err)
		is.Equal(fmt.Sprint(name, got), fmt.Sprint(name, request))
	}
	text, err = licensefile.SignOfficeRequest(licensefile.OfficeRequest{Seats: 3, KeyHash: licensefile.KeyHash("ABCDE")}, signer)
	is.NoErr(err)
	for name, text := range mangled(text) {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			is.True(licensefile.IsOfficeRequest(text))
			got, err := licensefile.ParseOfficeRequest(text)
			is.NoErr(err)
			is.Equal(got.Seats, int64(3))
		})
	}
	_, err = licensefile.ParseOfficeRequest(text[:len(text)-1])
	require.ErrorIs(t, err, licensefile.ErrRequest)
}
