package seal

import (
	"bytes"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
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

// TestRenewKeepsWhatOthersWrite: entries that another process replaces, encrypts or
// deletes after they were listed stay as that process left them.
func TestRenewKeepsWhatOthersWrite(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	st := memory.New()
	put := func(key, data string) {
		is.NoErr(st.Update(ctx, func(tx store.Tx) error {
			return tx.PutEntries(ctx, store.Entry{Kind: "secret", Key: key, Data: []byte(data)})
		}))
	}
	for _, key := range []string{"deleted", "replaced", "sealed", "untouched"} {
		put(key, `"first"`)
	}
	meanwhile := map[string]func(){
		"deleted": func() {
			is.NoErr(st.Update(ctx, func(tx store.Tx) error { return tx.DeleteEntries(ctx, "secret", "deleted") }))
		},
		"replaced": func() { put("replaced", `"second"`) },
		"sealed":   func() { put("sealed", `"renewed by another"`) },
	}
	n, err := Renew(ctx, st, "secret", func(e store.Entry, n *Renewed) ([]byte, error) {
		if write := meanwhile[e.Key]; write != nil {
			delete(meanwhile, e.Key)
			write()
		}
		if bytes.HasPrefix(e.Data, []byte(`"renewed`)) {
			return nil, nil
		}
		n.Secrets++
		return append([]byte(`"renewed `), e.Data[1:]...), nil
	})
	is.NoErr(err)
	is.Equal(n, Renewed{Secrets: 2})
	entries, err := st.Entries(ctx, store.EntryQuery{Kind: "secret", Limit: store.MaxLimit})
	is.NoErr(err)
	got := make(map[string]string)
	for _, e := range entries {
		got[e.Key] = string(e.Data)
	}
	is.Equal(got, map[string]string{"replaced": `"renewed second"`, "sealed": `"renewed by another"`, "untouched": `"renewed first"`})
}
