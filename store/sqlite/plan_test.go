//go:build !race

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"
	lib "modernc.org/sqlite/lib"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A planner is a querier that asks the engine how it would run each SELECT.
type planner struct {
	conn *conn
	size size
	text string
	plan []string
	ends func(text string, args []any) // is given the SELECT of where a search ends
}

func (p *planner) query(ctx context.Context, size size, text string, args []any, each func(*row)) error {
	if strings.Contains(text, "LIMIT 200") { // a preliminary query
		return p.conn.query(ctx, text, args, each)
	}
	if strings.Contains(text, "OFFSET ?") && p.ends != nil {
		p.ends(text, args)
		return nil
	}
	p.size, p.text, p.plan = size, text, nil
	return p.conn.query(ctx, "EXPLAIN QUERY PLAN "+text, args, func(r *row) {
		r.next = 3 // id, parent, notused, detail
		p.plan = append(p.plan, r.text())
	})
}

// forEach calls fn with every combination of one element of each list.
func forEach(fn func(choice []int), sizes ...int) {
	choice := make([]int, len(sizes))
	for {
		fn(choice)
		i := 0
		for ; i < len(sizes); i++ {
			if choice[i]++; choice[i] < sizes[i] {
				break
			}
			choice[i] = 0
		}
		if i == len(sizes) {
			return
		}
	}
}

// position is the condition of a page after a position in time.
var position = regexp.MustCompile(`\((?:l\.)?(\w+_at), (?:l\.)?(\w+)\) ([<>])`)

