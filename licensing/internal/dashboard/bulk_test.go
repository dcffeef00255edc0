package dashboard_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

func TestBulkActions(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	var ids []string
	for i := range 4 {
		ids = append(ids, s.license(license.CreateParams{Name: fmt.Sprintf("Number %d", i)}).ID)
	}
	_, err := s.Service().Revoke(t.Context(), license.MoveParams{ID: ids[1]})
	is.NoErr(err)
	is.NoErr(s.Service().Delete(t.Context(), license.DeleteParams{ID: ids[2]}))
	list := v.get("licenses")
	is.Equal(strings.Count(list.body, `name="id"`), 3)
	is.True(list.says(`formaction="./licenses/selected/suspend"`) && list.says(`formaction="./licenses/selected/revoke"`))
	s.operator("vic@example.com", operator.RoleViewer)
	is.True(!s.signedIn("vic@example.com").get("licenses").says("licenses/selected/")) // not for viewers

	ask := v.get("licenses/selected/suspend?id=" + strings.Join(append(ids, ids[0]), "&id="))
	is.Equal(ask.StatusCode, http.StatusOK)
	is.True(ask.says("<title>Suspend: 4 licenses") && ask.says("Number 0") && ask.says("This license is revoked and will not be changed.") && ask.says("no longer exists"))
	is.True(ask.says("<p>2 of 4 licenses will be changed.</p>") && ask.says("Suspend 2 licenses</button>"))
	is.Equal(confirmed(ask)["id"], []string{ids[0], ids[3]}) // only these
	status := func(i int) license.Status {
		l, err := s.Service().Get(t.Context(), ids[i])
		is.NoErr(err)
		return l.Status
	}
	is.Equal(status(0), license.StatusActive) // the confirmation page changes nothing

	form := []string{"id", ids[0], "id", ids[1], "id", ids[2], "id", ids[3]}
	is.Equal(v.post("licenses/selected/suspend", append(form, "reason", "a\x01")...).StatusCode, http.StatusUnprocessableEntity)
	is.Equal(status(0), license.StatusActive)
	a := v.post("licenses/selected/suspend", append(form, "reason", "The invoice is open")...)
	is.Equal(a.StatusCode, http.StatusOK)
	is.True(a.says("2 of 4 succeeded.") && a.says("Cannot suspend this license: it is revoked.") && a.says("no longer exists"))
	is.Equal(strings.Count(a.body, `data-label="Result"><span>Done<`), 2)
	is.Equal(status(0), license.StatusSuspended)
	is.Equal(status(1), license.StatusRevoked)
	is.Equal(status(3), license.StatusSuspended)
	is.True(v.get("licenses/" + ids[3]).says("The invoice is open"))
	is.True(v.post("licenses/selected/suspend", form...).says("0 of 4 succeeded."))

	is.True(v.post("licenses/selected/revoke", "id", ids[0], "id", ids[3]).says("2 of 2 succeeded."))
	is.Equal(status(3), license.StatusRevoked)
}

// confirmed returns what the form of a confirmation sends.
func confirmed(a reply) url.Values {
	form := fields(a)
	form.Del("id")
	for _, m := range regexp.MustCompile(`<input type="hidden" name="id" value="([^"]*)"`).FindAllStringSubmatch(a.body, -1) {
		form.Add("id", m[1])
	}
	return form
}

// A feedStore notes the largest number of events that one Update appended.
type feedStore struct {
	store.Store
	most     int
	onAppend func() // may be nil
	onUpdate func() // after the next Update; may be nil
}

type feedTx struct {
	store.Tx
	n        *int
	onAppend func()
}

func (s *feedStore) Update(ctx context.Context, fn func(store.Tx) error) error {
	n := 0
	err := s.Store.Update(ctx, func(tx store.Tx) error {
		n = 0
		return fn(feedTx{tx, &n, s.onAppend})
	})
	s.most = max(s.most, n)
	if after := s.onUpdate; after != nil {
		s.onUpdate = nil
		after()
	}
	return err
}

