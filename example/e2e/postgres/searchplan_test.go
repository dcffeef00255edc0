package postgres_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/store"
)

// TestSearchesAndCountsReadOneIndex checks the plans of searches, counts and names,
// custom and generic: a search examines no more than it may, in the order of an
// index, and a count reads an index and no row.
func TestSearchesAndCountsReadOneIndex(t *testing.T) {
	is := is.New(t)
	ctx := t.Context()
	st, r, conn := filled(t)
	now := time.UnixMilli(1_700_000_000_000 + int64(*licenses)*30_000)
	lic := fmt.Sprintf("lic_%010d", *licenses/2+1)
	plans := func(run func() error, each func(s statement, nodes []node)) {
		t.Helper()
		r.take()
		is.NoErr(run())
		statements, _ := r.take()
		for _, s := range statements {
			prepare(t, conn, s)
			each(s, nodes(explain(t, conn, s)))
			_, err := conn.ExecContext(ctx, "DEALLOCATE it")
			is.NoErr(err)
		}
	}

	for _, q := range []store.LicenseQuery{
		{}, {CustomerID: "customer_77"}, {CustomerID: "customer_0"}, {ProductID: "product_9"}, {ProductID: "product_0"}, {State: store.StateActive},
		{State: store.StateRevoked}, {CustomerID: "customer_0", ProductID: "product_0"}, {ProductID: "product_0", State: store.StateActive, Expires: store.TimeRange{Before: now}},
		{ProductID: "product_0", State: store.StateRevoked}, {Order: store.ByExpiresAt, State: store.StateRevoked}, {Order: store.ByExpiresAt, State: store.StateActive},
		{Order: store.ByStartsAt, State: store.StateActive}, {Order: store.ByExpiresAt, ProductID: "product_0", State: store.StateRevoked, Expires: store.TimeRange{From: now}},
	} {
		for _, q.Text = range [][]string{{"license"}, {"nothing"}, {"9", "words"}} {
			for _, q.Descending = range []bool{false, true} {
				for _, q.After = range []store.Position{{}, {Time: now, ID: lic}} {
					q.Limit = 50
					plans(func() error { _, _, err := st.FindLicenses(ctx, q); return err }, func(s statement, nodes []node) {
						for _, n := range nodes {
							rows := (n.Rows + n.Filtered) * n.Loops
							if n.Type == "Seq Scan" || strings.HasPrefix(n.Type, "Bitmap") && rows > mostRows || rows > store.MaxExamined || n.Type == "Sort" && rows > mostRows {
								t.Errorf("%+v: %s of %.0f rows\n%s", q, n.Type, rows, s.text)
							}
						}
					})
				}
			}
		}
	}

	covering := func(what any, run func() error) {
		t.Helper()
		plans(run, func(s statement, nodes []node) {
			for _, n := range nodes {
				if strings.HasSuffix(n.Type, "Scan") && n.Type != "Index Only Scan" || n.Fetches > 0 {
					t.Errorf("%+v: %s with %.0f fetches of rows\n%s", what, n.Type, n.Fetches, s.text)
				}
			}
		})
	}
	for _, q := range []store.LicenseQuery{
		{}, {CustomerID: "customer_77"}, {CustomerID: "customer_0", ProductID: "product_0"}, {ProductID: "product_9"}, {ProductID: "product_0"},
		{State: store.StateActive}, {State: store.StateRevoked}, {ProductID: "product_0", State: store.StateSuspended}, {State: store.StateRevoked, Order: store.ByExpiresAt, Expires: store.TimeRange{From: now}}, {CustomerID: "customer_0", State: store.StateActive},
		{State: store.StateActive, Order: store.ByExpiresAt, Expires: store.TimeRange{Before: now}},
		{State: store.StateActive, Order: store.ByExpiresAt, Expires: store.TimeRange{Before: now}, ProductID: "product_9"},
		{State: store.StateActive, Order: store.ByStartsAt, Starts: store.TimeRange{From: time.UnixMilli(1_600_000_000_000)}},
		{State: store.StateActive, Order: store.ByStartsAt, Starts: store.TimeRange{From: now}, ProductID: "product_9"},
	} {
		covering(q, func() error { _, err := st.CountLicenses(ctx, q); return err })
		edges := []store.Position{{ID: "lic_0000001000", Time: now.Add(-time.Hour)}, {ID: lic, Time: now}, {ID: lic + "x", Time: now.Add(time.Hour)}}
		covering(q, func() error { _, err := st.CountLicenses(ctx, q, edges...); return err })
	}
	// All licenses have to be read for the products of this vendor, in whatever way.
	covering("names", func() error {
		_, err := st.LicenseNames(ctx, store.NamesQuery{By: store.ByCustomer, Limit: 50})
		return err
	})

	plans(func() error {
		_, err := st.Activations(ctx, store.ActivationQuery{FingerprintPrefix: "many_1", AfterFingerprint: "many_11", AfterLicenseID: "x", Limit: 50})
		return err
	}, func(s statement, nodes []node) {
		is.True(!slices.ContainsFunc(nodes, func(n node) bool { return n.Type == "Seq Scan" || n.Rows*n.Loops > mostRows }))
	})
}

// nodes returns a node and all below it.
func nodes(n node) []node {
	all := []node{n}
	for _, below := range n.Plans {
		all = append(all, nodes(below)...)
	}
	return all
}