// TestNoReadScansATableOrSorts asks for the plan of every read of the contract
// with every combination of filters. It uses one goroutine, so it is useless
// under the race detector.
func TestNoReadScansATableOrSorts(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	ctx := t.Context()
	p := &planner{conn: open(t).writer.conn}
	r := reader{p}
	checked := 0
	check := func(what any, index string) {
		t.Helper()
		checked++
		plan := strings.NewReplacer("((", "(", "AND (", "AND ").Replace(strings.Join(p.plan, "\n\t")) // pairs are in parentheses
		bad := strings.Contains(plan, "TEMP B-TREE") || strings.Contains(plan, "AUTOMATIC")
		for _, step := range p.plan {
			if step == "SCAN part" || strings.HasSuffix(step, "CONSTANT ROWS") || strings.HasSuffix(step, "-ROW VALUES CLAUSE") {
				continue // the edges of a count
			}
			bad = bad || strings.HasPrefix(step, "SCAN ") && step != "SCAN CONSTANT ROW"
		}
		if p.size == exact && !served(p.text, plan) {
			t.Errorf("%+v\n%s\nskips rows and cannot be stopped; the index serves only\n\t%s", what, p.text, plan)
		}
		// A page begins at its position, also among many rows of the same time.
		if m := position.FindStringSubmatch(p.text); m != nil && !strings.Contains(plan, "id=?") && !strings.Contains(strings.Join(p.plan, ""), "("+m[1]+","+m[2]+")"+m[3]) {
			bad = true
		}
		if bad || !strings.Contains(plan, index) {
			t.Errorf("%+v\n%s\nwant %s, got\n\t%s", what, p.text, index, plan)
		}
	}

	t1 := time.UnixMilli(1_800_000_000_000)
	t2 := t1.Add(time.Hour)
	ranges := []store.TimeRange{
		{}, {From: t1}, {Before: t2}, {From: t1, Before: t2}, {From: t1, Before: t2, OrNone: true}, {Before: t2, OrNone: true},
	}
	positions := []store.Position{{}, {Time: t1.Add(time.Minute), ID: "x"}, {Time: t1.Add(-time.Minute), ID: "x"}, {Time: t2.Add(time.Minute), ID: "x"}}
	text, states := []string{"", "x"}, []store.State{"", "x", store.StateActive}

	_, err := r.License(ctx, "x")
	is.True(err != nil) // the planner finds nothing
	check("License", "USING INDEX licenses_id (id=?)")
	_, err = r.LicenseByKey(ctx, "x")
	is.True(err != nil)
	check("LicenseByKey", "USING INDEX licenses_key (key=?)")
	forEach(func(c []int) {
		q := store.LicenseQuery{
			CustomerID: text[c[0]], ProductID: text[c[1]], State: states[c[2]], IDs: [][]string{nil, {"a"}, {"a", "b", "c"}}[c[3]],
			Starts: ranges[c[4]], Expires: ranges[c[5]], Order: store.LicenseOrder(c[6]), Descending: c[7] == 1, After: positions[c[8]],
		}
		if q.Check() != nil {
			return
		}
		index := walked(q)
		if q.IDs != nil {
			index = "INDEX licenses_id (id=?)"
		}
		_, err := r.Licenses(ctx, q)
		is.NoErr(err)
		check(q, "USING "+index)
	}, 2, 2, 3, 3, len(ranges), len(ranges), 3, 2, len(positions))

	forEach(func(c []int) {
		q := store.LicenseQuery{
			CustomerID: text[c[0]], ProductID: text[c[1]], State: states[c[2]], Starts: ranges[c[3]], Expires: ranges[c[3]],
			Descending: c[4] == 1, After: positions[c[5]], Text: [][]string{nil, {"x"}, {"x", "y"}}[c[6]], KeyPart: text[c[7]], Order: store.LicenseOrder(c[8]),
		}
		ends := &planner{conn: p.conn}
		p.ends = func(text string, args []any) { is.NoErr(ends.query(ctx, search, text, args, nil)) }
		_, _, err := r.FindLicenses(ctx, q)
		is.NoErr(err)
		check(q, "USING "+walked(q))
		p.text, p.plan = ends.text, ends.plan
		check(q, "USING COVERING "+walked(q))
	}, 2, 2, 3, 3, 2, 2, 3, 2, 3)
	forEach(func(c []int) {
		q := store.LicenseQuery{CustomerID: text[c[0]], ProductID: text[c[1]], State: states[c[2]], Order: store.LicenseOrder(c[3])}
		switch {
		case q.Order == store.ByID && c[4] > 0:
			return
		case q.Order == store.ByExpiresAt:
			q.Expires = ranges[:4][c[4]]
		case q.Order == store.ByStartsAt:
			q.Starts = ranges[:4][c[4]]
		}
		if q.Order != store.ByID && q.CustomerID != "" {
			return // the rules count those by ID, since a customer has few licenses
		}
		edges := [][]store.Position{nil, {positions[1], positions[3]}, {positions[1], positions[3], {Time: t2.Add(time.Hour), ID: "z"}}}[c[5]]
		_, err := r.CountLicenses(ctx, q, edges...)
		is.NoErr(err)
		if all(q) && edges == nil {
			is.Equal(len(p.plan), 1)
			require.Contains(t, p.plan[0], "USING COVERING INDEX")
			return
		}
		check(q, "USING COVERING "+walked(q))
	}, 2, 2, 3, 3, 4, 3)
	for by, index := range map[store.NameOrder]string{store.ByCustomer: "licenses_customer (customer_id>?)", store.ByProduct: "licenses_product (product_id>?)"} {
		_, err = r.LicenseNames(ctx, store.NamesQuery{By: by})
		is.NoErr(err)
		check(by, "USING COVERING INDEX "+index)
	}

	for _, q := range []store.ActivationQuery{{}, {AfterFingerprint: "x"}, {AfterFingerprint: "xy", AfterLicenseID: "z"}} {
		q.FingerprintPrefix = "x"
		_, err = r.Activations(ctx, q)
		is.NoErr(err)
		check(q, "USING INDEX activations_fingerprint (")
	}
	_, err = r.Activation(ctx, "x", "x")
	is.True(err != nil)
	check("Activation", "USING INDEX activations_fingerprint (fingerprint=? AND license_id=?)")
	forEach(func(c []int) {
		q := store.ActivationQuery{LicenseID: "x", After: text[c[0]]}
		if c[1] == 1 {
			q.LiveAt = t1
		}
		_, err := r.Activations(ctx, q)
		is.NoErr(err)
		check(q, []string{"USING PRIMARY KEY (license_id=? AND id", "USING INDEX activations_active (license_id=? AND id"}[c[1]])
	}, 2, 2)
	for _, ends := range ranges[1:] {
		part := "(license_id=? AND <expr>"
		if ends.OrNone && !ends.From.IsZero() && ends.Before.IsZero() {
			part = "(license_id=?"
		}
		q := store.ActivationQuery{LicenseID: "x", LeaseEnds: ends}
		_, err = r.Activations(ctx, q)
		is.NoErr(err)
		check(q, "USING INDEX activations_lease "+part)
	}

	forEach(func(c []int) {
		q := store.EventQuery{Subject: text[c[0]], CustomerID: text[c[1]], ProductID: text[c[4]], Descending: c[2] == 1, After: int64(c[3])}
		_, err := r.Events(ctx, q)
		is.NoErr(err)
		index := "USING INTEGER PRIMARY KEY (rowid"
		switch {
		case q.Subject != "":
			index = "USING INDEX events_subject (subject=? AND rowid"
		case q.CustomerID != "":
			index = "USING INDEX events_customer (customer_id=? AND rowid"
		case q.ProductID != "":
			index = "USING INDEX events_product (product_id=? AND rowid"
		}
		check(q, index)
	}, 2, 2, 2, 2, 2)

	_, err = r.Entry(ctx, "x", "x")
	is.True(err != nil)
	check("Entry", "USING PRIMARY KEY (kind=? AND key=?)")
	forEach(func(c []int) {
		q := store.EntryQuery{Kind: "x", Order: store.ByExpiry, Owner: text[c[0]], Expires: ranges[c[1]], After: append(positions, store.Position{ID: "x"})[c[2]]}
		_, err := r.Entries(ctx, q)
		is.NoErr(err)
		check(q, []string{"USING INDEX entries_expiry (kind=? AND expires_at", "USING INDEX entries_owner (kind=? AND owner=? AND expires_at"}[c[0]])
	}, 2, len(ranges), len(positions)+1)
	forEach(func(c []int) {
		q := store.EntryQuery{Kind: "x", From: text[c[0]], Before: []string{"", "z"}[c[1]], After: store.Position{ID: []string{"", "y"}[c[2]]}, Descending: c[3] == 1}
		_, err := r.Entries(ctx, q)
		is.NoErr(err)
		check(q, "USING PRIMARY KEY (kind=? AND key>?")
	}, 2, 2, 2, 2)
	_, err = r.Entries(ctx, store.EntryQuery{Kind: "x", Keys: text})
	is.NoErr(err)
	check("Entries of keys", "USING PRIMARY KEY (kind=? AND key=?)")

	_, err = r.Entries(ctx, store.EntryQuery{AfterKind: "x", After: store.Position{ID: "y"}})
	is.NoErr(err)
	check("Entries of all kinds", "USING PRIMARY KEY (kind,key)>(?,?)")

	require.Greater(t, checked, 5000)
}

