package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

func TestRules(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return open(t) })
}

func TestDurable(t *testing.T) {
	storetest.RunDurable(t, func(t *testing.T, dir string) store.Store {
		st, err := Open(filepath.Join(dir, "licenses.db"))
		if err != nil {
			t.Fatal(err)
		}
		return st
	})
}

func TestRulesWhenEveryUpdateRunsTwice(t *testing.T) {
	if raceDetector {
		t.Skip("takes half a minute under the race detector, and shares no more memory than TestRules")
	}
	storetest.Run(t, func(t *testing.T) store.Store { return storetest.Twice(open(t)) })
}

func TestRulesWithTwoStoresOnOneFile(t *testing.T) {
	if raceDetector {
		t.Skip("takes half a minute under the race detector, and shares no more memory than TestRules")
	}
	storetest.Run(t, func(t *testing.T) store.Store {
		path := filepath.Join(t.TempDir(), "licenses.db")
		return storetest.Handles(openAt(t, path), openAt(t, path))
	})
}
