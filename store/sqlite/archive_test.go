package sqlite_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// TestArchiveThroughAnotherBackend moves a store from memory to a file and back.
// All archives must be the same, byte for byte.
func TestArchiveThroughAnotherBackend(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	first := memory.New()
	rules := license.New(first, license.Options{})
	for i := range 60 {
		l, err := rules.Create(ctx, api.CreateLicenseParams{
			Name: fmt.Sprint("Lïcence ", i), ProductID: fmt.Sprint("prod_", i%3), CustomerID: fmt.Sprint("cus_", i%7),
			Terms: api.Terms{Entitlements: map[string]any{"users": i}}, Metadata: map[string]string{"n": "<&>"},
		})
		is.NoErr(err)
		_, err = rules.Activate(ctx, api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc"})
		is.NoErr(err)
		if i%5 == 0 {
			_, err = rules.Suspend(ctx, api.ChangeStateParams{ID: l.ID})
			is.NoErr(err)
		}
	}
	_, _, err := rules.Once(ctx, "key", "", func(*license.Service) ([]byte, error) { return []byte("reply"), nil })
	is.NoErr(err)
	is.NoErr(first.Update(ctx, func(tx store.Tx) error {
		return tx.PutEntries(ctx, store.Entry{Kind: "delivery", Key: "whk_1/dlv_1", Owner: "whk_1", ExpiresAt: time.UnixMilli(1).UTC(), CreatedAt: time.UnixMilli(2).UTC()})
	}))

	file, err := sqlite.Open(filepath.Join(t.TempDir(), "archive.db"))
	is.NoErr(err)
	defer file.Close()
	last := memory.New()
	var archives [3]bytes.Buffer
	for i, st := range []store.Store{first, file, last} {
		if i > 0 {
			is.NoErr(store.Import(ctx, st, bytes.NewReader(archives[i-1].Bytes())))
		}
		is.NoErr(st.View(ctx, func(r store.Reader) error { return store.Export(ctx, r, &archives[i]) }))
	}
	require.Greater(t, archives[0].Len(), 60*500)
	is.True(bytes.Equal(archives[1].Bytes(), archives[0].Bytes()))
	is.True(bytes.Equal(archives[2].Bytes(), archives[0].Bytes()))
}
