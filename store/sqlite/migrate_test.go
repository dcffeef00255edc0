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

// TestFirstReleaseIsLockedOut has a file open as a process of the first release
// has it, while this version migrates it. No statement on events, entries or
// licenses runs any more.
func TestFirstReleaseIsLockedOut(t *testing.T) {
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "licenses.db")
	_, err := makeFile(path)
	is.NoErr(err)
	old, err := connect(writerDSN(path, Options{BusyTimeout: time.Second}))
	is.NoErr(err)
	defer old.close()
	is.NoErr(old.script(fmt.Sprintf("BEGIN; %s; PRAGMA application_id = %d; PRAGMA user_version = 1; COMMIT", steps()[0], applicationID)))
	statements := []string{
		`INSERT INTO event (id, type, actor, request_id, subject, product_id, customer_id) VALUES ('e', '', '', '', '', '', '')`,
		`SELECT seq FROM event`,
		`DELETE FROM event WHERE seq IN (SELECT seq FROM event WHERE seq <= 0)`,
		`INSERT INTO entry (kind, key, owner, expires_at) VALUES ('token', 'k', '', 1)`,
		`SELECT data FROM entry WHERE kind = 'token' AND key = 'k'`,
		`DELETE FROM entry WHERE kind = 'token' AND key = 'k'`,
		`SELECT id, name FROM license`,
		`UPDATE license SET name = '' WHERE id = 'l'`,
	}
	for _, text := range statements {
		_, err := old.exec(text)
		is.NoErr(err)
	}

	openAt(t, path)
	for _, text := range statements {
		if _, err := old.exec(text); err == nil {
			t.Errorf("runs: %s", text)
		}
	}
}

// TestSecondSchemaMovesForward keeps activations, and counts the active ones where
// there is no count yet.
func TestSecondSchemaMovesForward(t *testing.T) {
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "licenses.db")
	_, err := makeFile(path)
	is.NoErr(err)
	c, err := connect(writerDSN(path, Options{BusyTimeout: time.Second}))
	is.NoErr(err)
	is.NoErr(c.script(fmt.Sprintf("BEGIN; %s; %s; PRAGMA application_id = %d; PRAGMA user_version = 2; COMMIT", steps()[0], steps()[1], applicationID)))
	is.NoErr(c.script(`
		INSERT INTO license (id, name, product_id, customer_id, key, state, state_reason, grace_seconds, max_activations, lease_seconds, revision, expires_at)
		VALUES ('l', 'n', 'p', 'c', 'k', 'active', '', 0, 3, 60, 1, 5000), ('m', 'n', 'p', 'c', 'k2', 'active', '', 0, 3, 60, 1, NULL);
		INSERT INTO license (id, name, product_id, customer_id, key, state, state_reason, state_at, starts_at, expires_at, grace_seconds,
			max_activations, lease_seconds, entitlements, metadata, revision, created_at, updated_at)
		VALUES ('n', 'Ünïcode "\' || char(9, 1, 39, 8232) || '</', 'x', 'c', 'k3', 'revoked', 'why', 0, 1, -1, 7, 0, -1, x'7b2261223a20312e307d', x'7b7d', 9, -1, 3),
			('o', '', 'x', 'c', 'k4', 'active', '', NULL, NULL, NULL, 0, -1, -1, NULL, NULL, 0, NULL, NULL);
		INSERT INTO activation (license_id, id, fingerprint, name, lease_ends_at, ended_at, end_reason, created_at, last_seen_at, metadata)
		VALUES ('l', 'a', 'fa', 'n', 2000, NULL, 'r', 1, 2, x'7b7d'), ('l', 'b', 'fb', '', NULL, NULL, '', 1, 2, NULL), ('l', 'c', 'fc', '', NULL, 3, '', 1, 2, NULL),
			('m', 'a', 'fa', '', NULL, NULL, '', 1, 2, NULL);
		INSERT INTO entry (kind, key, owner, data, expires_at, move) VALUES ('seats', 'm', '', x'37', -62135596800000, 2)`))
	is.NoErr(c.close())

	st, ctx := openAt(t, path), t.Context()
	rows, err := st.Activations(ctx, store.ActivationQuery{LicenseID: "l"})
	is.NoErr(err)
	is.Equal(len(rows), 3)
	is.Equal(rows[0], store.Activation{
		LicenseID: "l", ID: "a", Fingerprint: "fa", LeaseEndsAt: time.UnixMilli(2000).UTC(),
		Document: []byte(`{"name":"n","reason":"r","metadata":{},"created":1,"seen":2}`),
	})
	licenses, err := st.Licenses(ctx, store.LicenseQuery{ProductID: "x"})
	is.NoErr(err)
	is.Equal(licenses, []store.License{{
		ID: "n", Key: "k3", CustomerID: "c", ProductID: "x", State: "revoked",
		StartsAt: time.UnixMilli(1).UTC(), ExpiresAt: time.UnixMilli(-1).UTC(),
		Document: []byte(`{"name":"Ünïcode \"\\\t\u0001'` + "\u2028" + `</","reason":"why","since":0,"grace":7,"seats":0,` +
			`"entitlements":{"a": 1.0},"metadata":{},"revision":9,"created":-1,"updated":3}`),
	}, {
		ID: "o", Key: "k4", CustomerID: "c", ProductID: "x", State: "active", Document: []byte("{}"),
	}})
	for id, want := range map[string]string{"l": "2", "m": "7"} {
		e, err := st.Entry(ctx, "seats", id)
		is.NoErr(err)
		is.Equal(string(e.Data), want)
		is.Equal(e.Move, store.Derived)
	}
	ending, err := st.Licenses(ctx, store.LicenseQuery{ProductID: "p", Order: store.ByExpiresAt})
	is.NoErr(err)
	is.Equal(len(ending), 1)
	is.NoErr(st.Update(ctx, func(tx store.Tx) error { return tx.DeleteLicense(ctx, "l") }))
	rows, err = st.Activations(ctx, store.ActivationQuery{LicenseID: "l"})
	is.NoErr(err)
	is.Equal(len(rows), 3)
}
