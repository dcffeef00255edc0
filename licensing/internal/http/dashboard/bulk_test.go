package dashboard_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
	"github.com/seed-d8a106b4/licensekit/storetest"
)

func TestBulkActions(t *testing.T) {
	is := is.New(t)
	s := newSiteOn(t, storetest.Twice(memory.New()), licensing.Options{})
	v := s.admin()
	var ids []string
	for i := range 4 {
		ids = append(ids, s.license(api.CreateLicenseParams{Name: fmt.Sprintf("Number %d", i)}).ID)
	}
	_, err := s.Service().Revoke(t.Context(), api.ChangeStateParams{ID: ids[1]})
	is.NoErr(err)
	is.NoErr(s.Service().Delete(t.Context(), api.DeleteLicenseParams{ID: ids[2]}))
	list := v.get("licenses")
	is.Equal(strings.Count(list.body, `name="id"`), 3)
	require.Contains(t, list.body, `formaction="./licenses/selected/suspend"`, `formaction="./licenses/selected/revoke"`)
	s.operator("vic@example.com", operator.RoleViewer)
	require.NotContains(t, s.signedIn("vic@example.com").get("licenses").body, "licenses/selected/") // not for viewers

	ask := v.get("licenses/selected/suspend?id=" + strings.Join(append(ids, ids[0]), "&id="))
	is.Equal(ask.StatusCode, http.StatusOK)
	require.Contains(t, ask.body, "<title>Suspend: 4 licenses", "Number 0", "This license is revoked and will not be changed.", "no longer exists")
	require.Contains(t, ask.body, "<p>2 of 4 licenses will be changed.</p>", "Suspend 2 licenses</button>")
	is.Equal(confirmed(ask)["id"], []string{ids[0], ids[3]}) // only these
	status := func(i int) api.LicenseStatus {
		l, err := s.Service().Get(t.Context(), ids[i])
		is.NoErr(err)
		return l.Status
	}
	is.Equal(status(0), api.LicenseActive) // the confirmation page changes nothing

	form := []string{"id", ids[0], "id", ids[1], "id", ids[2], "id", ids[3]}
	is.Equal(v.post("licenses/selected/suspend", append(form, "reason", "a\x01")...).StatusCode, http.StatusUnprocessableEntity)
	is.Equal(status(0), api.LicenseActive)
	a := v.post("licenses/selected/suspend", append(form, "reason", "The invoice is open")...)
	is.Equal(a.StatusCode, http.StatusOK)
	require.Contains(t, a.body, "2 of 4 succeeded.", "Cannot suspend license: the license is revoked.", "no longer exists")
	is.Equal(strings.Count(a.body, `data-label="Result"><span>Done<`), 2)
	is.Equal(status(0), api.LicenseSuspended)
	is.Equal(status(1), api.LicenseRevoked)
	is.Equal(status(3), api.LicenseSuspended)
	require.Contains(t, v.get("licenses/"+ids[3]).body, "The invoice is open")
	require.Contains(t, v.post("licenses/selected/suspend", form...).body, "0 of 4 succeeded.")

	require.Contains(t, a.body, "Undo: Reinstate these 2 licenses</button>")
	undone := v.post("licenses/selected/reinstate", flat(confirmed(a))...)
	require.Contains(t, undone.body, "2 of 2 succeeded.", "Undo: Suspend these 2 licenses</button>")
	is.Equal(status(0), api.LicenseActive)
	require.Contains(t, v.get("licenses/selected/revoke?id="+strings.Join(ids, "&id=")).body, "Type 2 to confirm.")
	require.Contains(t, v.post("licenses/selected/revoke", "id", ids[0], "id", ids[3]).body, "This is not the number of licenses.")
	require.Contains(t, v.post("licenses/selected/revoke", "id", ids[0], "id", ids[3], "number", "2").body, "2 of 2 succeeded.")
	is.Equal(status(3), api.LicenseRevoked)
}

