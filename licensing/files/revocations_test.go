package files_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
)

// list signs a list and verifies it with a set.
func (f *fixture) list(set *licensefile.KeySet, licenses ...licensefile.RevokedLicense) licensefile.Revocations {
	f.t.Helper()
	text, err := f.SignRevocations(f.t.Context(), files.SignRevocationsParams{ProductID: "atlas", Licenses: licenses})
	if err != nil {
		f.t.Fatal(err)
	}
	r, err := set.VerifyRevocations(text)
	if err != nil {
		f.t.Fatal(err)
	}
	return r
}

// TestAListCondemnsACompromisedKey is the case of a program that pins both keys
// from the first day.
func TestAListCondemnsACompromisedKey(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, files.Options{})
	pinned, err := f.KeySet(t.Context())
	is.NoErr(err)
	stolen := f.sign()
	is.Equal(len(f.list(pinned).CondemnedKeys), 0)

	_, err = f.CondemnKey(t.Context(), files.CondemnKeyParams{ID: f.ids()[0]})
	is.NoErr(err)
	_, err = f.CondemnKey(t.Context(), files.CondemnKeyParams{ID: f.ids()[2]}) // newer than the active key
	is.NoErr(err)
	text, err := f.SignRevocations(t.Context(), files.SignRevocationsParams{ProductID: "atlas"})
	is.NoErr(err)
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(text, ".")[1])
	is.NoErr(err)
	require.NotContains(t, string(payload), f.ids()[2]) // a list cannot condemn later keys
	list := f.list(pinned)
	is.Equal(list.KeyID, f.ids()[1])
	is.Equal(list.CondemnedKeys, f.ids()[:1])
	after := pinned.Condemn(list.CondemnedKeys...)
	_, err = after.Verify(stolen)
	require.ErrorIs(t, err, licensefile.ErrCondemnedKey)
	file, err := after.Verify(f.sign())
	is.NoErr(err)
	is.NoErr(file.Check(licensefile.Expect{ProductID: "atlas", Now: f.now, Revocations: &list}))
}

func TestListsOfLicenses(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, files.Options{})
	set, err := f.KeySet(t.Context())
	is.NoErr(err)
	list := f.list(set, licensefile.RevokedLicense{Hash: licensefile.LicenseHash("lic_1"), MinGeneration: licensefile.AllGenerations, Until: f.now.Add(time.Hour)})
	is.Equal(list.IssuedAt, f.now)
	is.Equal(list.ExpiresAt, f.now.Add(7*24*time.Hour))
	is.NoErr(list.Check("atlas", f.now))
	file, err := set.Verify(f.sign())
	is.NoErr(err)
	require.ErrorIs(t, file.Check(licensefile.Expect{ProductID: "atlas", Now: f.now, Revocations: &list}), licensefile.ErrRevoked)
	_, err = f.SignRevocations(t.Context(), files.SignRevocationsParams{})
	require.ErrorIs(t, err, licensefile.ErrMalformed)
}

// TestSequencesRise has a clock that is set back, a second product, and
// concurrent callers.
func TestSequencesRise(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, files.Options{})
	set, err := f.KeySet(t.Context())
	is.NoErr(err)
	first := f.now.UnixMilli()
	is.Equal(f.list(set).Sequence, first)
	is.Equal(f.list(set).Sequence, first+1)
	f.now = f.now.Add(-time.Hour)
	is.Equal(f.list(set).Sequence, first+2)
	f.now = f.now.Add(2 * time.Hour)
	is.Equal(f.list(set).Sequence, f.now.UnixMilli())

	f.now = f.now.Add(-23 * time.Hour)
	is.Equal(f.list(set).Sequence, f.now.Add(23*time.Hour).UnixMilli()+1)

	var wg sync.WaitGroup
	var mu sync.Mutex
	seen := map[int64]bool{}
	for range 8 {
		wg.Go(func() {
			text, err := f.SignRevocations(t.Context(), files.SignRevocationsParams{ProductID: "harbor"})
			if err != nil {
				t.Error(err)
				return
			}
			r, err := set.VerifyRevocations(text)
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			seen[r.Sequence] = true
		})
	}
	wg.Wait()
	is.Equal(len(seen), 8)
	is.True(seen[f.now.UnixMilli()]) // a product does not depend on another
}

// TestLargeListsAreReportedForAWeek: as long as a list is valid.
func TestLargeListsAreReportedForAWeek(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, files.Options{})
	is.NoErr(f.st.Update(t.Context(), func(tx store.Tx) error {
		data := fmt.Appendf(nil, `{"sequence":1,"named":%d,"named_at":%q}`, licensefile.MaxListed/2+1, f.now.Format(time.RFC3339))
		return tx.PutEntries(t.Context(), store.Entry{Kind: "revocation_list", Key: "atlas", Data: data})
	}))
	named := func() (n []int) {
		all, err := inner.Of(f.Service).TroubledLists(t.Context())
		is.NoErr(err)
		for _, l := range all {
			n = append(n, l.Named)
		}
		return n
	}
	f.now = f.now.Add(7*24*time.Hour - time.Millisecond)
	is.Equal(named(), []int{licensefile.MaxListed/2 + 1})
	f.now = f.now.Add(time.Millisecond)
	is.Equal(len(named()), 0)
}

// TestListsAfterAWrongClock: one list of a clock that is far ahead does not disable
// the later ones of the right clock.
func TestListsAfterAWrongClock(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, files.Options{})
	set, err := f.KeySet(t.Context())
	is.NoErr(err)
	// ahead checks what is reported: nothing, or since when.
	ahead := func(since ...time.Time) {
		t.Helper()
		all, err := inner.Of(f.Service).TroubledLists(t.Context())
		is.NoErr(err)
		is.Equal(len(all), len(since))
		for i := range all {
			is.Equal(all[i].ProductID, "atlas")
			is.True(all[i].Ahead)
			is.Equal(all[i].Since, since[i])
		}
	}
	right := f.now
	f.now = right.Add(400 * 24 * time.Hour)
	wrong := f.list(set)
	ahead()
	f.now = right
	require.ErrorIs(t, wrong.Check("atlas", f.now), licensefile.ErrListAhead)
	ahead(time.Time{})

	list := f.list(set)
	is.NoErr(list.Check("atlas", f.now))
	is.Equal(list.Sequence, f.now.UnixMilli())
	is.Equal(f.list(set).Sequence, f.now.UnixMilli()+1)
	ahead(right)
	f.now = right.Add(24 * time.Hour)
	ahead()
}
