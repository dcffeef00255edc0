package dashboard_test

import (
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestFormsNoticeOtherChanges submits forms of records that someone else has
// changed since they were opened. Nothing is overwritten until the form, with its
// values kept, is submitted again.
func TestFormsNoticeOtherChanges(t *testing.T) {
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Atlas"})
	c, _, err := s.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "Shop"})
	is.New(t).NoErr(err)
	w := s.webhook("https://shop.example/hooks")
	op := s.operator("sue@example.com", operator.RoleViewer)
	for _, tt := range []struct {
		page         string
		mine, theirs []string
		stored       func() string
		want         [2]string // after the conflict, and after the form is submitted again
	}{
		{
			"licenses/" + l.ID + "/edit", []string{"name", "Mine", "product_id", "atlas", "customer_id", "harbour-pilots"},
			[]string{"name", "Theirs", "product_id", "atlas", "customer_id", "harbour-pilots"},
			func() string { l, _ := s.Service().Get(t.Context(), l.ID); return l.Name }, [2]string{"Theirs", "Mine"},
		},
		{
			"settings/credentials/" + c.ID + "/edit", []string{"name", "Mine", "scopes", auth.ScopeLicenseRead}, []string{"name", "Theirs", "scopes", auth.ScopeLicenseRead},
			func() string { c, _ := s.Auth().GetClient(t.Context(), c.ID); return c.Name }, [2]string{"Theirs", "Mine"},
		},
		{
			"settings/webhooks/" + w.ID + "/edit", []string{"url", "https://mine.example/", "types", "all"}, []string{"url", "https://theirs.example/", "types", "all"},
			func() string { w, _ := s.Webhooks().Get(t.Context(), w.ID); return w.URL }, [2]string{"https://theirs.example/", "https://mine.example/"},
		},
		{
			"settings/operators/" + op.ID, []string{"change", "role", "role", "admin"}, []string{"change", "role", "role", "support"},
			func() string { op, _ := s.Operators().Get(t.Context(), op.ID); return string(op.Role) }, [2]string{"support", "admin"},
		},
	} {
		t.Run(tt.page, func(t *testing.T) {
			is := is.New(t)
			version := v.get(tt.page).hidden("version")
			is.Equal(v.change(tt.page, tt.theirs...).StatusCode, http.StatusSeeOther)
			a := v.post(tt.page, append(tt.mine, "version", version)...)
			is.Equal(a.StatusCode, http.StatusConflict)
			require.Contains(t, a.body, "was changed while the form was open")
			is.Equal(tt.stored(), tt.want[0])
			a = v.post(tt.page, append(tt.mine, "version", a.hidden("version"))...)
			is.Equal(a.StatusCode, http.StatusSeeOther)
			is.Equal(tt.stored(), tt.want[1])
		})
	}
}

// TestStaleEditShowsTheOtherValues: fields that were not touched take the values of the
// record, and one that both have changed shows what is stored.
func TestStaleEditShowsTheOtherValues(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	l := s.license(api.CreateLicenseParams{Name: "Atlas", Terms: api.Terms{MaxActivations: new(int64(2))}, Metadata: map[string]string{"order": "7"}})
	page := "licenses/" + l.ID + "/edit"
	open := v.get(page)
	_, err := s.Service().Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, Name: new("Theirs"), MaxActivations: api.To(int64(5))})
	is.NoErr(err)
	form := fields(open)
	form.Set("name", "Mine")
	form.Set("customer_id", "bakery")
	form.Set("opened", html.UnescapeString(open.hidden("opened")))
	form.Set("version", open.hidden("version"))
	send := func() reply {
		var list []string
		for name, values := range form {
			for _, value := range values {
				list = append(list, name, value)
			}
		}
		return v.post(page, list...)
	}
	a := send()
	is.Equal(a.StatusCode, http.StatusConflict)
	is.Equal(strings.Count(a.body, "Now: "), 1)
	require.Contains(t, a.body, `<p class="hint" id="f-name-now"><strong>Now: Theirs</strong></p>`)
	form = fields(a)
	is.Equal([]string{form.Get("name"), form.Get("customer_id"), form.Get("max_activations")}, []string{"Mine", "bakery", "5"})
	form.Set("opened", html.UnescapeString(a.hidden("opened")))
	form.Set("version", a.hidden("version"))
	is.Equal(send().StatusCode, http.StatusSeeOther)
	l, err = s.Service().Get(t.Context(), l.ID)
	is.NoErr(err)
	is.Equal([]string{l.Name, l.CustomerID, l.Metadata["order"]}, []string{"Mine", "bakery", "7"})
	is.Equal(*l.MaxActivations, int64(5))
}

