package servicetest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A linkHost is a host application whose customers activate programs in a browser.
type linkHost struct{ *portalHost }

func newLinkHost(t *testing.T, opts licensing.Options, p licensing.Portal) linkHost {
	opts.PortalURL = "https://acme.example/account/licenses/"
	return linkHost{newPortalHost(t, opts, p)}
}

// call sends a request of a program.
func (h linkHost) call(path string, params, into any) (status int, code api.Code) {
	h.t.Helper()
	body, err := json.Marshal(params)
	if err != nil {
		h.t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(h.t.Context(), "POST", path, strings.NewReader(string(body)))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.Handler.ServeHTTP(w, r)
	var problem api.Problem
	if w.Code >= 400 {
		into = &problem
	}
	if err := json.Unmarshal(w.Body.Bytes(), into); err != nil {
		h.t.Fatal(err)
	}
	return w.Code, problem.Code
}

// start starts a link for a device.
func (h linkHost) start(device string) (l api.Link) {
	h.t.Helper()
	status, code := h.call("/license/link", api.StartLinkParams{ProductID: "atlas", Fingerprint: "fp-" + device, Name: device}, &l)
	if status != http.StatusCreated {
		h.t.Fatalf("starting a link: %d %s", status, code)
	}
	return l
}

// poll polls after the interval.
func (h linkHost) poll(l api.Link) (state api.LinkState, status int) {
	h.t.Helper()
	h.Clock.Advance(time.Duration(l.Interval) * time.Second)
	status, _ = h.call("/license/link/poll", api.PollLinkParams{Secret: l.Secret}, &state)
	return state, status
}

// decide sends the form of the page.
func (h linkHost) decide(code, decision, licenseID string, more ...string) *httptest.ResponseRecorder {
	h.t.Helper()
	form := url.Values{"code": {code}, "decision": {decision}, "license": {licenseID}}
	if len(more) > 0 {
		form.Set("device", more[0])
	}
	return h.visit("POST", "link", form)
}

func (h linkHost) page(l api.Link) *httptest.ResponseRecorder {
	h.t.Helper()
	u, err := url.Parse(l.URL)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.visit("GET", strings.TrimPrefix(u.RequestURI(), "/account/licenses/"), nil)
}

func (h linkHost) seats(licenseID string) int {
	h.t.Helper()
	page, err := h.Handler.Service().ListActivations(h.t.Context(), api.ListActivationsParams{LicenseID: licenseID})
	if err != nil {
		h.t.Fatal(err)
	}
	return len(page.Data)
}

func TestLink(t *testing.T) {
	is := is.New(t)
	h := newLinkHost(t, licensing.Options{}, licensing.Portal{})
	own, _ := h.license("cus_ada", "Workshop")
	l := h.start("laptop")
	is.Equal(l.URL, "https://acme.example/account/licenses/link?code="+l.Code)
	is.Equal(len(l.Code), 9)
	is.Equal(l.ExpiresAt, h.Clock.Now().Add(10*time.Minute))
	state, status := h.poll(l)
	is.Equal(status, http.StatusAccepted)
	is.Equal(state, api.LinkState{Object: "link_state", Status: api.LinkPending})
	status, code := h.call("/license/link/poll", api.PollLinkParams{Secret: l.Secret}, &state)
	is.Equal(status, http.StatusTooManyRequests)
	is.Equal(code, api.CodeSlowDown)

	for range 2 { // a faulty request is no poll, and does not make another one wait
		status, code = h.call("/license/link/poll", struct{}{}, &state)
		is.Equal(status, http.StatusUnprocessableEntity)
		is.Equal(code, api.CodeInvalidParameters)
	}

	page := h.page(l)
	is.Equal(page.Code, 200)
	require.Contains(t, page.Body.String(), "laptop", "atlas", "Workshop", l.Code, "only if you have just started", own.ID)
	require.NotContains(t, page.Body.String(), own.Key)
	is.Equal(h.seats(own.ID), 1) // nothing is activated by looking
	typed := h.visit("GET", "link", nil)
	require.Contains(t, typed.Body.String(), `name="code"`)
	lower := h.visit("GET", "link?code="+url.QueryEscape(strings.ToLower(strings.ReplaceAll(l.Code, "-", " "))), nil)
	require.Contains(t, lower.Body.String(), "laptop")

	done := h.decide(l.Code, "approve", own.ID)
	is.Equal(done.Code, http.StatusSeeOther)
	is.Equal(done.Header().Get("Location"), "./"+own.ID+"?linked")
	require.Contains(t, h.visit("GET", own.ID+"?linked", nil).Body.String(), "The program is activated.", "laptop")
	state, status = h.poll(l)
	is.Equal(status, 200)
	is.Equal(state.Key, own.Key)
	is.True(state.Verdict.Valid)
	is.Equal(state.Verdict.Activation.Fingerprint, "fp-laptop")
	again, status := h.poll(l) // the answer was lost
	is.Equal(status, 200)
	is.Equal(again, state)
	events, err := h.Handler.Service().Events(t.Context(), api.ListEventsParams{Types: []string{api.EventActivationCreated}, NewestFirst: true, Limit: 1})
	is.NoErr(err)
	is.Equal(events.Data[0].Actor, "customer:cus_ada")

	used := h.decide(l.Code, "approve", own.ID) // a replay
	is.Equal(used.Code, http.StatusNotFound)
	require.Contains(t, used.Body.String(), "was used")
	is.Equal(h.seats(own.ID), 2)
	is.Equal(h.decide(l.Code, "decline", "").Code, http.StatusSeeOther)
	_, status = h.poll(l)
	is.Equal(status, 200) // a used code declines nothing
}

func TestLinkEnds(t *testing.T) {
	for name, test := range map[string]struct {
		end     func(h linkHost, l api.Link, own api.License)
		pending bool // the customer has not approved
	}{
		"declined": {func(h linkHost, l api.Link, _ api.License) {
			w := h.decide(l.Code, "decline", "")
			is.New(h.t).Equal(w.Header().Get("Location"), "./link?declined")
			require.Contains(h.t, h.visit("GET", "link?declined", nil).Body.String(), "Nothing was activated.")
		}, true},
		"too late":            {func(h linkHost, l api.Link, _ api.License) { h.Clock.Set(l.ExpiresAt) }, true},
		"approved, long past": {func(h linkHost, l api.Link, _ api.License) { h.Clock.Set(l.ExpiresAt) }, false},
		"the device was removed": {func(h linkHost, l api.Link, own api.License) {
			is := is.New(h.t)
			page, err := h.Handler.Service().ListActivations(h.t.Context(), api.ListActivationsParams{LicenseID: own.ID})
			is.NoErr(err)
			i := slices.IndexFunc(page.Data, func(a api.Activation) bool { return a.Name == "laptop" })
			is.Equal(h.visit("POST", own.ID+"/release", url.Values{"device": {page.Data[i].ID}}).Code, http.StatusSeeOther)
		}, false},
		"the license was transferred": {func(h linkHost, l api.Link, own api.License) {
			_, err := h.Handler.Service().Transfer(h.t.Context(), api.TransferLicenseParams{ID: own.ID, CustomerID: "cus_bo"})
			is.New(h.t).NoErr(err)
		}, false},
		"the license was deleted": {func(h linkHost, l api.Link, own api.License) {
			is.New(h.t).NoErr(h.Handler.Service().Delete(h.t.Context(), api.DeleteLicenseParams{ID: own.ID}))
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			h := newLinkHost(t, licensing.Options{}, licensing.Portal{})
			own, _ := h.license("cus_ada", "Workshop")
			l := h.start("laptop")
			if !test.pending {
				is.Equal(h.decide(l.Code, "approve", own.ID).Code, http.StatusSeeOther)
				_, status := h.poll(l)
				is.Equal(status, 200)
			}
			test.end(h, l, own)
			is.Equal(h.page(l).Code, http.StatusNotFound) // also at the instant of its end
			_, status := h.poll(l)
			is.Equal(status, http.StatusGone)
			if test.pending {
				is.Equal(h.decide(l.Code, "approve", own.ID).Code, http.StatusNotFound)
				is.Equal(h.seats(own.ID), 1)
			}
		})
	}
}

// TestLinkOfAnotherCustomer: a stolen code gives nothing of the customer from whom it was
// stolen, and is used once.
func TestLinkOfAnotherCustomer(t *testing.T) {
	is := is.New(t)
	h := newLinkHost(t, licensing.Options{}, licensing.Portal{})
	ada, _ := h.license("cus_ada", "Ada's")
	bo, _ := h.license("cus_bo", "Bo's")
	l := h.start("laptop of ada")
	h.user = "cus_bo"
	require.NotContains(t, h.page(l).Body.String(), "Ada&#39;s", ada.ID)
	is.Equal(h.decide(l.Code, "approve", ada.ID).Code, http.StatusNotFound)
	is.Equal(h.seats(ada.ID), 1)
	is.Equal(h.decide(l.Code, "approve", bo.ID).Code, http.StatusSeeOther)
	h.user = "cus_ada"
	is.Equal(h.decide(l.Code, "approve", ada.ID).Code, http.StatusNotFound)
	is.Equal(h.seats(ada.ID), 1)
	state, _ := h.poll(l)
	is.Equal(state.Key, bo.Key)

	other := h.start("other") // another secret, and another fingerprint
	state, status := h.poll(other)
	is.Equal(status, http.StatusAccepted)
	is.Equal(state.Key, "")
	_, status = h.poll(api.Link{Secret: l.Code})
	is.Equal(status, http.StatusGone)
	h.user = "signed out"
	is.Equal(h.page(l).Header().Get("Location"), "/login")
	is.Equal(h.decide(other.Code, "approve", ada.ID).Header().Get("Location"), "/login")
	h.user = "cus_ada"
	w := h.visit("POST", "link", url.Values{"code": {other.Code}, "decision": {"approve"}, "license": {ada.ID}}, "Sec-Fetch-Site", "cross-site")
	is.Equal(w.Code, http.StatusForbidden)
	is.Equal(h.seats(ada.ID), 1)
}

func TestLinkTakesOver(t *testing.T) {
	is := is.New(t)
	h := newLinkHost(t, licensing.Options{}, licensing.Portal{})
	own, first := h.license("cus_ada", "Workshop")
	one, two := h.start("second"), h.start("third")
	is.Equal(h.decide(one.Code, "approve", own.ID).Code, http.StatusSeeOther)
	full := h.decide(two.Code, "approve", own.ID)
	is.Equal(full.Code, http.StatusConflict)
	require.Contains(t, full.Body.String(), "All devices of this license are in use", "desk of cus_ada", "second", first.ID)
	_, status := h.poll(two)
	is.Equal(status, http.StatusAccepted) // a refusal ends nothing
	is.Equal(h.decide(two.Code, "approve", own.ID, "act_"+strings.Repeat("0", 26)).Code, http.StatusConflict)
	is.Equal(h.decide(two.Code, "approve", own.ID, first.ID).Code, http.StatusSeeOther)
	state, status := h.poll(two)
	is.Equal(status, 200)
	is.Equal(state.Verdict.Activation.Name, "third")
	is.Equal(h.seats(own.ID), 2)
	v, err := h.Handler.Service().Validate(t.Context(), api.ValidateKeyParams{Key: own.Key, Fingerprint: first.Fingerprint})
	is.NoErr(err)
	is.Equal(v.Code, api.VerdictEvicted)
	refusals, err := h.Handler.Service().Refusals(t.Context(), api.ListRefusalsParams{ID: own.ID})
	is.NoErr(err)
	is.True(slices.ContainsFunc(refusals.Data, func(r api.Refusal) bool { return r.Code == api.VerdictActivationLimit }))
}

func TestLinkWithoutALicense(t *testing.T) {
	is := is.New(t)
	h := newLinkHost(t, licensing.Options{}, licensing.Portal{Buy: func(productID string) string { return "https://shop.example/buy/" + productID }})
	l := h.start("laptop")
	page := h.page(l)
	require.Contains(t, page.Body.String(), "You have no valid license", `href="https://shop.example/buy/atlas"`)
	other, err := h.Handler.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Of Borealis", ProductID: "borealis", CustomerID: "cus_ada"})
	is.NoErr(err)
	ended, err := h.Handler.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Ended", ProductID: "atlas", CustomerID: "cus_ada", ExpiresAt: new(h.Clock.Now().Add(-time.Hour))})
	is.NoErr(err)
	require.NotContains(t, h.page(l).Body.String(), "Of Borealis", "Ended")
	for _, id := range []string{other.ID, ended.ID, ""} {
		w := h.decide(l.Code, "approve", id)
		is.Equal(w.Code, http.StatusConflict)
		require.Contains(t, w.Body.String(), "This license cannot be used for it.")
	}
	metered, err := h.Handler.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Metered", ProductID: "atlas", CustomerID: "cus_ada",
		Terms: api.Terms{Meters: map[string]api.Meter{api.MeterActivations: {Limit: new(int64(0))}}}})
	is.NoErr(err)
	w := h.decide(l.Code, "approve", metered.ID)
	is.Equal(w.Code, http.StatusConflict)
	require.Contains(t, w.Body.String(), "no more activations")
	_, status := h.poll(l)
	is.Equal(status, http.StatusAccepted)
}

