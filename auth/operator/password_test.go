package operator

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/hashcost"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

func TestPasswordHash(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	hashcost.Current = costOfHosts
	defer hashcost.ForTests()

	phc, err := hashPassword(ctx, "a horse that reads the news")
	is.NoErr(err)
	require.HasPrefix(t, phc, "$argon2id$v=19$m=19456,t=2,p=1$") // the parameters are readable

	ok, weak, err := verifyPassword(ctx, "a horse that reads the news", phc)
	is.NoErr(err)
	is.True(ok && !weak) // the right password, at today's cost
	ok, _, err = verifyPassword(ctx, "a horse that reads the News", phc)
	is.NoErr(err)
	is.True(!ok) // bytes count

	again, err := hashPassword(ctx, "a horse that reads the news")
	is.NoErr(err)
	is.True(again != phc) // salted

	// Made by another implementation of argon2id, at a lower cost.
	ok, weak, err = verifyPassword(ctx, "password", "$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHQ$ZVrRXqxlLcWftzT51TK/vEW6LCzAI1a0e5oVKdIf6lE")
	is.NoErr(err)
	is.True(!ok && weak)

	// The last byte of the hash differs; the time alone is lower.
	last := strings.LastIndexByte(phc, '$')
	sum, err := base64.RawStdEncoding.DecodeString(phc[last+1:])
	is.NoErr(err)
	sum[hashLength-1] ^= 1
	ok, weak, err = verifyPassword(ctx, "a horse that reads the news", phc[:last+1]+base64.RawStdEncoding.EncodeToString(sum))
	is.NoErr(err)
	is.True(!ok && !weak)
	_, weak, err = verifyPassword(ctx, "password", strings.Replace(phc, "t=2", "t=1", 1))
	is.NoErr(err)
	is.True(weak)

	for _, phc := range []string{"", "$argon2i$v=19$m=64,t=1,p=1$c29tZXNhbHQ$AAAA", "$argon2id$v=19$m=64,t=0,p=1$c29tZXNhbHQ$AAAA", "$argon2id$v=19$x$y$z"} {
		_, _, err := verifyPassword(ctx, "password", phc)
		is.True(err != nil) // a hash that is none is an error, not a wrong password
	}
	_, _, err = verifyPassword(ctx, "whatever it is", dummyHash())
	is.NoErr(err)
}

func TestCheckPassword(t *testing.T) {
	for _, tt := range []struct{ name, password, code string }{
		{"nothing", "", "required"},
		{"fourteen characters", "dG7 kl;x Pw2!q", "too_short"},
		{"fifteen characters", "dG7 kl;x Pw2!q9", ""},
		{"fifteen characters of several bytes", "äöüßéèñçøåœłžšđ", ""},
		{"a sentence", "the ferry leaves before breakfast", ""},
		{"a long one", strings.Repeat("ferry breakfast ", 16), ""},
		{"a longer one", strings.Repeat("ferry breakfast ", 16) + "!", "too_long"},
		{"one letter", "aaaaaaaaaaaaaaaa", "too_common"},
		{"one unit", "abc1abc1abc1abc1a", "too_common"},
		{"the digits", "12345678901234567", "too_common"},
		{"the digits back", "098765432109876", "too_common"},
		{"the alphabet", "abcdefghijklmnopq", "too_common"},
		{"the keyboard", "qwertyuiopasdfghjkl", "too_common"},
		{"a well-known one", "Correct Horse Battery Staple", "too_common"},
		{"a well-known one, dressed up", "Password-123456789!", "too_common"},
		{"the e-mail address", "Ada.Lovelace@example.com", "too_common"},
		{"the name over and over", "ada.lovelaceada.lovelace1", "too_common"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			is := is.New(t)
			code, detail := checkPassword(tt.password, "ada.lovelace@example.com")
			is.Equal(code, tt.code)
			is.Equal(detail == "", code == "")
		})
	}
}
