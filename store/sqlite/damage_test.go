package sqlite_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// TestDamagedPageEndsReadiness overwrites the pages that have one license. Other
// reads work, so none of them shows the damage.
func TestDamagedPageEndsReadiness(t *testing.T) {
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "licenses.db")
	st, err := sqlite.Open(path)
	is.NoErr(err)
	id := func(n int) string { return fmt.Sprintf("lic_%026d", n) }
	for n := range 200 {
		is.NoErr(st.Update(t.Context(), func(tx store.Tx) error {
			return tx.CreateLicenses(t.Context(), store.License{ID: id(n), Key: id(n), Document: []byte(strings.Repeat(fmt.Sprintf("<%d>", n), 100))})
		}))
	}
	is.NoErr(st.Close())
	data, err := os.ReadFile(path)
	is.NoErr(err)
	damaged := 0
	for page := range len(data) / 4096 {
		if content := data[page*4096:][:4096]; bytes.Contains(content, []byte("<150><150>")) {
			copy(content, bytes.Repeat([]byte{0xa5}, 4096))
			damaged++
		}
	}
	require.Greater(t, damaged, 0)
	is.NoErr(os.WriteFile(path, data, 0o600))

	st, err = sqlite.Open(path)
	is.NoErr(err)
	defer st.Close()
	h := licensing.NewHandler(st, licensing.Options{Logger: slog.New(slog.DiscardHandler)})
	is.Equal(getStatus(h, "/ready"), 200)
	_, err = h.Service().Get(t.Context(), id(150))
	require.ErrorIs(t, err, store.ErrDamaged)
	is.Equal(getStatus(h, "/ready"), 503)
	_, err = st.License(t.Context(), id(10))
	is.NoErr(err)
	is.Equal(getStatus(h, "/ready"), 503)
	is.Equal(h.Health(t.Context()).Problems[0].Code, licensing.HealthDamaged)
}