// TestBulkUndo: Undo puts back the state, the reason and who suspends a license, and a
// payment ends only the pause of its purchase.
func TestBulkUndo(t *testing.T) {
	is := is.New(t)
	s := newSiteOn(t, storetest.Twice(memory.New()), licensing.Options{})
	v := s.admin()
	_, err := s.Selling().PutPlan(t.Context(), api.PutPlanParams{ID: "pro", ProductID: "app", Duration: api.Duration{Years: 1}})
	is.NoErr(err)
	at := s.clock().Add(-time.Hour)
	ids := map[string]string{}
	tell := func(name string, state api.PurchaseState, reason string) {
		at = at.Add(time.Minute)
		f, err := s.Selling().RecordPurchase(t.Context(), api.RecordPurchaseParams{Reference: "sub_" + name, At: at, CustomerID: "c", Name: name, PlanID: "pro", State: state, Reason: reason})
		is.NoErr(err)
		ids[name] = f.LicenseID
	}
	for _, name := range []string{"free", "held", "paused", "both"} {
		tell(name, api.PurchaseActive, "")
	}
	suspend := func(name, reason string) {
		_, err := s.Service().Suspend(t.Context(), api.ChangeStateParams{ID: ids[name], Reason: reason})
		is.NoErr(err)
	}
	suspend("free", "A mistake")
	_, err = s.Service().Reinstate(t.Context(), api.ChangeStateParams{ID: ids["free"], Reason: "Sorry <b>"})
	is.NoErr(err)
	suspend("held", "Fraud")
	tell("paused", api.PurchasePaused, "Declined")
	tell("both", api.PurchasePaused, "Declined")
	suspend("both", "")
	shown := func(names ...string) (all string) {
		for _, name := range names {
			l, err := s.Service().Get(t.Context(), ids[name])
			is.NoErr(err)
			all += fmt.Sprintf("%s: %s %q\n", name, l.Status, l.StatusReason)
		}
		return all
	}
	do := func(change string, names ...string) {
		query := ""
		for _, name := range names {
			query += "&id=" + ids[name]
		}
		ask := v.get("licenses/selected/" + change + "?" + query)
		require.Contains(t, ask.body, fmt.Sprintf(" %d licenses</button>", len(names)))
		form := confirmed(ask)
		form.Set("reason", "By hand")
		done := v.submit(ask, form)
		require.Contains(t, done.body, fmt.Sprintf("%d of %[1]d succeeded.", len(names)))
		undone := v.submit(done, confirmed(done))
		require.Contains(t, undone.body, fmt.Sprintf("%d of %[1]d succeeded.", len(names)))
	}
	all := []string{"free", "held", "paused", "both"}
	before := shown(all...)
	require.Contains(t, v.get("licenses/"+ids["paused"]).body, "/suspend\"")
	require.NotContains(t, v.get("licenses/"+ids["held"]).body, "/suspend\"")
	do("suspend", "free", "paused")
	is.Equal(shown(all...), before)
	do("reinstate", "held", "paused", "both")
	is.Equal(shown(all...), before)
	for _, name := range all {
		tell(name, api.PurchaseActive, "")
	}
	is.Equal(shown(all...), "free: active \"Sorry <b>\"\nheld: suspended \"Fraud\"\npaused: active \"\"\nboth: suspended \"\"\n")
}

