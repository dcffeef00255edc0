package postgres_test

import (
	"testing"

	"github.com/seed-d8a106b4/licensekit/example/internal/catalogcheck"
)

// TestCatalog compares counts and search with all licenses, while two services
// change them.
func TestCatalog(t *testing.T) {
	db := open(t, "pgx", sharedDSN(t))
	catalogcheck.Run(t, newStore(t, db, newSchema(t, db)), 6, 3)
}
