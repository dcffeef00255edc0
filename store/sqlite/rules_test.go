//go:build !race

package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// The race detector makes the engine some ten times slower. What these tests
// share between goroutines TestRules shares as well, and it runs under both.

func TestRulesWhenEveryUpdateRunsTwice(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return storetest.Twice(open(t)) })
}

func TestRulesWithTwoStoresOnOneFile(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		path := filepath.Join(t.TempDir(), "licenses.db")
		return storetest.Handles(openAt(t, path), openAt(t, path))
	})
}
