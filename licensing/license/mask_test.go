package license_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
)

func TestMaskedCallerGetsNoKeys(t *testing.T) {
	is := is.New(t)
	f := newFixture(t)
	masked := f.As(license.Caller{MaskKeys: true}).As(license.Caller{Actor: "operator:opr_1"}) // As keeps the mask
	created, err := masked.Create(t.Context(), plain())
	is.NoErr(err)
	l, err := f.Get(t.Context(), created.ID)
	is.NoErr(err)
	want := "…" + l.Key[len(l.Key)-4:]
	is.Equal(created.Key, want)

	got, err := masked.Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(got.Key, want)
	name := "New name"
	got, err = masked.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, Name: &name})
	is.NoErr(err)
	is.Equal(got.Key, want)
	after, err := f.Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(after.Key, l.Key) // the stored key is the same

	list, err := masked.List(t.Context(), api.ListLicensesParams{})
	is.NoErr(err)
	is.Equal(list.Data[0].Key, want)
	is.Equal(len(search(t, f.Service, api.ListLicensesParams{Search: l.Key})), 1)
	is.Equal(len(search(t, masked, api.ListLicensesParams{Search: l.Key})), 1)
	is.Equal(len(search(t, masked, api.ListLicensesParams{Search: l.Key[:len(l.Key)-1]})), 0)
	is.Equal(len(search(t, f.Service, api.ListLicensesParams{KeyPart: l.Key[:5]})), 1)
	is.Equal(len(search(t, masked, api.ListLicensesParams{KeyPart: l.Key[:5]})), 0)

	var out bytes.Buffer
	is.NoErr(masked.Export(t.Context(), &out, api.ListLicensesParams{}))
	require.Contains(t, out.String(), l.ID)
	require.NotContains(t, out.String(), l.Key[len(l.Key)-4:])
}

// TestMaskedSearchesDoNotDependOnKeys: what a caller who sees masked keys finds and
// counts is the same in two stores that differ only in their keys, except by a whole
// key.
func TestMaskedSearchesDoNotDependOnKeys(t *testing.T) {
	is := is.New(t)
	stores := [2]*fixture{newFixture(t), newFixture(t)}
	var keys [2][]string
	for i := range 60 {
		id := store.NewID("lic", start.Add(time.Duration(i)*time.Minute))
		for n, f := range stores {
			key := license.NewKey()
			if i%3 == 0 {
				key = fmt.Sprintf("%c-imported-key-%03d", 'x'+n, i)
			}
			keys[n] = append(keys[n], key)
			importAll(t, f.Service, fmt.Sprintf(`{"id":%q,"key":%q,"name":"License %d","product_id":"p%d","customer_id":"c%d","metadata":{"ref":"%c%c"}}`,
				id, key, i, i%2, i%7, 'A'+i%26, 'A'+i%11))
		}
	}
	texts := []string{"", "license", "c1", "x-", "y-", "imported"}
	for _, list := range keys {
		for _, key := range list[:6] {
			texts = append(texts, key[:1], key[:2], key[:5], key[3:8], key[6:11], key[len(key)-4:], key[:len(key)-1])
		}
	}
	for _, products := range [][]string{nil, {"p1"}, {"p0", "p1"}} {
		for _, text := range texts {
			for _, p := range []api.ListLicensesParams{{Search: text, Limit: 4}, {KeyPart: text, Limit: 4}, {Search: text, KeyPart: "A", Limit: 4}} {
				var found [2][]string
				var counts [2]api.Counts
				for n, f := range stores {
					s := f.As(license.Caller{MaskKeys: true, Products: products})
					found[n] = search(t, s, p)
					var err error
					counts[n], err = s.Count(t.Context(), p)
					is.NoErr(err)
					is.True(p.KeyPart == "" || len(found[n]) == 0 && counts[n].Total == 0)
				}
				is.Equal(found[0], found[1])
				is.Equal(counts[0], counts[1])
			}
		}
	}
	for n, f := range stores {
		s := f.As(license.Caller{MaskKeys: true})
		for _, key := range keys[n] {
			is.Equal(len(search(t, s, api.ListLicensesParams{Search: key})), 1) // the whole key
		}
	}
}
