package sqlite

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// fill limits the growth of the file to a number of pages. A negative number
// removes the limit.
func fill(t *testing.T, st *Store, pages int64) {
	t.Helper()
	inTurn(t, st.writer, func(c *conn) {
		const none = 1 << 30
		used, err := c.integer("PRAGMA page_count")
		if err == nil && pages >= 0 {
			_, err = c.exec("PRAGMA max_page_count = " + strconv.FormatInt(used+pages, 10))
		} else if err == nil {
			_, err = c.exec("PRAGMA max_page_count = " + strconv.Itoa(none))
		}
		if err != nil {
			t.Fatal(err)
		}
	})
}

// big puts more into the store than fits into a full file.
func big(tx store.Tx) error {
	return tx.PutEntries(context.Background(), store.Entry{Kind: "big", Key: "big", Data: bytes.Repeat([]byte("x"), 1<<20)})
}

// TestFullDiskHarmsOnlyWhoFillsIt lets one member of a group fill the file, which
// makes the engine roll back the whole transaction. The others run again.
func TestFullDiskHarmsOnlyWhoFillsIt(t *testing.T) {
	tests := map[string]struct {
		fn   func(tx store.Tx) error
		gone any
	}{
		"error returned": {fn: big},
		"error overlooked": {fn: func(tx store.Tx) error {
			big(tx)
			if err := add(tx, "bad"); !errors.Is(err, store.ErrUnavailable) { // it would commit on its own
				return err
			}
			return nil
		}},
		"another error": {fn: func(tx store.Tx) error { return errors.Join(store.ErrUnavailable, big(tx)) }},
		"panic":         {fn: func(tx store.Tx) error { big(tx); panic("full") }, gone: "full"},
		"exit":          {fn: func(tx store.Tx) error { big(tx); runtime.Goexit(); return nil }, gone: "goexit"},
	}
	for name, tt := range tests {
		for place := range 3 {
			t.Run(name+"/"+strconv.Itoa(place), func(t *testing.T) {
				is := is.New(t)
				st := open(t)
				fill(t, st, 2)
				bad := &member{fn: func(tx store.Tx) error {
					if err := add(tx, "bad"); err != nil {
						return err
					}
					return tt.fn(tx)
				}}
				a, b := adds("a"), adds("b")
				a2 := adds("a") // fails, but not because of what was undone
				runGroup(t, st, slices.Insert([]*member{a, b, a2}, place, bad)...)
				is.NoErr(b.err)
				is.True((a.err == nil) != (a2.err == nil)) // they may run again in another order
				require.ErrorIs(t, errors.Join(a.err, a2.err), store.ErrExists)
				is.Equal(bad.runs, map[bool]int{true: 2, false: 1}[tt.gone == nil]) // a full disk is retried once
				require.AtMost(t, a.runs, 2)
				require.AtMost(t, b.runs, 2)
				require.AtMost(t, a2.runs, 2)
				is.Equal(bad.gone, tt.gone)
				is.Equal(bad.gone == nil, errors.Is(bad.err, store.ErrUnavailable))
				is.Equal(ids(t, st), "a b")

				fill(t, st, -1) // space was freed; no restart is needed
				is.NoErr(st.Update(t.Context(), big))
			})
		}
	}
}

func TestFullDiskLeavesReadsAlone(t *testing.T) {
	is := is.New(t)
	st := open(t)
	is.NoErr(st.Update(t.Context(), func(tx store.Tx) error { return add(tx, "a") }))
	fill(t, st, 0)
	members := []*member{{fn: big}, {fn: big}, {fn: big}}
	runGroup(t, st, members...)
	for _, m := range members {
		require.ErrorIs(t, m.err, store.ErrUnavailable)
		require.ErrorIs(t, m.err, store.ErrFull)
		require.AtMost(t, m.runs, 2)
	}
	is.Equal(ids(t, st), "a")
	is.NoErr(st.View(t.Context(), func(r store.Reader) error { is.Equal(ids(t, r), "a"); return nil }))
}

// TestFullDiskShowsInHealth, although reads work.
func TestFullDiskShowsInHealth(t *testing.T) {
	is := is.New(t)
	st := open(t)
	h := licensing.NewHandler(st, licensing.Options{Logger: slog.New(slog.DiscardHandler)})
	fill(t, st, 1)
	var err error
	for n := 0; err == nil && n < 1000; n++ {
		_, err = h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c"})
	}
	require.ErrorIs(t, err, store.ErrFull)
	w := httptest.NewRecorder()
	h.WriteError(w, httptest.NewRequest("POST", "/license", nil), err)
	is.Equal(w.Code, 503)
	require.Contains(t, w.Body.String(), `"code":"storage_full"`)
	w = httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/ready", nil))
	is.Equal(w.Code, 200)
	got := h.Health(t.Context())
	is.Equal(got.Problems[0].Code, licensing.HealthWrites)
	require.Contains(t, got.Problems[0].Detail, "Changes fail, because the storage is full; make room for it: ")
}

// TestMissingTables end readiness, unless only some requests need the table: those
// show in the health of the service.
func TestMissingTables(t *testing.T) {
	for table, status := range map[string]int{
		"licenses": http.StatusServiceUnavailable, "events": http.StatusServiceUnavailable, "entries": http.StatusServiceUnavailable,
		"activations": http.StatusOK,
	} {
		t.Run(table, func(t *testing.T) {
			is := is.New(t)
			st := open(t)
			h := licensing.NewHandler(st, licensing.Options{Logger: slog.New(slog.DiscardHandler)})
			ask := func(method, path, body string) int {
				r := httptest.NewRequest(method, path, strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				return w.Code
			}
			l, err := h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "p", CustomerID: "c"})
			is.NoErr(err)
			inTurn(t, st.writer, func(c *conn) { is.NoErr(c.script("ALTER TABLE " + table + " RENAME TO moved")) })
			is.Equal(ask("GET", "/ready", ""), status)
			want := licensing.HealthStore
			if status == http.StatusOK {
				is.Equal(ask("POST", "/license/activate", `{"key":"`+l.Key+`","fingerprint":"pc-1"}`), http.StatusInternalServerError)
				want = licensing.HealthRequests
			}
			is.Equal(h.Health(t.Context()).Problems[0].Code, want)
		})
	}
}

// TestFailedCommitIsTheFaultOfOne lets a member of a group make a write that
// cannot be committed. The store finds it by running each member on its own.
func TestFailedCommitIsTheFaultOfOne(t *testing.T) {
	is := is.New(t)
	st := open(t)
	inTurn(t, st.writer, func(c *conn) {
		is.NoErr(c.script("PRAGMA foreign_keys = 1; CREATE TABLE child (of TEXT REFERENCES licenses (id) DEFERRABLE INITIALLY DEFERRED)"))
	})
	bad := &member{fn: func(x store.Tx) error {
		_, err := x.(*tx).exec(t.Context(), "INSERT INTO child VALUES ('none')")
		return err
	}}
	a, b := adds("a"), adds("b")
	runGroup(t, st, a, bad, b)
	is.NoErr(a.err)
	is.NoErr(b.err)
	is.True(bad.err != nil)
	is.Equal([]int{a.runs, bad.runs, b.runs}, []int{2, 2, 2})
	is.Equal(ids(t, st), "a b")
}
