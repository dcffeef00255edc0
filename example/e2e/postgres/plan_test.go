package postgres_test

import (
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/store"
)

var licenses = flag.Int("licenses", 50_000, "how many `licenses` the tables hold whose query plans are checked")

// fill writes the data of a large vendor: most licenses belong to one product and
// are active, customers have ten each except one that has a twentieth of all,
// most activations have ended, most entries expire, and few deliveries are due.
var fill = []string{
	`INSERT INTO licensing_licenses (id, product_id, customer_id, key, state, starts_at, expires_at, text, document, version) SELECT
		'lic_' || lpad(i::text, 10, '0'), 'product_' || CASE WHEN i % 10 < 7 THEN 0 ELSE i % 40 END,
		'customer_' || CASE WHEN i % 20 = 0 THEN 0 ELSE i / 10 END, 'key_' || md5(i::text),
		CASE i % 50 WHEN 0 THEN 'suspended' WHEN 1 THEN 'revoked' ELSE 'active' END,
		CASE WHEN i % 8 = 0 THEN 1600000000000 + i * 1000::bigint END,
		CASE WHEN i % 5 <> 0 THEN 1700000000000 + (i::bigint * 7919 % $1) * 100000::bigint END,
		'license ' || i || ' customer product_ some words of metadata',
		convert_to('{"name":"License ' || i || '","seats":5,"metadata":{"note":"some words of metadata"},"revision":1}', 'UTF8'), 1
		FROM generate_series(1, $1) AS i`,
	`INSERT INTO licensing_entries SELECT 'word', unnest(ARRAY['license', id, product_id, customer_id, 'word_' || ctid::text]) || ' ' || id, '', '', -62135596800000, NULL, 0, 1
		FROM licensing_licenses`,
	`INSERT INTO licensing_activations (license_id, id, fingerprint, lease_ends_at, ended_at, document, version)
		SELECT id, 'act_' || n, 'fingerprint_' || n, 1800000000000 + n, CASE n WHEN 2 THEN 1 END, '{}', 1
		FROM licensing_licenses, generate_series(1, 2) AS n`,
	`INSERT INTO licensing_activations (license_id, id, fingerprint, lease_ends_at, ended_at, document, version)
		SELECT 'lic_0000000001', 'many_' || n, 'many_' || n, n, NULL, '{}', 1
		FROM generate_series(1, 1500) AS n`,
	`INSERT INTO licensing_events (seq, id, type, time, actor, request_id, subject, product_id, customer_id, data)
		SELECT row_number() OVER (ORDER BY id, n), 'evt_' || id || n, 'license.updated', n, '', '', id, product_id, CASE n WHEN 3 THEN '' ELSE customer_id END, '{}'
		FROM generate_series(1, 3) AS n, licensing_licenses`,
	`INSERT INTO licensing_entries SELECT
		CASE WHEN i % 10 = 0 THEN 'session' ELSE 'token' END, md5(i::text), CASE WHEN i % 10 = 0 THEN '' ELSE 'owner_' || i % 300 END, '{}',
		CASE WHEN i % 100 = 0 THEN -62135596800000 ELSE 1700000000000 + i END, i, 1, 1 FROM generate_series(1, $1) AS i`,
	`INSERT INTO licensing_entries SELECT 'delivery', 'webhook_' || i % 20 || '/dlv_' || lpad(i::text, 10, '0'),
		CASE WHEN i % 100 = 0 THEN 'webhook_' || i % 20 ELSE '' END, '{}', i, i, 0, 1 FROM generate_series(1, $1) AS i`,
	`INSERT INTO licensing_entries SELECT 'count', 'customer/customer_' || i, '', '10', -62135596800000, NULL, 0, 1 FROM generate_series(1, $1 / 10) AS i`,
	`INSERT INTO licensing_entries SELECT 'count', 'created/' || i, '', '10', -62135596800000, NULL, 0, 1 FROM generate_series(1, 5000) AS i`,
}