// TestActiveLicensesAreInNoIndexOfEndedOnes counts the rows of indexes.
func TestActiveLicensesAreInNoIndexOfEndedOnes(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	st := open(t)
	rows := func(index string) (n int) {
		c := st.writer.conn
		is.NoErr(c.script("ANALYZE"))
		is.NoErr(c.query(ctx, "SELECT coalesce(max(stat), '0') FROM sqlite_stat1 WHERE idx = ?", []any{index}, func(r *row) {
			_, err := fmt.Sscan(r.text(), &n)
			is.NoErr(err)
		}))
		return n
	}
	end := time.UnixMilli(1_800_000_000_000)
	ended := store.License{ID: "a", Key: "a", ProductID: "p", State: store.StateSuspended, ExpiresAt: end}
	is.NoErr(st.Update(ctx, func(tx store.Tx) error {
		for i := range 40 {
			l := store.License{ID: fmt.Sprint("l", i), Key: fmt.Sprint("l", i), ProductID: "p", State: store.StateActive, ExpiresAt: end}
			if err := tx.CreateLicenses(ctx, l); err != nil {
				return err
			}
		}
		return tx.CreateLicenses(ctx, ended)
	}))
	is.Equal([]int{rows("licenses_ended_product"), rows("licenses_ended_expiry"), rows("licenses_product")}, []int{1, 1, 41})
	ended.State = store.StateActive
	is.NoErr(st.Update(ctx, func(tx store.Tx) error { return tx.UpdateLicense(ctx, ended) }))
	is.Equal([]int{rows("licenses_ended_product"), rows("licenses_ended_expiry"), rows("licenses_product")}, []int{0, 0, 41})
}

// walked returns the index of a query of licenses, and how it begins.
func walked(q store.LicenseQuery) string {
	ended := q.State != "" && q.State != store.StateActive
	switch {
	case q.Order == store.ByExpiresAt && q.ProductID != "":
		return "INDEX licenses_product_expiry (product_id=? AND expires_at"
	case q.Order == store.ByExpiresAt && ended:
		return "INDEX licenses_ended_expiry (state=? AND expires_at"
	case q.Order == store.ByExpiresAt:
		return "INDEX licenses_expiry (expires_at"
	case q.Order == store.ByStartsAt && q.ProductID != "":
		return "INDEX licenses_product_start (product_id=? AND starts_at"
	case q.Order == store.ByStartsAt:
		return "INDEX licenses_start (starts_at"
	case q.CustomerID != "" && q.ProductID != "":
		return "INDEX licenses_customer_product (customer_id=? AND product_id=? AND id"
	case q.CustomerID != "":
		return "INDEX licenses_customer (customer_id=? AND id"
	case q.ProductID != "" && ended:
		return "INDEX licenses_ended_product (product_id=? AND state=? AND id"
	case q.ProductID != "":
		return "INDEX licenses_product (product_id=? AND id"
	case q.State != "":
		return "INDEX licenses_state (state=? AND id"
	}
	return "INDEX licenses_id (id"
}