func (tx feedTx) AppendEvents(ctx context.Context, events ...store.Event) ([]int64, error) {
	*tx.n += len(events)
	if tx.onAppend != nil {
		tx.onAppend()
	}
	return tx.Tx.AppendEvents(ctx, events...)
}

// TestAllMatching changes all licenses that match a filter, in two parts.
func TestAllMatching(t *testing.T) {
	is := is.New(t)
	st := &feedStore{Store: memory.New()}
	s := newSiteOn(t, st, licensing.Options{})
	v := s.admin()
	var rows strings.Builder
	for i := range 1040 {
		product := "atlas"
		if i%104 == 0 {
			product = "compass"
		}
		fmt.Fprintf(&rows, `{"key":"imported-key-%04d","name":"Number %d","product_id":"%s","customer_id":"c","expires_at":"%s"}`+"\n", i, i, product, s.now.AddDate(0, 0, i%300+1).Format(time.RFC3339))
	}
	is.NoErr(s.Service().Import(t.Context(), strings.NewReader(rows.String()), func(r license.ImportResult) error {
		is.Equal(r.Result, license.ImportCreated)
		return nil
	}))
	st.most = 0
	revisions := func(p license.ListParams) map[int64]int {
		n := map[int64]int{}
		for l, err := range s.Service().All(t.Context(), p) {
			is.NoErr(err)
			n[l.Revision]++
		}
		return n
	}
	atlas := license.ListParams{ProductID: "atlas"}

	// Each is renewed once, although a renewed license still matches the filter.
	const filter = "expires=365d&product=atlas"
	is.True(v.get("licenses?" + filter).says("> Select all 1,030 matching licenses</label>"))
	ask := v.get("licenses/selected/renew?all=1&id=lic_1&list=" + url.QueryEscape(filter))
	is.True(ask.says("Renew 1,000 licenses</button>") && ask.says("More licenses match the filter.") && ask.says("and 950 more."))
	form := confirmed(ask)
	is.Equal(len(form["id"]), 1000)
	form.Set("term", "P1M")
	form.Set("from", "later")
	done := v.submit(ask, form)
	is.True(done.says("1000 of 1000 succeeded.") && done.says("and 950 more, all done."))
	is.True(st.most > 0 && st.most <= 10) // in short Updates
	again := v.submit(ask, form)
	is.True(again.says("0 of 1000 succeeded.") && strings.Count(again.body, "was changed after you selected it") == 1000)
	ask = v.link(done, "Continue with the next licenses")
	is.True(ask.says("Renew 30 licenses</button>") && !ask.says("More licenses match"))
	form = confirmed(ask)
	form.Set("term", "P1M")
	done = v.submit(ask, form)
	is.True(done.says("30 of 30 succeeded.") && !done.says("Continue with"))
	is.Equal(revisions(atlas), map[int64]int{2: 1030})
	is.Equal(revisions(license.ListParams{ProductID: "compass"}), map[int64]int{1: 10})
	is.Equal(v.link(done, "Go to licenses").Request.URL.RawQuery, filter)

	// Revoking them all requires their number.
	const compass = "product=compass"
	ask = v.get("licenses/selected/revoke?all=1&list=" + compass)
	is.True(ask.says("Type 10 to confirm.") && ask.says("Revoke 10 licenses</button>"))
	form = confirmed(ask)
	form.Set("number", "9")
	refused := v.submit(ask, form)
	is.Equal(refused.StatusCode, http.StatusUnprocessableEntity)
	is.True(refused.says("This is not the number of licenses.") && refused.says("Revoke 10 licenses</button>"))
	form.Set("number", "10")
	is.True(v.submit(refused, form).says("10 of 10 succeeded."))
	is.True(v.get("licenses/selected/suspend?all=1&list=" + compass).says("<p>0 of 10 licenses will be changed.</p>"))
	is.Equal(v.get("licenses/selected/suspend?all=1&list=product%3Dnone").StatusCode, http.StatusUnprocessableEntity)
	is.True(!v.get("licenses?" + compass).says("data-every")) // all are on the page

	// Exports of the selection and of everything that matches.
	csv := func(query string) int {
		a := v.get("licenses.csv?of=selected" + query)
		is.Equal(a.StatusCode, http.StatusOK)
		return strings.Count(a.body, "imported-key-")
	}
	is.Equal(csv("&all=1&list="+compass), 10)
	page, err := s.Service().List(t.Context(), license.ListParams{Limit: 3})
	is.NoErr(err)
	is.Equal(csv("&id="+page.Data[2].ID+"&id="+page.Data[0].ID), 2)
	is.Equal(v.get("licenses.csv?of=selected").StatusCode, http.StatusUnprocessableEntity)
	is.True(v.get("audit?type=license_export.created").says("2 licenses with keys, as CSV"))
}

