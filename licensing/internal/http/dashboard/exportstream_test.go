package dashboard_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A listedStore counts the rows of lists of licenses, without those by ID, and of events.
type listedStore struct {
	store.Store
	rows *atomic.Int64
}

type listedReader struct {
	store.Reader
	rows *atomic.Int64
}

func (st listedStore) View(ctx context.Context, fn func(store.Reader) error) error {
	return st.Store.View(ctx, func(r store.Reader) error { return fn(listedReader{r, st.rows}) })
}

func (st listedStore) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	return listedReader{st.Store, st.rows}.Licenses(ctx, q)
}

func (r listedReader) Licenses(ctx context.Context, q store.LicenseQuery) ([]store.License, error) {
	list, err := r.Reader.Licenses(ctx, q)
	if q.IDs == nil {
		r.rows.Add(int64(len(list)))
	}
	return list, err
}

func (r listedReader) Events(ctx context.Context, q store.EventQuery) ([]store.Event, error) {
	list, err := r.Reader.Events(ctx, q)
	r.rows.Add(int64(len(list)))
	return list, err
}

// An aheadWriter knows the most rows that were read and not yet written.
type aheadWriter struct {
	*httptest.ResponseRecorder
	read           *atomic.Int64
	written, ahead int64
}

func (w *aheadWriter) Write(part []byte) (int, error) {
	w.ahead = max(w.ahead, w.read.Load()-w.written)
	w.written += int64(bytes.Count(part, []byte("\n")))
	return len(part), nil
}

// TestExportsStream: an export holds a few rows in memory, whatever their number.
func TestExportsStream(t *testing.T) {
	is := is.New(t)
	st := listedStore{memory.New(), new(atomic.Int64)}
	s := newSiteOn(t, st, licensing.Options{})
	v := s.admin()
	const rows = 5000
	s.addLicenses(rows)
	c, secret, err := s.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "Web shop"})
	is.NoErr(err)
	answer, err := http.PostForm(s.base+"/oauth/token", url.Values{"grant_type": {"client_credentials"}, "client_id": {c.ID}, "client_secret": {secret}})
	is.NoErr(err)
	defer answer.Body.Close()
	var token struct {
		Text string `json:"access_token"`
	}
	is.NoErr(json.NewDecoder(answer.Body).Decode(&token))
	at, err := url.Parse(s.base + "/dashboard/")
	is.NoErr(err)
	for _, path := range []string{"/dashboard/licenses.csv", "/dashboard/licenses.csv?status=active", "/dashboard/audit.csv", "/dashboard/audit.csv?q=number&from=2026-01-01", "/export/license.csv", "/export/license"} {
		t.Run(path, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil)
			r.Header.Set("Authorization", "Bearer "+token.Text)
			for _, c := range v.client.Jar.Cookies(at) {
				r.AddCookie(c)
			}
			st.rows.Store(0)
			w := &aheadWriter{ResponseRecorder: httptest.NewRecorder(), read: st.rows}
			s.ServeHTTP(w, r)
			is := is.New(t)
			is.Equal(w.Code, http.StatusOK)
			is.True(w.written >= rows)
			require.AtMost(t, w.ahead, 1500) // a batch, and what a buffer of 64 KiB holds
		})
	}
}