// TestLinkOnce: of concurrent approvals of one code, one activates.
func TestLinkOnce(t *testing.T) {
	is := is.New(t)
	h := newLinkHost(t, licensing.Options{}, licensing.Portal{})
	ids := []string{}
	for range 4 {
		l, _ := h.license("cus_ada", "Workshop")
		ids = append(ids, l.ID)
	}
	l := h.start("laptop")
	codes := make([]int, len(ids))
	var wg sync.WaitGroup
	for i, id := range ids {
		wg.Go(func() { codes[i] = h.decide(l.Code, "approve", id).Code })
	}
	wg.Wait()
	approved, seats := 0, 0
	for i, id := range ids {
		if codes[i] == http.StatusSeeOther {
			approved++
		}
		seats += h.seats(id) - 1
	}
	is.Equal(approved, 1)
	is.Equal(seats, 1)
}

func TestLinkIsLimited(t *testing.T) {
	is := is.New(t)
	h := newLinkHost(t, licensing.Options{Limits: licensing.LimitOptions{KeyRate: 1}}, licensing.Portal{})
	for _, code := range []string{"BCDF-GHJK", "wrong"} {
		is.Equal(h.visit("GET", "link?code="+code, nil).Code, http.StatusNotFound)
	}
	is.Equal(h.visit("GET", "link?code=BCDF-GHJK", nil).Code, http.StatusTooManyRequests)
	is.Equal(h.decide("BCDF-GHJK", "decline", "").Code, http.StatusTooManyRequests)

	h = newLinkHost(t, licensing.Options{Limits: licensing.LimitOptions{AddressRate: 1}}, licensing.Portal{})
	own, _ := h.license("cus_ada", "Workshop")
	l := h.start("laptop")
	status := 0
	for range 3 { // from 192.0.2.1
		status, _ = h.call("/license/link", api.StartLinkParams{ProductID: "atlas", Fingerprint: "fp"}, &api.Link{})
	}
	is.Equal(status, http.StatusTooManyRequests)
	is.Equal(h.visit("GET", "link?code=BCDF-GHJK", nil).Code, http.StatusTooManyRequests)
	for _, decision := range []string{"approve", "decline"} { // also with the right code
		is.Equal(h.decide(l.Code, decision, own.ID).Code, http.StatusTooManyRequests)
	}
	is.Equal(h.seats(own.ID), 1)
	h.Clock.Advance(time.Minute)
	is.Equal(h.decide(l.Code, "approve", own.ID).Code, http.StatusSeeOther)
	is.Equal(h.seats(own.ID), 2)
}