// TestBulkActionTime checks that an Update changes fewer licenses if each takes
// long, because other requests wait for the write lock.
func TestBulkActionTime(t *testing.T) {
	is := is.New(t)
	st := &feedStore{Store: memory.New()}
	s := newSiteOn(t, st, licensing.Options{})
	v := s.admin()
	var form []string
	for range 25 {
		form = append(form, "id", s.license(license.CreateParams{Name: "A"}).ID)
	}
	for _, tt := range []struct {
		move string
		each time.Duration
		most int
	}{
		{"suspend", 0, 10},
		{"reinstate", 4 * time.Millisecond, 3}, // the fourth would start after 12 ms
		{"revoke", time.Second, 1},
	} {
		st.most, st.onAppend = 0, func() { s.advance(tt.each) }
		is.True(v.post("licenses/selected/"+tt.move, form...).says("25 of 25 succeeded."))
		is.Equal(st.most, tt.most)
	}
}

// TestBulkActionOfAnOperatorWithoutAccess takes the access away during the first
// batch of a bulk action.
func TestBulkActionOfAnOperatorWithoutAccess(t *testing.T) {
	viewer, yes := operator.RoleViewer, true
	stops := func(is *is.I, st *feedStore, s *site, v *visitor, end func()) {
		var form []string
		for range 25 {
			form = append(form, "id", s.license(license.CreateParams{Name: "A"}).ID)
		}
		st.onUpdate = end
		done := v.post("licenses/selected/suspend", form...)
		is.Equal(done.StatusCode, http.StatusOK)
		is.True(done.says("10 of 25 succeeded."))
		is.Equal(strings.Count(done.body, "Not attempted. Your session has ended or your role has changed."), 15)
		list, err := s.Service().List(t.Context(), license.ListParams{Status: license.StatusSuspended})
		is.NoErr(err)
		is.Equal(len(list.Data), 10)
	}
	for name, change := range map[string]operator.UpdateParams{"demoted": {Role: &viewer}, "disabled": {Disabled: &yes}} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			st := &feedStore{Store: memory.New()}
			s := newSiteOn(t, st, licensing.Options{})
			s.admin()
			change.ID = s.operator("eve@example.com", operator.RoleAdmin).ID
			stops(is, st, s, s.signedIn("eve@example.com"), func() {
				_, err := s.Operators().Update(t.Context(), change)
				is.NoErr(err)
			})
		})
	}
	for name, next := range map[string]operator.Operator{
		"demoted by the host":          {ID: "7", Role: operator.RoleSupport},
		"replaced by another operator": {ID: "8", Role: operator.RoleAdmin},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			st := &feedStore{Store: memory.New()}
			op := operator.Operator{ID: "7", Role: operator.RoleAdmin}
			s := newSiteOn(t, st, licensing.Options{Dashboard: licensing.DashboardOptions{
				Operator: func(http.ResponseWriter, *http.Request) (operator.Operator, bool) { return op, true },
			}})
			stops(is, st, s, s.visitor(), func() { op = next })
		})
	}
}