// filled returns a store on large tables, the recorder of its statements, and a
// connection to its schema.
func filled(t *testing.T) (store.Store, *recorder, *sql.Conn) {
	is := is.New(t)
	ctx := t.Context()
	db, r := record(t, "pgx", sharedDSN(t))
	schema := newSchema(t, db)
	st := newStore(t, db, schema)
	conn, err := open(t, "pgx", sharedDSN(t)+" search_path="+schema).Conn(ctx)
	is.NoErr(err)
	t.Cleanup(func() { conn.Close() })
	for _, stmt := range fill {
		_, err := conn.ExecContext(ctx, strings.ReplaceAll(stmt, "$1", fmt.Sprint(*licenses)))
		is.NoErr(err)
	}
	var tables string
	is.NoErr(conn.QueryRowContext(ctx, `SELECT string_agg(tablename, ', ') FROM pg_tables WHERE schemaname = $1`, schema).Scan(&tables))
	_, err = conn.ExecContext(ctx, "VACUUM ANALYZE "+tables)
	is.NoErr(err)
	var ended, indexed int
	is.NoErr(conn.QueryRowContext(ctx, `SELECT count(*) FROM licensing_licenses WHERE state <> 'active'`).Scan(&ended))
	is.NoErr(conn.QueryRowContext(ctx, `SELECT reltuples FROM pg_class WHERE oid = 'licensing_licenses_ended_product'::regclass`).Scan(&indexed))
	is.True(indexed > 0 && indexed < 2*ended) // an estimate: no active license is in it
	r.take()
	return st, r, conn
}

