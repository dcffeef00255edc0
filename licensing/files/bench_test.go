package files_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// BenchmarkSign signs files with an encrypted key of a database.
func BenchmarkSign(b *testing.B) {
	st, err := sqlite.Open(filepath.Join(b.TempDir(), "licenses.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer st.Close()
	s := files.New(st, files.Options{MasterKey: make([]byte, 32)})
	now := time.Now()
	claims := licensefile.Claims{
		ID: "file", LicenseID: "lic_1", ProductID: "atlas", Generation: 1, IssuedAt: now, NotBefore: now, ExpiresAt: now.Add(time.Hour),
		Entitlements: map[string]any{"export": true, "users": 25.0},
	}
	for b.Loop() {
		if _, err := s.Sign(b.Context(), claims); err != nil {
			b.Fatal(err)
		}
	}
}
