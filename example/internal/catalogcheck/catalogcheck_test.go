package catalogcheck_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/internal/catalogcheck"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

func TestMemory(t *testing.T) {
	for seed := range uint64(2) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { catalogcheck.Run(t, memory.New(), 8, seed) })
	}
}

func TestSQLite(t *testing.T) {
	is := is.New(t)
	st, err := sqlite.Open(filepath.Join(t.TempDir(), "licenses.db"))
	is.NoErr(err)
	defer st.Close()
	catalogcheck.Run(t, st, 8, 7)
}
