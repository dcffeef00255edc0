package files_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A brokenStore answers no reads.
type brokenStore struct{ store.Store }

func (brokenStore) Entries(context.Context, store.EntryQuery) ([]store.Entry, error) {
	return nil, store.ErrUnavailable
}

// TestAnotherProcessFollowsWithinASecond has a second Service on the store,
// which signs with what it has read for at most a second.
func TestAnotherProcessFollowsWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		f := newFixture(t, files.Options{})
		other := f.open(files.Options{})
		signer := func(s *files.Service) string {
			text, err := s.Sign(t.Context(), licensefile.Claims{
				ID: "file", LicenseID: "lic_1", ProductID: "atlas", Generation: 1,
				IssuedAt: f.now, NotBefore: f.now, ExpiresAt: f.now.Add(time.Hour),
			})
			is.NoErr(err)
			set, err := s.KeySet(t.Context())
			is.NoErr(err)
			file, err := set.Verify(text)
			is.NoErr(err)
			return file.KeyID
		}
		ids := f.ids()
		is.Equal(signer(f.Service), ids[0])
		is.Equal(signer(other), ids[0])
		_, err := f.RotateKey(t.Context(), files.RotateKeyParams{Force: true})
		is.NoErr(err)
		is.Equal(signer(f.Service), ids[1]) // immediately
		is.Equal(signer(other), ids[0])
		time.Sleep(time.Second)
		is.Equal(signer(other), ids[1])
	})
}

// A program refuses a list that is too old, so a list is signed again every six
// hours although nothing has changed, and immediately after a change of the keys.
func TestListsAreSignedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		s := files.New(memory.New(), files.Options{})
		list := func() string {
			text, err := s.Revocations(t.Context(), "atlas")
			is.NoErr(err)
			return text
		}
		first := list()
		time.Sleep(6*time.Hour - time.Second)
		is.Equal(list(), first)
		time.Sleep(6 * time.Second)
		second := list()
		is.True(second != first)
		keys, err := s.Keys(t.Context())
		is.NoErr(err)
		_, err = s.CondemnKey(t.Context(), files.CondemnKeyParams{ID: keys[0].ID})
		is.NoErr(err)
		is.True(list() != second) // immediately
	})
}

// TestListsOfLicensesAreLimited: anyone may ask for them.
func TestListsOfLicensesAreLimited(t *testing.T) {
	is := is.New(t)
	f := newFixture(t, files.Options{})
	for i := range files.LicenseListsMost + 1 {
		require.AtMost(t, files.Remember(f.Service, fmt.Sprintf("lic_%d", i)), files.LicenseListsMost)
	}
	is.Equal(files.Remember(f.Service, "lic_0"), 2)
}

func TestAFailedReadIsNotCached(t *testing.T) {
	f := newFixture(t, files.Options{})
	f.sign()
	s := files.New(brokenStore{f.st}, files.Options{})
	for range 2 {
		_, err := s.KeySet(t.Context())
		require.ErrorIs(t, err, store.ErrUnavailable)
	}
}
