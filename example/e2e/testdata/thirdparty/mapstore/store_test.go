package mapstore_test

import (
	"testing"

	"example.com/thirdparty/mapstore"

	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

func open(*testing.T) store.Store { return mapstore.New() }

func TestStore(t *testing.T) { storetest.Run(t, open) }

func TestService(t *testing.T) { licensingtest.RunService(t, open) }

func TestAPI(t *testing.T) { licensingtest.RunAPI(t, open) }

func BenchmarkStore(b *testing.B) {
	storetest.Benchmark(b, func(*testing.B) store.Store { return open(nil) })
}