// The confirmation says in words which licenses it is about.
func TestConfirmationDescribesTheSelection(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	end := s.now.AddDate(0, 0, 10)
	id := s.license(license.CreateParams{Name: "Zoë", ExpiresAt: &end}).ID
	for list, want := range map[string]string{
		"":              "all licenses",
		"sort=oldest":   "all licenses",
		"sort=soonest":  "all licenses with an expiry",
		"product=atlas": "all licenses with the product “atlas”",
		"product=atlas&status=active&expires=30d":         "all licenses with the status active, the product “atlas” and an expiry in the next 30 days",
		"q=zo%C3%AB&customer=harbour-pilots&sort=soonest": "all licenses with a match for “zoë” and the customer “harbour-pilots”",
	} {
		ask := v.get("licenses/selected/suspend?all=1&list=" + url.QueryEscape(list))
		is.True(ask.says("<p>Selected: " + want + ".</p>")) // want
		is.True(ask.says("Suspend 1 license</button>"))
		wrong := v.submit(ask, url.Values{"id": {id}, "all": {"1"}, "reason": {"a\x01"}})
		is.Equal(wrong.StatusCode, http.StatusUnprocessableEntity)
		is.True(wrong.says("<p>Selected: " + want + ".</p>"))
	}
	is.True(v.get("licenses/selected/suspend?list=product%3Datlas&id=" + id).says("<p>Selected: 1 license that you chose in the list.</p>"))
}

func TestBulkRenewal(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	end := s.now.AddDate(0, 1, 0)
	a := s.license(license.CreateParams{Name: "A", ExpiresAt: &end})
	b := s.license(license.CreateParams{Name: "B"})
	late := s.now.AddDate(5, 0, 0)
	c := s.license(license.CreateParams{Name: "C", ExpiresAt: &late})
	s.operator("sue@example.com", operator.RoleSupport)
	v := s.signedIn("sue@example.com")
	list := v.get("licenses")
	is.True(list.says("licenses/selected/renew") && list.says("licenses/selected/reinstate") && list.says(`value="selected" formaction="./licenses.csv">Export`))
	is.True(!list.says("licenses/selected/suspend") && !list.says("licenses/selected/revoke"))
	is.Equal(v.get("licenses/selected/revoke?id="+a.ID).StatusCode, http.StatusForbidden)
	is.True(!v.get("licenses.csv?of=selected&id=" + a.ID).says(a.Key))

	ask := v.get("licenses/selected/renew?id=" + a.ID + "&id=" + b.ID + "&id=" + c.ID)
	is.True(ask.says("This license has no expiry and will not be changed.") && ask.says("Renew 2 licenses</button>"))
	form := confirmed(ask)
	form.Set("term", "length")
	form.Set("duration", "0")
	wrong := v.submit(ask, form)
	is.Equal(wrong.StatusCode, http.StatusUnprocessableEntity)
	is.True(wrong.says("Fix 1 error") && wrong.says("Renew 2 licenses</button>"))
	form = confirmed(wrong)
	form.Set("term", "date")
	form.Set("duration", "")
	form.Set("expires_at", end.AddDate(1, 0, 0).Format("2006-01-02T15:04:05"))
	done := v.submit(wrong, form)
	is.True(done.says("1 of 2 succeeded.") && done.says("must be later than the current expires_at"))
	a, err := s.Service().Get(t.Context(), a.ID)
	is.NoErr(err)
	is.True(a.ExpiresAt.Equal(end.AddDate(1, 0, 0)))
}

func TestBulkActionErrors(t *testing.T) {
	s := newSite(t)
	v := s.admin()
	var many []string
	for i := range 1001 {
		many = append(many, "id", fmt.Sprintf("lic_%d", i))
	}
	for name, tt := range map[string]struct {
		path   string
		form   []string
		status int
		title  string
	}{
		"none":              {"suspend", nil, http.StatusUnprocessableEntity, "No license selected"},
		"too many":          {"revoke", many, http.StatusUnprocessableEntity, "Too many licenses selected"},
		"unknown move":      {"misplace", []string{"id", "lic_1"}, http.StatusNotFound, "Not found"},
		"not a bulk action": {"rekey", []string{"id", "lic_1"}, http.StatusNotFound, "Not found"},
		"unknown license":   {"suspend", []string{"id", "lic_1"}, http.StatusOK, "Results"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			a := v.post("licenses/selected/"+tt.path, tt.form...)
			is.Equal(a.StatusCode, tt.status)
			is.True(a.says(tt.title + " · Licensing</title>"))
		})
	}
}