// confirmed returns what the form of a confirmation sends.
func confirmed(a reply) url.Values {
	form := fields(a)
	form.Del("id")
	for _, m := range regexp.MustCompile(`<input type="hidden" name="id" value="([^"]*)"`).FindAllStringSubmatch(a.body, -1) {
		form.Add("id", html.UnescapeString(m[1]))
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

func (tx feedTx) AppendEvents(ctx context.Context, events ...store.Event) error {
	*tx.n += len(events)
	if tx.onAppend != nil {
		tx.onAppend()
	}
	return tx.Tx.AppendEvents(ctx, events...)
}

// A manySite has 1,030 licenses of atlas, which end within a year, and 10 of compass.
type manySite struct {
	*site
	*visitor
	st *feedStore
}

// manyFilter is the filter of a list that all licenses of atlas match, renewed or not.
const manyFilter = "expires=365d&product=atlas"

func newManySite(t *testing.T) manySite {
	is := is.New(t)
	st := &feedStore{Store: memory.New()}
	s := newSiteOn(t, st, licensing.Options{})
	var rows strings.Builder
	for i := range 1040 {
		product := "atlas"
		if i%104 == 0 {
			product = "compass"
		}
		fmt.Fprintf(&rows, `{"key":"imported-key-%04d","name":"Number %d","product_id":"%s","customer_id":"c","expires_at":"%s"}`+"\n", i, i, product, s.now.AddDate(0, 0, i%300+1).Format(time.RFC3339))
	}
	is.NoErr(s.Service().Import(t.Context(), strings.NewReader(rows.String()), func(r api.RowResult) error {
		is.Equal(r.Result, api.ImportCreated)
		return nil
	}))
	st.most = 0
	return manySite{s, s.admin(), st}
}

// revisions returns how many licenses of a product have each revision.
func (m manySite) revisions(t *testing.T, product string) map[int64]int {
	n := map[int64]int{}
	for l, err := range m.Service().All(t.Context(), api.ListLicensesParams{ProductID: product}) {
		is.New(t).NoErr(err)
		n[l.Revision]++
	}
	return n
}

// TestAllMatching renews all licenses that a filter matches, as far as one confirmation
// goes.
func TestAllMatching(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	m := newManySite(t)
	require.Contains(t, m.get("licenses?"+manyFilter).body, ">Change all 1,030 matching licenses</summary>")
	require.NotContains(t, m.get("licenses?product=compass").body, "Change all") // all are on the page

	// A confirmation is of 1,000 at most, and renewed ones still match: the others need
	// another filter.
	ask := m.get("licenses/selected/renew?all=1&" + manyFilter)
	require.Contains(t, ask.body, "Renew 1,000 licenses</button>", "Narrow it to renew the others.", "and 950 more.")
	form := confirmed(ask)
	is.Equal(len(form["id"]), 1000)
	form.Set("term", "P1M")
	form.Set("from", "later")
	form.Set("number", "1000")
	done := m.submit(ask, form)
	require.Contains(t, done.body, "1000 of 1000 succeeded.", "and 950 more, all done.")
	require.NotContains(t, done.body, "Continue with")
	is.Equal(m.revisions(t, "atlas"), map[int64]int{1: 30, 2: 1000})
	is.Equal(m.revisions(t, "compass"), map[int64]int{1: 10})
	require.Greater(t, m.st.most, 0)
	require.AtMost(t, m.st.most, 10) // in short Updates

	// The form changes what it showed, once.
	again := m.submit(ask, form)
	require.Contains(t, again.body, "0 of 1000 succeeded.")
	is.Equal(strings.Count(again.body, "was changed after you selected it"), 1000)
	is.Equal(m.revisions(t, "atlas"), map[int64]int{1: 30, 2: 1000})
}

// TestAllMatchingContinues suspends all licenses that a filter matches. Suspended ones are
// left out, so the same address continues with the others.
func TestAllMatchingContinues(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	m := newManySite(t)
	ask := m.link(m.get("licenses?"+manyFilter), "Suspend")
	require.Contains(t, ask.body, "Suspend 1,000 licenses</button>", "You can continue with them afterwards.")
	form := confirmed(ask)
	form.Set("number", "1000")
	ask = m.link(m.submit(ask, form), "Continue with the next licenses")
	require.Contains(t, ask.body, "Suspend 30 licenses</button>")
	require.NotContains(t, ask.body, "More licenses")
	done := m.submit(ask, confirmed(ask))
	require.Contains(t, done.body, "30 of 30 succeeded.")
	require.NotContains(t, done.body, "Continue with")
	is.Equal(m.get("licenses/selected/suspend?all=1&"+manyFilter).StatusCode, http.StatusUnprocessableEntity) // none is left
}

// TestAllMatchingNeedsTheNumber checks that what cannot be undone, or is done to many,
// needs the number of licenses in the form.
func TestAllMatchingNeedsTheNumber(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	m := newManySite(t)
	ask := m.get("licenses/selected/renew?all=1&" + manyFilter)
	form := confirmed(ask)
	form.Set("term", "P1M")
	form.Set("from", "later")
	require.Contains(t, m.submit(ask, form).body, "Type 1000 to confirm.")
	is.Equal(m.revisions(t, "atlas"), map[int64]int{1: 1030})

	const compass = "all=1&product=compass"
	ask = m.get("licenses/selected/revoke?" + compass)
	require.Contains(t, ask.body, "Type 10 to confirm.", "Revoke 10 licenses</button>")
	form = confirmed(ask)
	form.Set("number", "9")
	refused := m.submit(ask, form)
	is.Equal(refused.StatusCode, http.StatusUnprocessableEntity)
	require.Contains(t, refused.body, "This is not the number of licenses.", "Revoke 10 licenses</button>")
	is.Equal(m.revisions(t, "compass"), map[int64]int{1: 10})
	form.Set("number", "10")
	require.Contains(t, m.submit(refused, form).body, "10 of 10 succeeded.")
	is.Equal(m.get("licenses/selected/suspend?"+compass).StatusCode, http.StatusUnprocessableEntity) // of revoked ones
}

// TestExportOfASelection exports the licenses that were selected, and records that.
func TestExportOfASelection(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	var ids []string
	for range 3 {
		ids = append(ids, s.license(api.CreateLicenseParams{Name: "A"}).ID)
	}
	a := v.get("licenses.csv?of=selected&id=" + ids[2] + "&id=" + ids[0])
	is.Equal(a.StatusCode, http.StatusOK)
	is.Equal(strings.Count(a.body, "lic_"), 2)
	require.NotContains(t, a.body, ids[1])
	is.Equal(v.get("licenses.csv?of=selected").StatusCode, http.StatusUnprocessableEntity)
	require.Contains(t, v.get("audit?type=license_export.created").body, "2 licenses with keys, as CSV")
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
		form = append(form, "id", s.license(api.CreateLicenseParams{Name: "A"}).ID)
	}
	for _, tt := range []struct {
		change string
		each   time.Duration
		most   int
	}{
		{"suspend", 0, 10},
		{"reinstate", 4 * time.Millisecond, 3}, // the fourth would start after 12 ms
		{"revoke", time.Second, 1},
	} {
		st.most, st.onAppend = 0, func() { s.advance(tt.each) }
		require.Contains(t, v.post("licenses/selected/"+tt.change, append(form, "number", "25")...).body, "25 of 25 succeeded.")
		is.Equal(st.most, tt.most)
	}
}

// TestBulkActionOfAnOperatorWithoutAccess takes the access away during the first
// batch of a bulk action.
func TestBulkActionOfAnOperatorWithoutAccess(t *testing.T) {
	viewer, yes := operator.RoleViewer, true
	stops := func(is *is.I, st *feedStore, s *site, v *visitor, end func()) (page string) {
		var form []string
		for range 25 {
			form = append(form, "id", s.license(api.CreateLicenseParams{Name: "A"}).ID)
		}
		st.onUpdate = end
		done := v.post("licenses/selected/suspend", form...)
		is.Equal(done.StatusCode, http.StatusOK)
		require.Contains(s.t, done.body, "10 of 25 succeeded.")
		is.Equal(strings.Count(done.body, "Not attempted. Your session has ended or your role has changed."), 15)
		list, err := s.Service().List(t.Context(), api.ListLicensesParams{Status: api.LicenseSuspended})
		is.NoErr(err)
		is.Equal(len(list.Data), 10)
		return done.body
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
		"demoted by the host":          {ID: "7", Role: operator.RoleViewer},
		"replaced by another operator": {ID: "8", Role: operator.RoleAdmin},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			st := &feedStore{Store: memory.New()}
			op := operator.Operator{ID: "7", Role: operator.RoleAdmin}
			s := newSiteOn(t, st, licensing.Options{Dashboard: licensing.DashboardOptions{
				Operator: func(http.ResponseWriter, *http.Request) (operator.Operator, bool) { return op, true },
			}})
			page := stops(is, st, s, s.visitor(), func() { op = next })
			if next.Role == operator.RoleViewer {
				require.NotContains(t, page, "Undo:")
			}
		})
	}
}

