package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/store"
)

// TestFirstSchemaMovesForward opens a file of the first schema: its records are
// there, and the new indexes find them.
func TestFirstSchemaMovesForward(t *testing.T) {
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "licenses.db")
	opts := Options{BusyTimeout: time.Second}
	_, err := makeFile(path)
	is.NoErr(err)
	c, err := connect(writerDSN(path, opts))
	is.NoErr(err)
	is.NoErr(c.script(fmt.Sprintf("BEGIN; %s; PRAGMA application_id = %d; PRAGMA user_version = 1; COMMIT", steps()[0], applicationID)))
	is.NoErr(c.script(`
		INSERT INTO license (id, name, product_id, customer_id, key, state, state_reason, grace_seconds, max_activations, lease_seconds, revision)
		VALUES ('l', 'n', 'p', 'c', 'k', 'active', '', 0, 3, 60, 1);
		INSERT INTO activation (license_id, id, fingerprint, name, lease_ends_at, ended_at, end_reason)
		VALUES ('l', 'a', 'fa', '', NULL, NULL, ''), ('l', 'b', 'fb', '', 2000, NULL, ''), ('l', 'c', 'fc', '', 1000, NULL, ''), ('l', 'd', 'fd', '', 1000, 500, 'released')`))
	is.NoErr(c.close())

	st := openAt(t, path)
	ids := func(q store.ActivationQuery) (ids string) {
		q.LicenseID = "l"
		rows, err := st.Activations(context.Background(), q)
		is.NoErr(err)
		for _, a := range rows {
			ids += a.ID
		}
		return ids
	}
	is.Equal(ids(store.ActivationQuery{}), "abcd")
	is.Equal(ids(store.ActivationQuery{LiveAt: time.UnixMilli(1500)}), "ab")
	is.Equal(ids(store.ActivationQuery{LeaseEnds: store.TimeRange{Before: time.UnixMilli(5000)}}), "cb")
	is.Equal(ids(store.ActivationQuery{LeaseEnds: store.TimeRange{Before: time.UnixMilli(0), OrNone: true}}), "a")
	list, err := st.Licenses(context.Background(), store.LicenseQuery{CustomerID: "c", ProductID: "p"})
	is.NoErr(err)
	is.Equal(len(list), 1)
}
