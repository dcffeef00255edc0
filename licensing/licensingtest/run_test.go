package licensingtest_test

import (
	"testing"

	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

func TestServiceOnMemory(t *testing.T) {
	licensingtest.RunService(t, func(t *testing.T) store.Store { return memory.New() })
}

// The other backends are under it where no host imports the test: in example.
func TestMemory(t *testing.T) {
	licensingtest.RunAPI(t, func(t *testing.T) store.Store { return memory.New() })
}
