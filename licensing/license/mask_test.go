package license_test

import (
	"bytes"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
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
	got, err = masked.Update(t.Context(), license.UpdateParams{ID: l.ID, Name: &name})
	is.NoErr(err)
	is.Equal(got.Key, want)
	after, err := f.Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal(after.Key, l.Key) // the stored key is the same

	list, err := masked.List(t.Context(), license.ListParams{})
	is.NoErr(err)
	is.Equal(list.Data[0].Key, want)
	is.Equal(len(search(t, f.Service, license.ListParams{Search: l.Key})), 1)
	is.Equal(len(search(t, masked, license.ListParams{Search: l.Key})), 1)
	is.Equal(len(search(t, masked, license.ListParams{Search: l.Key[:len(l.Key)-1]})), 0)
	is.Equal(len(search(t, f.Service, license.ListParams{KeyPart: l.Key[:5]})), 1)
	is.Equal(len(search(t, masked, license.ListParams{KeyPart: l.Key[:5]})), 0)

	var out bytes.Buffer
	is.NoErr(masked.Export(t.Context(), &out, license.ListParams{}))
	require.Contains(t, out.String(), l.ID)
	require.NotContains(t, out.String(), l.Key[len(l.Key)-4:])
}