// The confirmation says in words which licenses it is about.
func TestConfirmationDescribesTheSelection(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	v := s.admin()
	end := s.now.AddDate(0, 0, 10)
	id := s.license(api.CreateLicenseParams{Name: "Zoë", ExpiresAt: &end}).ID
	for list, want := range map[string]string{
		"":              "all licenses",
		"sort=oldest":   "all licenses",
		"sort=soonest":  "all licenses with an expiry",
		"product=atlas": "all licenses with the product “atlas”",
		"product=atlas&status=active&expires=30d":         "all licenses with the status active, the product “atlas” and an expiry in the next 30 days",
		"q=zo%C3%AB&customer=harbour-pilots&sort=soonest": "all licenses with a match for “zoë” and the customer “harbour-pilots”",
	} {
		ask := v.get("licenses/selected/suspend?all=1&" + list)
		require.Contains(t, ask.body, "<p>Selected: "+want+" that this can change.</p>") // want
		require.Contains(t, ask.body, "Suspend 1 license</button>")
		wrong := v.submit(ask, url.Values{"id": {id}, "reason": {"a\x01"}})
		is.Equal(wrong.StatusCode, http.StatusUnprocessableEntity)
		require.Contains(t, wrong.body, "<p>Selected: "+want+" that this can change.</p>")
	}
	require.Contains(t, v.get("licenses/selected/suspend?id="+id).body, "<p>Selected: 1 license that you chose in the list.</p>")
}

