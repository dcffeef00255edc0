package license_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/require"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

// A haltedStore fails after a number of Updates.
type haltedStore struct {
	store.Store
	left int
	most int // licenses that one Update has written
}

type haltedTx struct {
	store.Tx
	n *int
}

var errHalted = errors.New("halted")

func (s *haltedStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	if s.left--; s.left < 0 {
		return errHalted
	}
	n := 0
	err := s.Store.Update(ctx, func(tx store.Tx) error {
		n = 0
		return fn(haltedTx{tx, &n})
	})
	s.most = max(s.most, n)
	return err
}

func (tx haltedTx) UpdateLicense(ctx context.Context, l store.License) error {
	*tx.n++
	return tx.Tx.UpdateLicense(ctx, l)
}

// TestFold: Run gives licenses of an older archive, and those of another version,
// their texts, however often it is interrupted: in small Updates, without events and
// without a change of the documents. Searches are exact all the time.
func TestFold(t *testing.T) {
	is := is.New(t)
	st := &haltedStore{Store: storetest.Twice(memory.New()), left: 1 << 20}
	s := license.New(st, license.Options{})
	var rows strings.Builder
	matches := 0
	for i := range 1100 {
		if strings.Contains(fmt.Sprint(i), "22") {
			matches++
		}
		fmt.Fprintf(&rows, `{"key":"imported-key-%04d","name":"Söhne %d","product_id":"p","customer_id":"c"}`+"\n", i, i)
	}
	importAll(t, s, rows.String())
	state := func() (rows []store.License, events int) {
		for q := (store.LicenseQuery{}); ; q.After.ID = rows[len(rows)-1].ID {
			part, err := st.Licenses(t.Context(), q)
			is.NoErr(err)
			if rows = append(rows, part...); len(part) < store.MaxLimit {
				break
			}
		}
		last, err := st.Events(t.Context(), store.EventQuery{Descending: true, Limit: 1})
		is.NoErr(err)
		return rows, int(last[0].Seq)
	}
	want, seq := state()
	find := func() {
		t.Helper()
		is.Equal(len(search(t, s, license.ListParams{Search: "sohne 22", Limit: 200})), matches)
	}
	find()
	is.NoErr(s.Fold(t.Context())) // all texts are right
	find()
	for _, version := range []string{"", "0"} {
		for _, text := range []string{"", "stale"} {
			unfoldAll(t, st, version, text)
			find()
			for st.left = 1; ; st.left = 7 {
				err := s.Fold(t.Context())
				if err == nil {
					break
				}
				require.ErrorIs(t, err, errHalted)
				st.left = 1 << 20
				l, err := s.Create(t.Context(), license.CreateParams{Name: "Sohne 22", ProductID: "p", CustomerID: "c"})
				is.NoErr(err)
				is.NoErr(s.Delete(t.Context(), license.DeleteParams{ID: l.ID}))
				seq += 2
				find()
			}
			st.left = 1 << 20
			find()
			got, last := state()
			is.Equal(got, want)
			is.Equal(last, seq)
			require.AtMost(t, st.most, 50)
		}
	}
	st.left = 0 // nothing more to write
	is.NoErr(s.Fold(t.Context()))
}

// unfoldAll is unfold for more licenses than one page has.
func unfoldAll(t *testing.T, st store.Store, version, text string) {
	t.Helper()
	is := is.New(t)
	unfold(t, st.(*haltedStore).Store, version, text)
	var after string
	for {
		rows, err := st.Licenses(t.Context(), store.LicenseQuery{After: store.Position{ID: after}})
		is.NoErr(err)
		if len(rows) == 0 {
			return
		}
		is.NoErr(st.(*haltedStore).Store.Update(t.Context(), func(tx store.Tx) error {
			for _, row := range rows {
				row.Text, after = text, row.ID
				if err := tx.UpdateLicense(t.Context(), row); err != nil {
					return err
				}
			}
			return nil
		}))
	}
}