// served reports whether the index in the plan serves every condition of a
// SELECT, so that the engine skips no row.
func served(text, plan string) bool {
	for _, part := range strings.Split(text, " WHERE ")[1:] {
		part, _, _ = strings.Cut(part, " ORDER BY ")
		part, _, _ = strings.Cut(part, " UNION ALL ")
		for _, condition := range strings.Split(part, " AND ") {
			if strings.HasSuffix(condition, " IS NOT NULL") || strings.HasSuffix(condition, " <> ''") || strings.HasSuffix(condition, " <> 'active'") {
				continue // the index holds no other rows
			}
			columns, _, _ := strings.Cut(condition, " ")
			columns = strings.NewReplacer("l.", "", "t.", "", "(", "", ",", "", "seq", "rowid").Replace(columns)
			if !strings.Contains(plan, "("+columns) && !strings.Contains(plan, "AND "+columns) {
				return false
			}
		}
	}
	return true
}

// TestStatementsArePreparedOnce runs statements twice and asks the engine how
// often it has prepared them again, as it does when a plan depends on the values
// of parameters.
func TestStatementsArePreparedOnce(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "licenses.db")
	is.NoErr(openAt(t, path).Close()) // a schema change makes SQLite prepare statements again, too
	st := openAt(t, path)
	now := time.UnixMilli(1_800_000_000_000)
	seats := store.ActivationQuery{LicenseID: "a", LiveAt: now, After: "x"}
	span := store.TimeRange{From: now, Before: now.Add(time.Hour), OrNone: true}
	at := store.Position{Time: now, ID: "x"}
	for range 3 {
		is.NoErr(st.Update(ctx, func(tx store.Tx) error {
			add(tx, "a")
			_, err1 := tx.License(ctx, "a")
			_, err2 := tx.Licenses(ctx, store.LicenseQuery{CustomerID: "x", Expires: span, After: at})
			_, err3 := tx.Licenses(ctx, store.LicenseQuery{IDs: []string{"x", "y"}, State: "active", Descending: true})
			_, err4 := tx.Licenses(ctx, store.LicenseQuery{Order: store.ByExpiresAt, Expires: span, Starts: span, After: at})
			_, err5 := tx.Activations(ctx, seats)
			_, err6 := tx.Activations(ctx, store.ActivationQuery{LicenseID: "a", LeaseEnds: span})
			_, err7 := tx.Events(ctx, store.EventQuery{Subject: "a", After: 1})
			_, err8 := tx.Entries(ctx, store.EntryQuery{Kind: "x", Order: store.ByExpiry, Owner: "y", Expires: span})
			_, err9 := tx.Entries(ctx, store.EntryQuery{Kind: "x", Keys: []string{"a", "b", "c"}})
			_, err10 := tx.Entries(ctx, store.EntryQuery{Kind: "x", From: "a", Before: "b", After: store.Position{ID: "aa"}})
			_, err11 := tx.DeleteEvents(ctx, 1, 1)
			return errors.Join(err1, err2, err3, err4, err5, err6, err7, err8, err9, err10, err11,
				tx.UpdateLicense(ctx, store.License{ID: "a", Key: "a"}),
				tx.PutActivations(ctx, store.Activation{LicenseID: "a", ID: "a"}),
				tx.PutEntries(ctx, store.Entry{Kind: "x", Key: "y"}),
				tx.DeleteLicense(ctx, "a"), tx.DeleteActivations(ctx, "a", "a"))
		}))
	}
	require.Greater(t, len(st.writer.conn.stmts), 20)
	for text, stmt := range st.writer.conn.stmts {
		if n := reprepared(stmt); n > 0 {
			t.Errorf("prepared again %d times: %s", n, text)
		}
	}
}

// reprepared reads a counter of the engine that the driver does not expose.
func reprepared(stmt rawStmt) int64 {
	s := reflect.ValueOf(stmt).Elem()
	counter := reflect.ValueOf(lib.Xsqlite3_stmt_status)
	tls := reflect.NewAt(counter.Type().In(0).Elem(), s.FieldByName("c").Elem().FieldByName("tls").UnsafePointer())
	handle := reflect.ValueOf(uintptr(s.FieldByName("pstmt").Uint()))
	return counter.Call([]reflect.Value{tls, handle, reflect.ValueOf(int32(lib.SQLITE_STMTSTATUS_REPREPARE)), reflect.ValueOf(int32(0))})[0].Int()
}
