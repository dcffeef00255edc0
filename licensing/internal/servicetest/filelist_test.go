package servicetest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A listStore counts how often a sequence of a revocation list is stored.
type listStore struct {
	store.Store
	lists atomic.Int64
}

type listTx struct {
	store.Tx
	of *listStore
}

func (s *listStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.Store.Update(ctx, func(tx store.Tx) error { return fn(listTx{tx, s}) })
}

func (tx listTx) PutEntries(ctx context.Context, all ...store.Entry) error {
	for _, e := range all {
		if e.Kind == "revocation_list" {
			tx.of.lists.Add(1)
		}
	}
	return tx.Tx.PutEntries(ctx, all...)
}

// TestReadersOfAListDoNotWrite: the list of a suspended license is stored once in five
// seconds, however many read it. Each change shows immediately, in every process, and
// ranks above the lists before it.
func TestReadersOfAListDoNotWrite(t *testing.T) {
	is := is.New(t)
	st := &listStore{Store: memory.New()}
	now := time.Now()
	open := func() *licensing.Handler {
		return licensing.NewHandler(st, licensing.Options{Logger: discard, Now: func() time.Time { return now }})
	}
	h, other := open(), open()
	keys, err := h.Files().KeySet(t.Context())
	is.NoErr(err)
	l, err := h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "atlas", CustomerID: "c"})
	is.NoErr(err)
	_, err = h.Service().IssueFile(t.Context(), api.IssueFileParams{LicenseID: l.ID, Lifetime: api.Duration{Days: 14}})
	is.NoErr(err)
	get := func(h *licensing.Handler) string {
		w := ask(t, h, "GET", "/file/revocations?product_id=atlas&license_id="+l.ID, "", "")
		is.Equal(w.Code, http.StatusOK)
		return w.Body.String()
	}
	var last int64 // sequence
	next := func(h *licensing.Handler) licensefile.Revocations {
		t.Helper()
		list, err := keys.VerifyRevocations(get(h))
		is.NoErr(err)
		require.Greater(t, list.Sequence, last)
		last = list.Sequence
		return list
	}
	suspend := func() {
		_, err := h.Service().Suspend(t.Context(), api.ChangeStateParams{ID: l.ID})
		is.NoErr(err)
	}
	reinstate := func() {
		_, err := h.Service().Reinstate(t.Context(), api.ChangeStateParams{ID: l.ID})
		is.NoErr(err)
	}

	suspend()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5 {
				get(h)
			}
		})
	}
	all.Wait()
	is.Equal(st.lists.Load(), int64(1))
	is.Equal(next(h).Licenses[0].MinGeneration, int64(licensefile.AllGenerations))
	now = now.Add(5*time.Second - time.Millisecond)
	get(h)
	is.Equal(st.lists.Load(), int64(1))
	now = now.Add(time.Millisecond)
	next(h)
	is.Equal(st.lists.Load(), int64(2))

	now = now.Add(time.Millisecond)
	reinstate()
	is.Equal(next(other).Licenses[0].MinGeneration, int64(1))
	now = now.Add(time.Millisecond)
	suspend() // h has kept a list that says the same
	is.Equal(next(h).Licenses[0].MinGeneration, int64(licensefile.AllGenerations))
	ring, err := h.Files().Keys(t.Context())
	is.NoErr(err)
	_, err = h.Files().CondemnKey(t.Context(), files.CondemnKeyParams{ID: ring[0].ID})
	is.NoErr(err)
	is.Equal(next(h).CondemnedKeys, []string{ring[0].ID})
}

// A revokingStore has a product with many revoked licenses, and counts the entries
// that are read of them.
type revokingStore struct {
	store.Store
	read  atomic.Int64
	leave context.CancelFunc // if set, called while the entries are read
}

type revokingReader struct {
	store.Reader
	of *revokingStore
}

func (s *revokingStore) View(ctx context.Context, fn func(store.Reader) error) error {
	return s.Store.View(ctx, func(r store.Reader) error { return fn(revokingReader{r, s}) })
}

func (r revokingReader) Entries(ctx context.Context, q store.EntryQuery) ([]store.Entry, error) {
	rows, err := r.Reader.Entries(ctx, q)
	if q.Kind == "file_revocation" {
		r.of.read.Add(int64(len(rows)))
		if r.of.leave != nil {
			r.of.leave()
		}
	}
	return rows, err
}