func TestBulkRenewal(t *testing.T) {
	is := is.New(t)
	s := newSite(t)
	end := s.now.AddDate(0, 1, 0)
	a := s.license(api.CreateLicenseParams{Name: "A", ExpiresAt: &end})
	b := s.license(api.CreateLicenseParams{Name: "B"})
	late := s.now.AddDate(5, 0, 0)
	c := s.license(api.CreateLicenseParams{Name: "C", ExpiresAt: &late})
	s.operator("sue@example.com", operator.RoleSupport)
	v := s.signedIn("sue@example.com")
	list := v.get("licenses")
	require.Contains(t, list.body, "licenses/selected/renew", "licenses/selected/reinstate", `value="selected" formaction="./licenses.csv">Export`)
	require.NotContains(t, list.body, "licenses/selected/revoke")
	is.Equal(v.get("licenses/selected/revoke?id="+a.ID).StatusCode, http.StatusForbidden)
	require.NotContains(t, v.get("licenses.csv?of=selected&id="+a.ID).body, a.Key)

	ask := v.get("licenses/selected/renew?id=" + a.ID + "&id=" + b.ID + "&id=" + c.ID)
	require.Contains(t, ask.body, "This license has no expiry and will not be changed.", "Renew 2 licenses</button>")
	form := confirmed(ask)
	form.Set("term", "length")
	form.Set("duration", "0")
	wrong := v.submit(ask, form)
	is.Equal(wrong.StatusCode, http.StatusUnprocessableEntity)
	require.Contains(t, wrong.body, "Fix 1 error", "Renew 2 licenses</button>")
	form = confirmed(wrong)
	form.Set("term", "date")
	form.Set("duration", "")
	form.Set("expires_at", end.AddDate(1, 0, 0).Format("2006-01-02T15:04:05"))
	done := v.submit(wrong, form)
	require.Contains(t, done.body, "1 of 2 succeeded.", "must be later than the current expires_at")
	a, err := s.Service().Get(t.Context(), a.ID)
	is.NoErr(err)
	is.Equal(*a.ExpiresAt, end.AddDate(1, 0, 0))
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
		"unknown change":    {"misplace", []string{"id", "lic_1"}, http.StatusNotFound, "Not found"},
		"not a bulk action": {"rekey", []string{"id", "lic_1"}, http.StatusNotFound, "Not found"},
		"unknown license":   {"suspend", []string{"id", "lic_1"}, http.StatusOK, "Results"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			a := v.post("licenses/selected/"+tt.path, tt.form...)
			is.Equal(a.StatusCode, tt.status)
			require.Contains(t, a.body, tt.title+" · Licensing</title>")
		})
	}
}