func TestLinkNotConfigured(t *testing.T) {
	is := is.New(t)
	h := linkHost{newPortalHost(t, licensing.Options{}, licensing.Portal{})}
	status, code := h.call("/license/link", api.StartLinkParams{ProductID: "atlas", Fingerprint: "fp"}, nil)
	is.Equal(status, http.StatusNotFound)
	is.Equal(code, api.CodeNotConfigured)
	err := licensing.Options{PortalURL: "/account/licenses"}.Validate()
	is.True(err != nil)
	require.Contains(t, err.Error(), "Options.PortalURL")
}

// TestLinkKeepsNoSecret: of the secret and the code, digests are stored.
func TestLinkKeepsNoSecret(t *testing.T) {
	is := is.New(t)
	h := newLinkHost(t, licensing.Options{}, licensing.Portal{})
	l := h.start("laptop")
	entries, err := h.Store.Entries(t.Context(), store.EntryQuery{})
	is.NoErr(err)
	found := 0
	for _, e := range entries {
		if strings.HasPrefix(e.Kind, "link") {
			found++
		}
		require.NotContains(t, e.Key+string(e.Data), l.Secret, l.Code, strings.ReplaceAll(l.Code, "-", ""))
	}
	is.Equal(found, 2)
}

// TestLinkOfABundle: the page offers the licenses of the product of a program, and those of its
// bundle that have it.
func TestLinkOfABundle(t *testing.T) {
	is := is.New(t)
	host := newLinkHost(t, licensing.Options{}, licensing.Portal{})
	create := func(name, product string, granted map[string]any) api.License {
		l, err := host.Handler.Service().Create(t.Context(), api.CreateLicenseParams{Name: name, ProductID: product, CustomerID: "cus_ada", Terms: api.Terms{Entitlements: granted}})
		is.NoErr(err)
		return l
	}
	create("Own license", "atlas", nil)
	suite := create("Suite with Atlas", "suite", map[string]any{"atlas": true})
	create("Suite without it", "suite", map[string]any{"beacon": true})
	create("Another product", "other", map[string]any{"atlas": true})
	var l api.Link
	status, _ := host.call("/license/link", map[string]any{"product_id": "atlas", "fingerprint": "fp-1", "also_product_id": "suite", "also_fingerprint": "fp-2"}, &l)
	is.Equal(status, http.StatusCreated)
	page := host.visit("GET", "link?code="+l.Code, nil).Body.String()
	require.Contains(t, page, "Own license", "Suite with Atlas")
	require.NotContains(t, page, "Suite without it", "Another product")
	w := host.visit("POST", "link", url.Values{"code": {l.Code}, "license": {suite.ID}, "decision": {"approve"}})
	is.Equal(w.Code, http.StatusSeeOther)
	seats, err := host.Handler.Service().ListActivations(t.Context(), api.ListActivationsParams{LicenseID: suite.ID})
	is.NoErr(err)
	is.Equal(seats.Data[0].Fingerprint, "fp-2")
}

