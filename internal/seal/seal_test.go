package seal

import (
	"bytes"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
)

func TestPreviousKeysOpenAndDoNotSeal(t *testing.T) {
	is := is.New(t)
	first, second := bytes.Repeat([]byte("1"), 32), bytes.Repeat([]byte("2"), 32)
	secret, about := []byte("secret"), []byte("whk_1")
	old := New("label", "the secret", first, nil)
	sealed, err := old.Seal(secret, about)
	is.NoErr(err)
	require.NotContains(t, string(sealed), string(secret))

	rotated := New("label", "the secret", second, [][]byte{first})
	clear, current, err := rotated.Open(sealed, about)
	is.NoErr(err)
	is.Equal(clear, secret)
	is.True(!current)
	again, err := rotated.Seal(clear, about)
	is.NoErr(err)
	_, current, err = rotated.Open(again, about)
	is.NoErr(err)
	is.True(current)
	_, _, err = old.Open(again, about)
	is.True(err != nil) // sealed with the new key only

	for name, box := range map[string]Box{
		"other key":   New("label", "the secret", second, nil),
		"other label": New("other", "the secret", first, nil),
		"no key":      New("label", "the secret", nil, nil),
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			_, _, err := box.Open(sealed, about)
			is.True(err != nil)
			require.Contains(t, err.Error(), "the secret")
			require.Contains(t, err.Error(), "Options.MasterKey")
		})
	}
	_, _, err = old.Open(sealed, []byte("whk_2"))
	is.True(err != nil) // moved to another record
	clear, current, err = New("label", "the secret", nil, [][]byte{first}).Open(sealed, about)
	is.NoErr(err)
	is.Equal(clear, secret)
	is.True(!current)
}