// limitedStore fails every Update after a number of them.
type limitedStore struct {
	store.Store
	left atomic.Int64
}

func (s *limitedStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	if s.left.Add(-1) < 0 {
		return store.ErrUnavailable
	}
	return s.Store.Update(ctx, fn)
}

func TestInterruptedFormTakesEffectOnce(t *testing.T) {
	is := is.New(t)
	st := &limitedStore{Store: memory.New()}
	st.left.Store(1000)
	s := newSiteOn(t, st, licensing.Options{})
	v := s.admin()
	form := []string{"name", "Atlas", "product_id", "atlas", "customer_id", "harbour", "once", v.get("licenses/new").hidden("once")}
	st.left.Store(1) // the server stops after the first Update
	v.post("licenses/new", form...)
	st.left.Store(1000)
	a := v.post("licenses/new", form...)
	is.Equal(a.StatusCode, http.StatusSeeOther)
	list, err := s.Service().List(t.Context(), api.ListLicensesParams{})
	is.NoErr(err)
	is.Equal(len(list.Data), 1)
	require.Contains(t, a.to(), list.Data[0].ID)
}

// TestFormRunsTheHookOnce although the hook writes through a pointer and the shortcut
// for the expiry depends on the clock.
func TestFormRunsTheHookOnce(t *testing.T) {
	is := is.New(t)
	var s *site
	calls := 0
	s = newSiteOn(t, memory.New(), licensing.Options{BeforeCreate: func(ctx context.Context, p *api.CreateLicenseParams) error {
		calls++
		*p.ExpiresAt = p.ExpiresAt.AddDate(0, 0, calls)
		_, err := s.Service().List(ctx, api.ListLicensesParams{}) // would not return inside an Update
		return err
	}})
	v := s.admin()
	form := []string{"name", "Atlas", "product_id", "atlas", "customer_id", "harbour", "term", "P1Y", "once", v.get("licenses/new").hidden("once")}
	for range 2 {
		is.Equal(v.post("licenses/new", form...).StatusCode, http.StatusSeeOther)
	}
	is.Equal(calls, 1)
	list, err := s.Service().List(t.Context(), api.ListLicensesParams{})
	is.NoErr(err)
	is.Equal(len(list.Data), 1)
}

// busyStore runs a function before each commit.
type busyStore struct {
	store.Store
	beforeCommit func()
}

func (s *busyStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	return s.Store.Update(ctx, func(tx store.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		s.beforeCommit()
		return nil
	})
}

func TestFormEndsTokensThatAreVerifiedMeanwhile(t *testing.T) {
	is := is.New(t)
	st := &busyStore{memory.New(), func() {}}
	s := newSiteOn(t, st, licensing.Options{})
	v := s.admin()
	c, secret, err := s.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "Web shop"})
	is.NoErr(err)
	resp, err := http.PostForm(s.base+"/oauth/token", url.Values{"grant_type": {"client_credentials"}, "client_id": {c.ID}, "client_secret": {secret}})
	is.NoErr(err)
	defer resp.Body.Close()
	var token struct {
		AccessToken string `json:"access_token"`
	}
	is.NoErr(json.NewDecoder(resp.Body).Decode(&token))
	verify := func() int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/license?customer_id=harbour", nil)
		r.Header.Set("Authorization", "Bearer "+token.AccessToken)
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code
	}
	page := "settings/credentials/" + c.ID + "/rotate"
	mark := v.get(page).hidden("once")
	st.beforeCommit = func() { is.Equal(verify(), http.StatusOK) }
	is.Equal(v.post(page, "overlap", "0s", "once", mark).StatusCode, http.StatusOK)
	st.beforeCommit = func() {}
	is.Equal(verify(), http.StatusUnauthorized)
}