// TestLinkChoosesAFreeSeat: of several licenses, one with a free seat is chosen, and a full one
// says how many of its seats are in use.
func TestLinkChoosesAFreeSeat(t *testing.T) {
	is := is.New(t)
	host := newLinkHost(t, licensing.Options{}, licensing.Portal{})
	page := func() string {
		var l api.Link
		status, _ := host.call("/license/link", map[string]any{"product_id": "atlas", "fingerprint": "fp-new"}, &l)
		is.Equal(status, http.StatusCreated)
		return host.visit("GET", "link?code="+l.Code, nil).Body.String()
	}
	option := func(l api.License, checked, state string) string {
		return `value="` + l.ID + `" required` + checked + `> <span dir="auto">` + l.Name + `</span> <span class="note">` + state + `</span>`
	}
	create := func(name string) api.License {
		l, err := host.Handler.Service().Create(t.Context(), api.CreateLicenseParams{Name: name, ProductID: "atlas", CustomerID: "cus_ada", Terms: api.Terms{MaxActivations: new(int64(2))}})
		is.NoErr(err)
		return l
	}
	activate := func(l api.License, fingerprint string) {
		_, err := host.Handler.Service().Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: fingerprint})
		is.NoErr(err)
	}
	two := []api.License{create("One"), create("Two")}
	for i, l := range two { // each in turn is the full one
		other := two[1-i]
		activate(l, "a")
		activate(l, "b")
		if i == 0 {
			require.Contains(t, page(), option(other, " checked", "Active"), option(l, "", "2 of 2 in use"))
			continue
		}
		a := page()
		require.Contains(t, a, "2 of 2 in use</span></label>")
		is.Equal(strings.Count(a, "2 of 2 in use"), 2)
		is.Equal(strings.Count(a, " checked>"), 1)
	}
	free := create("Three")
	require.Contains(t, page(), option(free, " checked", "Active"))
}