// revoke puts n licenses on the revocation list of atlas, as a change of each does.
func (s *revokingStore) revoke(t testing.TB, n int) {
	t.Helper()
	until := time.Now().Add(14 * 24 * time.Hour).Truncate(time.Millisecond)
	for part := range slices.Chunk(make([]store.Entry, n), store.MaxLimit) {
		err := s.Update(t.Context(), func(tx store.Tx) error {
			for i := range part {
				id := store.NewID("lic", time.Now())
				part[i] = store.Entry{
					Kind: "file_revocation", Key: id + "/atlas", Owner: "atlas", ExpiresAt: until, CreatedAt: until,
					Data: fmt.Appendf(nil, `{"license_id":%q,"min_generation":%d}`, id, int64(licensefile.AllGenerations)),
				}
			}
			return tx.PutEntries(t.Context(), part...)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestManyRevokedLicenses has more licenses on the revocation list of a product
// than fit into one: the list of each alone is still signed, Health warns at half,
// and no client can make the service read the rows again and again.
func TestManyRevokedLicenses(t *testing.T) {
	is := is.New(t)
	st := &revokingStore{Store: memory.New()}
	open := func() *licensing.Handler {
		return licensing.NewHandler(st, licensing.Options{Logger: slog.New(slog.DiscardHandler)})
	}
	h := open()
	get := func(ctx context.Context, query string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/file/revocations?product_id=atlas"+query, nil))
		return w
	}
	keys, err := h.Files().KeySet(t.Context())
	is.NoErr(err)
	issue := func() (licensefile.File, api.License) {
		l, err := h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "atlas", CustomerID: "c"})
		is.NoErr(err)
		f, err := h.Service().IssueFile(t.Context(), api.IssueFileParams{LicenseID: l.ID, Lifetime: api.Duration{Days: 14}})
		is.NoErr(err)
		return licensefile.File{Claims: *f.FileClaims()}, l
	}
	good, _ := issue()
	bad, l := issue()
	_, err = h.Service().Suspend(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	list := func(query string) *licensefile.Revocations {
		t.Helper()
		w := get(t.Context(), query)
		is.Equal(w.Code, http.StatusOK)
		require.AtMost(t, w.Body.Len(), licensefile.MaxListSize)
		r, err := keys.VerifyRevocations(w.Body.String())
		is.NoErr(err)
		is.NoErr(r.Check("atlas", time.Now()))
		return &r
	}
	problems := func() (codes []string) {
		for _, p := range h.Health(t.Context()).Problems {
			if p.Code == licensing.HealthListLarge {
				codes = append(codes, p.Subject)
			}
		}
		return codes
	}

	st.revoke(t, licensefile.MaxListed/2)
	is.Equal(get(t.Context(), "").Code, http.StatusOK)
	is.Equal(problems(), []string{"atlas"})

	// As many as a list can have, in another process.
	st.revoke(t, licensefile.MaxListed-licensefile.MaxListed/2-1)
	h = open()
	is.Equal(len(list("").Licenses), licensefile.MaxListed)

	st.revoke(t, 5000)
	// The rows are read once, also if the caller leaves meanwhile, and for callers
	// at the same moment.
	for _, leaves := range []bool{true, false} {
		h = open()
		st.read.Store(0)
		leaving, leave := context.WithCancel(t.Context())
		if st.leave = nil; leaves {
			st.leave = leave
			get(leaving, "")
		}
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				w := get(t.Context(), "")
				is.Equal(w.Code, http.StatusConflict)
				require.Contains(t, w.Body.String(), `"code":"list_too_large"`)
			})
		}
		all.Wait()
		leave()
		require.AtMost(t, st.read.Load(), int64(licensefile.MaxListed+store.MaxLimit))
	}
	is.Equal(problems(), []string{"atlas"})

	// The list of one license reads no other, and does not make the service read
	// the list of all again.
	st.read.Store(0)
	refused := list("&license_id=" + bad.LicenseID)
	expect := licensefile.Expect{ProductID: "atlas", Revocations: refused}
	require.ErrorIs(t, bad.Check(expect), licensefile.ErrRevoked)
	require.ErrorIs(t, good.Check(expect), licensefile.ErrOtherLicense)
	is.Equal(problems(), []string{"atlas"})
	accepted := list("&license_id=" + good.LicenseID)
	is.NoErr(good.Check(licensefile.Expect{ProductID: "atlas", Revocations: accepted}))
	_, err = h.Service().Reinstate(t.Context(), api.ChangeStateParams{ID: l.ID})
	is.NoErr(err)
	again := list("&license_id=" + bad.LicenseID)
	require.Greater(t, again.Sequence, refused.Sequence)
	is.NoErr(bad.Check(licensefile.Expect{ProductID: "atlas", Revocations: again}))
	is.Equal(get(t.Context(), "").Code, http.StatusConflict)
	is.Equal(st.read.Load(), int64(0))
}