// TestNoStatementLooksAtManyRows checks the plans of every read, and of every
// statement in an Update except calls of functions: both the custom plans for the actual values, and the
// generic plan, which PostgreSQL considers after five executions.
func TestNoStatementLooksAtManyRows(t *testing.T) {
	ctx := t.Context()
	st, r, conn := filled(t)
	at := func(ms int64) time.Time { return time.UnixMilli(ms) }
	now := at(1_700_000_000_000 + int64(*licenses)*30_000)
	lic, customer, product := fmt.Sprintf("lic_%010d", *licenses/2+1), "customer_77", "product_9"

	var order []string // of texts
	asked := map[string][]statement{}
	check := func(what string, run func() error) {
		t.Helper()
		r.take()
		if err := run(); err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
		statements, _ := r.take()
		for _, s := range statements {
			if len(s.args) == 0 || strings.Contains(s.text, ".licensing_commit") {
				continue // BEGIN and similar
			}
			if asked[s.text] == nil {
				order = append(order, s.text)
			}
			s.what = what
			asked[s.text] = append(asked[s.text], s)
		}
	}
	update := func(what string, fn func(tx store.Tx) error) {
		t.Helper()
		check(what, func() error { return st.Update(ctx, fn) })
	}

	for name, q := range map[string]store.LicenseQuery{
		"all":                          {},
		"of no customer":               {CustomerID: "unknown"},
		"of a customer":                {CustomerID: customer},
		"of the largest customer":      {CustomerID: "customer_0"},
		"of no product":                {ProductID: "nothing"},
		"of a product":                 {ProductID: product},
		"of the largest product":       {ProductID: "product_0"},
		"active":                       {State: store.StateActive},
		"in no state":                  {State: "none"},
		"revoked":                      {State: store.StateRevoked},
		"revoked of a product":         {ProductID: "product_0", State: store.StateRevoked},
		"revoked, expiring later":      {State: store.StateRevoked, Order: store.ByExpiresAt, Expires: store.TimeRange{From: now}},
		"of a customer and product":    {CustomerID: customer, ProductID: product},
		"of the largest, one product":  {CustomerID: "customer_0", ProductID: "nothing"},
		"active of a customer":         {CustomerID: customer, State: store.StateActive},
		"active of a product":          {ProductID: "product_0", State: store.StateActive},
		"of some IDs":                  {IDs: []string{lic, "lic_0000000001", "none"}},
		"of some IDs of a product":     {IDs: []string{lic, "lic_0000000001", "none"}, ProductID: "product_0"},
		"by expiry":                    {Order: store.ByExpiresAt},
		"by start":                     {Order: store.ByStartsAt},
		"of a product by expiry":       {ProductID: product, Order: store.ByExpiresAt},
		"of no product by expiry":      {ProductID: "nothing", Order: store.ByExpiresAt},
		"of a product by start":        {ProductID: product, Order: store.ByStartsAt},
		"of no product by start":       {ProductID: "nothing", Order: store.ByStartsAt},
		"of a product, expiring soon":  {ProductID: product, Order: store.ByExpiresAt, Expires: store.TimeRange{From: now, Before: now.Add(time.Hour)}},
		"expiring soon":                {Order: store.ByExpiresAt, Expires: store.TimeRange{From: now, Before: now.Add(time.Hour)}},
		"active, expiring soon":        {State: store.StateActive, Order: store.ByExpiresAt, Expires: store.TimeRange{From: now, Before: now.Add(time.Hour)}},
		"long expired":                 {State: store.StateActive, Expires: store.TimeRange{Before: at(1_700_000_005_000_000 / 1000)}},
		"active and not expired":       {State: store.StateActive, Expires: store.TimeRange{From: now, OrNone: true}},
		"active, started, not expired": {State: store.StateActive, Starts: store.TimeRange{Before: now, OrNone: true}, Expires: store.TimeRange{From: now, OrNone: true}},
	} {
		for _, descending := range []bool{false, true} {
			for _, after := range []store.Position{{}, {ID: lic, Time: now}} {
				q.Descending, q.After, q.Limit = descending, after, 51
				check(fmt.Sprintf("licenses %s, descending %v, after %v", name, descending, after.ID), func() error {
					_, err := st.Licenses(ctx, q)
					return err
				})
			}
		}
	}
	check("License", func() error { _, err := st.License(ctx, lic); return err })
	check("LicenseByKey", func() error { _, err := st.LicenseByKey(ctx, "key"); return err })

	check("Activation", func() error { _, err := st.Activation(ctx, lic, "fingerprint_1"); return err })
	for _, q := range []store.ActivationQuery{
		{LicenseID: lic}, {LicenseID: "lic_0000000001"}, {LicenseID: "lic_0000000001", LiveAt: now, After: "many_1", Limit: 50},
		{LicenseID: "lic_0000000001", LeaseEnds: store.TimeRange{Before: now}, Limit: 1},
		{LicenseID: "lic_0000000001", LeaseEnds: store.TimeRange{Before: time.Unix(0, 0), OrNone: true}, Limit: 1},
	} {
		check("Activations", func() error { _, err := st.Activations(ctx, q); return err })
	}

	for _, q := range []store.EventQuery{
		{}, {Subject: lic}, {Subject: "none"}, {CustomerID: "unknown"}, {CustomerID: customer}, {CustomerID: "customer_0"}, {Subject: lic, CustomerID: customer},
		{ProductID: "none"}, {ProductID: product}, {ProductID: "product_0"}, {Subject: lic, ProductID: product}, {CustomerID: customer, ProductID: "product_0"},
	} {
		for _, descending := range []bool{false, true} {
			for _, after := range []int64{0, int64(*licenses)} {
				q.Descending, q.After, q.Limit = descending, after, 100
				check("Events", func() error { _, err := st.Events(ctx, q); return err })
			}
		}
	}

	check("Entry", func() error { _, err := st.Entry(ctx, "token", "x"); return err })
	for _, q := range []store.EntryQuery{
		{Kind: "token"}, {Kind: "session"}, {Kind: "none"}, {Kind: "token", From: "a", Before: "y"}, {Kind: "token", Descending: true},
		{Kind: "token", Order: store.ByExpiry, Owner: "owner_7"}, {Kind: "token", Order: store.ByExpiry, Owner: "unknown"},
		{Kind: "token", Order: store.ByExpiry, Expires: store.TimeRange{Before: at(1_700_000_000_100)}},
		{Kind: "token", Order: store.ByExpiry, Owner: "owner_7", Expires: store.TimeRange{From: at(1_700_000_000_100)}},
		{Kind: "token", Order: store.ByExpiry, Expires: store.TimeRange{From: at(1_700_000_000_100)}},
	} {
		for _, after := range []store.Position{{}, {ID: "x", Time: at(1_700_000_000_050)}} {
			q.After, q.Limit = after, 50
			check(fmt.Sprintf("Entries %+v", q), func() error { _, err := st.Entries(ctx, q); return err })
		}
	}

	dlv := func(q store.EntryQuery) store.EntryQuery { q.Kind = "delivery"; return q }
	for _, q := range []store.EntryQuery{
		dlv(store.EntryQuery{From: "webhook_3/", Before: store.PrefixEnd("webhook_3/"), Descending: true}),
		dlv(store.EntryQuery{From: "none/", Before: store.PrefixEnd("none/"), Descending: true}),
		dlv(store.EntryQuery{Order: store.ByExpiry, Owner: "webhook_0", Expires: store.TimeRange{Before: now}}),
		dlv(store.EntryQuery{Order: store.ByExpiry, Owner: "webhook_0", Expires: store.TimeRange{Before: at(1)}}),
		dlv(store.EntryQuery{Order: store.ByExpiry, Owner: "none", Expires: store.TimeRange{Before: now}}),
		dlv(store.EntryQuery{Order: store.ByExpiry, Expires: store.TimeRange{Before: at(1000)}}),
		dlv(store.EntryQuery{Keys: []string{"webhook_1/dlv_0000000001", "webhook_2/dlv_0000000002", "none"}}),
		{Kind: "count", From: "customer/", Before: store.PrefixEnd("customer/")},
		{Kind: "count", From: "customer/", Before: store.PrefixEnd("customer/"), After: store.Position{ID: "customer/" + customer}},
		{Kind: "count", From: "customer/", Before: store.PrefixEnd("customer/"), Descending: true},
		{Kind: "count", From: "created/2", Before: "created/3"},
		{Kind: "word", From: "license ", Before: store.PrefixEnd("license ")},
		{Kind: "word", From: "license ", Before: store.PrefixEnd("license "), Descending: true, After: store.Position{ID: "license " + lic}},
		{Kind: "word", Keys: []string{"license " + lic, "product_0 " + lic, "none"}},
		{AfterKind: "session", After: store.Position{ID: "x"}},
	} {
		q.Limit = 50
		check(fmt.Sprintf("Entries %+v", q), func() error { _, err := st.Entries(ctx, q); return err })
	}

	l := store.License{ID: "lic_new", Key: "new"}
	update("CreateLicenses", func(tx store.Tx) error { return tx.CreateLicenses(ctx, l) })
	update("UpdateLicense", func(tx store.Tx) error { return tx.UpdateLicense(ctx, l) })
	update("DeleteLicense", func(tx store.Tx) error { return tx.DeleteLicense(ctx, lic) })
	update("PutActivations", func(tx store.Tx) error {
		return tx.PutActivations(ctx, store.Activation{LicenseID: "lic_new", ID: "act_1", Fingerprint: "f"})
	})
	update("DeleteActivations", func(tx store.Tx) error { return tx.DeleteActivations(ctx, "lic_new", "act_1") })
	update("AppendEvents", func(tx store.Tx) error { return tx.AppendEvents(ctx, store.Event{ID: "evt_new"}) })
	update("ReplaceEvent", func(tx store.Tx) error { return tx.ReplaceEvent(ctx, store.Event{Seq: 5}) })
	update("DeleteEvents", func(tx store.Tx) error { _, err := tx.DeleteEvents(ctx, int64(*licenses), 500); return err })
	update("PutEntries", func(tx store.Tx) error { return tx.PutEntries(ctx, store.Entry{Kind: "token", Key: "new"}) })
	update("DeleteEntries", func(tx store.Tx) error { return tx.DeleteEntries(ctx, "token", "new") })

	for _, text := range order {
		reported := map[string]bool{}
		for _, first := range asked[text] {
			prepare(t, conn, first)
			for _, s := range asked[text] {
				for _, fault := range faults(explain(t, conn, s)) {
					if !reported[s.what+fault] {
						t.Errorf("%s, after %s: %s\n%s\n%v", s.what, first.what, fault, text, s.args)
					}
					reported[s.what+fault] = true
				}
			}
			if _, err := conn.ExecContext(ctx, "DEALLOCATE it"); err != nil {
				t.Fatal(err)
			}
		}
	}
}
