package servicetest

import (
	"bytes"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/seed-d8a106b4/licensekit/licensing/selling"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
	"github.com/seed-d8a106b4/licensekit/licensing/licensingtest"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A portalHost is a host application with the customers' pages.
type portalHost struct {
	*licensingtest.Kit
	t     *testing.T
	mount http.Handler
	user  string // who is signed in
}

// mailbox stands for Portal.Mailbox of a host whose visitors sign in by mail: user is an address.
func mailbox(http.ResponseWriter, *http.Request) (string, bool) { return "", false }

func newPortalHost(t *testing.T, opts licensing.Options, p licensing.Portal) *portalHost {
	host := &portalHost{Kit: licensingtest.New(t, opts), t: t, user: "cus_ada"}
	ask := func(w http.ResponseWriter, r *http.Request) (string, bool) {
		if host.user == "signed out" {
			http.Redirect(w, r, "/login", http.StatusSeeOther)
			return "", false
		}
		return host.user, true
	}
	if p.Mailbox == nil {
		p.Customer = ask
	} else {
		p.Mailbox = ask
	}
	mux := http.NewServeMux()
	mux.Handle("/account/licenses/", http.StripPrefix("/account/licenses", host.Handler.Portal(p)))
	host.mount = mux
	return host
}

// visit requests a page, or sends a form to it.
func (host *portalHost) visit(method, path string, form url.Values, header ...string) *httptest.ResponseRecorder {
	host.t.Helper()
	r := httptest.NewRequestWithContext(host.t.Context(), method, "/account/licenses/"+path, strings.NewReader(form.Encode()))
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	host.mount.ServeHTTP(w, r)
	if w.Code != http.StatusMethodNotAllowed && w.Header().Get("Location") != "/login" && !strings.HasPrefix(path, "static/") {
		if got := w.Header().Get("Cache-Control"); got != "no-store" {
			host.t.Errorf("%s %s: Cache-Control is %q", method, path, got)
		}
	}
	return w
}

// license adds a license with one activation.
func (host *portalHost) license(customer, name string) (api.License, api.Activation) {
	host.t.Helper()
	l, err := host.Handler.Service().Create(host.t.Context(), api.CreateLicenseParams{Name: name, ProductID: "atlas", CustomerID: customer, Terms: api.Terms{MaxActivations: new(int64(2))}})
	if err != nil {
		host.t.Fatal(err)
	}
	v, err := host.Handler.Service().Activate(host.t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "fp-" + customer, Name: "desk of " + customer})
	if err != nil {
		host.t.Fatal(err)
	}
	return l, *v.Activation
}

func TestPortalShowsNothingOfAnotherCustomer(t *testing.T) {
	host := newPortalHost(t, licensing.Options{}, licensing.Portal{})
	own, seat := host.license("cus_ada", "Workshop")
	other, otherSeat := host.license("cus_bo", "Bo's license")
	gone, goneSeat := host.license("cus_ada", "deleted")
	if err := host.Handler.Service().Delete(t.Context(), api.DeleteLicenseParams{ID: gone.ID}); err != nil {
		t.Fatal(err)
	}
	request, err := licensefile.NewRequest("", "fp-new").Text()
	if err != nil {
		t.Fatal(err)
	}
	missing := ""
	check := func(name, method, path string, form url.Values, want int) {
		t.Helper()
		w := host.visit(method, path, form)
		if w.Code != want {
			t.Errorf("%s: %s %s answers %d, want %d", name, method, path, w.Code, want)
		}
		for _, secret := range []string{other.ID, other.Name, other.Key, otherSeat.ID, "cus_bo"} {
			if strings.Contains(w.Body.String(), secret) {
				t.Errorf("%s: %s %s shows %q", name, method, path, secret)
			}
		}
		if w.Code == http.StatusNotFound {
			body := strings.ReplaceAll(w.Body.String(), "../", "")
			if missing == "" {
				missing = body
			}
			if body != missing {
				t.Errorf("%s: %s %s answers another page:\n%s", name, method, path, body)
			}
		}
	}
	for name, row := range map[string]struct{ id, seat string }{
		"another's":                        {other.ID, otherSeat.ID},
		"another's with own activation":    {other.ID, seat.ID},
		"deleted":                          {gone.ID, goneSeat.ID},
		"malformed":                        {"x", "y"},
		"unknown":                          {"lic_01234567890123456789012345", seat.ID},
		"own license, another's seat":      {own.ID, otherSeat.ID},
		"own license, malformed seat":      {own.ID, "y"},
		"own license, another's name":      {own.ID, other.ID},
		"another's with another's license": {otherSeat.ID, other.ID},
	} {
		device := url.Values{"device": {row.seat}}
		check(name, "POST", row.id+"/release", device, http.StatusNotFound)
		check(name, "POST", row.id+"/file", device, http.StatusNotFound)
		if row.id != own.ID {
			check(name, "GET", row.id, nil, http.StatusNotFound)
			check(name, "POST", row.id+"/request", url.Values{"request": {request}}, http.StatusNotFound)
			check(name, "POST", row.id+"/request", url.Values{"request": {""}}, http.StatusNotFound)
			check(name, "POST", row.id+"/request", url.Values{"request": {strings.Repeat("x", 100_000)}}, http.StatusNotFound)
		}
	}
	check("list", "GET", "", nil, http.StatusOK)
	check("an unknown cursor", "GET", "?cursor=x", nil, http.StatusNotFound)
	check("own", "GET", own.ID, nil, http.StatusOK)
	check("own", "GET", own.ID+"?devices=x", nil, http.StatusNotFound)
	check("no page", "GET", "a/b/c", nil, http.StatusNotFound)

	if page := host.visit("GET", "", nil).Body.String(); !strings.Contains(page, own.Name) {
		t.Errorf("the list misses %q:\n%s", own.Name, page)
	}
}

func TestPortalShowsThatThePeriodHasNotBegun(t *testing.T) {
	is := is.New(t)
	host := newPortalHost(t, licensing.Options{}, licensing.Portal{})
	_, err := host.Handler.Selling().PutPlan(t.Context(), api.PutPlanParams{ID: "boxed", ProductID: "atlas", Duration: api.Duration{Days: 10}, Starts: api.StartsActivation})
	is.NoErr(err)
	l, err := host.Handler.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Ada", CustomerID: "cus_ada", PlanID: "boxed"})
	is.NoErr(err)
	require.Contains(t, host.visit("GET", l.ID, nil).Body.String(), "The period begins with the first activation")
	_, err = host.Handler.Service().Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: "pc"})
	is.NoErr(err)
	require.NotContains(t, host.visit("GET", l.ID, nil).Body.String(), "The period begins with the first activation")
}

// TestPortalShowsNoEndThatIsNever: the last instant of the year 9999 is never.
func TestPortalShowsNoEndThatIsNever(t *testing.T) {
	is := is.New(t)
	host := newPortalHost(t, licensing.Options{}, licensing.Portal{})
	last := time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)
	l, err := host.Handler.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Ada", ProductID: "atlas", CustomerID: "cus_ada", ExpiresAt: &last, UpdatesUntil: &last})
	is.NoErr(err)
	page := host.visit("GET", l.ID, nil).Body.String()
	require.Contains(t, page, "No end date")
	require.NotContains(t, page, "9999")
}

func TestPortalReleasesAndIssuesFiles(t *testing.T) {
	is := is.New(t)
	host := newPortalHost(t, licensing.Options{}, licensing.Portal{})
	l, seat := host.license("cus_ada", "Workshop")
	page := host.visit("GET", l.ID, nil).Body.String()
	for _, text := range []string{l.Key, "desk of cus_ada", "1 of 2 in use", "Active", "No end date"} {
		require.Contains(t, page, text)
	}
	require.NotContains(t, page, `<option value="">`) // a file needs a device
	device := url.Values{"device": {seat.ID}}
	w := host.visit("POST", l.ID+"/release", device)
	is.Equal(w.Code, http.StatusSeeOther)
	is.Equal(w.Header().Get("Location"), "./../"+l.ID+"?released")
	require.Contains(t, host.visit("GET", l.ID+"?released", nil).Body.String(), "The device was removed")

	// The upload of a request takes the seat again, and its file holds it.
	text, err := licensefile.NewRequest(l.Key, "fp-air").Text()
	is.NoErr(err)
	answer := func(pasted, uploaded string) *httptest.ResponseRecorder {
		var body bytes.Buffer
		form := multipart.NewWriter(&body)
		is.NoErr(form.WriteField("request", pasted))
		part, err := form.CreateFormFile("file", "request.txt")
		is.NoErr(err)
		_, _ = io.WriteString(part, uploaded)
		is.NoErr(form.Close())
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/account/licenses/"+l.ID+"/request", &body)
		r.Header.Set("Content-Type", form.FormDataContentType())
		w := httptest.NewRecorder()
		host.mount.ServeHTTP(w, r)
		is.Equal(w.Code, http.StatusOK)
		return w
	}
	answer(text, "the text of an earlier request") // what is pasted counts
	w = answer("", text+"\n")
	is.Equal(w.Header().Get("Content-Disposition"), `attachment; filename="atlas-fp-air-`+host.Clock.Now().AddDate(0, 0, 14).Format(time.DateOnly)+`.license"`)
	keys, err := host.Handler.Files().KeySet(t.Context())
	is.NoErr(err)
	claims, err := keys.Verify(w.Body.String())
	is.NoErr(err)
	is.Equal(claims.LicenseID, l.ID)

	for path, form := range map[string]url.Values{"/file": {"device": {""}}, "/request": {"request": {"half of a text"}}} {
		w := host.visit("POST", l.ID+path, form)
		is.Equal(w.Code, http.StatusConflict)
		require.Contains(t, w.Body.String(), `role="alert"`)
		require.Contains(t, w.Body.String(), `action="./../`+l.ID+`/request"`, ">\n"+form.Get("request")+"</textarea>") // the text stays
	}
	_, err = host.Handler.Service().Suspend(t.Context(), api.ChangeStateParams{ID: l.ID, Reason: "The invoice is open"})
	is.NoErr(err)
	page = host.visit("GET", l.ID, nil).Body.String()
	require.Contains(t, page, "The invoice is open")
	require.Contains(t, page, "Contact us to have it switched on again.")
	require.NotContains(t, page, "Download license file")
	is.Equal(host.visit("POST", l.ID+"/file", device).Code, http.StatusConflict)
}

// TestPortalAsksBeforeItRemoves: the button of a device opens a question, which says
// until when its license file still runs.
func TestPortalAsksBeforeItRemoves(t *testing.T) {
	is := is.New(t)
	host := newPortalHost(t, licensing.Options{}, licensing.Portal{})
	l, seat := host.license("cus_ada", "Workshop")
	page := host.visit("GET", l.ID, nil).Body.String()
	require.Contains(t, page, `<summary aria-label="Remove desk of cus_ada">Remove</summary>`, "the program on it stops at its next check", "<button>Remove <bdi>desk of cus_ada</bdi></button>")
	file := host.visit("POST", l.ID+"/file", url.Values{"device": {seat.ID}})
	is.Equal(file.Header().Get("Content-Disposition"), `attachment; filename="atlas-desk-of-cus-ada-`+host.Clock.Now().AddDate(0, 0, 14).Format(time.DateOnly)+`.license"`)
	a, err := host.Handler.Service().ListActivations(t.Context(), api.ListActivationsParams{LicenseID: l.ID})
	is.NoErr(err)
	until := "can still run with its license file until " + a.Data[0].HeldUntil.Format("2 January 2006")
	require.Contains(t, host.visit("GET", l.ID, nil).Body.String(), until)
	host.Clock.Advance(30 * 24 * time.Hour) // the file has ended
	page = host.visit("GET", l.ID, nil).Body.String()
	require.NotContains(t, page, "still run", "Works offline until")
}

func TestPortalSaysWhenAHeldSeatIsFree(t *testing.T) {
	is := is.New(t)
	host := newPortalHost(t, licensing.Options{HoldOffline: true}, licensing.Portal{})
	l, seat := host.license("cus_ada", "Workshop")
	device := url.Values{"device": {seat.ID}}
	is.Equal(host.visit("POST", l.ID+"/file", device).Code, http.StatusOK)
	w := host.visit("POST", l.ID+"/release", device)
	is.Equal(w.Code, http.StatusConflict)
	a, err := host.Handler.Service().ListActivations(t.Context(), api.ListActivationsParams{LicenseID: l.ID})
	is.NoErr(err)
	until := a.Data[0].HeldUntil.Format("2 January 2006")
	require.Contains(t, w.Body.String(), "works offline until "+until+" and can be removed then")
}

func TestPortalBelongsToTheSignedInCustomer(t *testing.T) {
	is := is.New(t)
	var log bytes.Buffer
	host := newPortalHost(t, licensing.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, licensing.Portal{})
	l, seat := host.license("cus_ada", "Workshop")
	device := url.Values{"device": {seat.ID}}

	w := host.visit("POST", l.ID+"/release", device, "Sec-Fetch-Site", "cross-site")
	is.Equal(w.Code, http.StatusForbidden)
	host.user = "signed out"
	is.Equal(host.visit("GET", "", nil).Header().Get("Location"), "/login")
	is.Equal(host.visit("POST", l.ID+"/release", device).Header().Get("Location"), "/login")
	require.NotContains(t, log.String(), "Portal.Customer")
	for id, reason := range map[string]string{
		"": "customer_id is empty", "lic_ada": "customer_id must not begin with", "ada ": "customer_id must not",
		strings.Repeat("a", 256): "customer_id must be at most 255 characters",
	} {
		for _, path := range []string{"", l.ID} {
			log.Reset()
			host.user = id
			is.Equal(host.visit("GET", path, nil).Code, http.StatusForbidden)
			require.Contains(t, log.String(), "an ID that no customer can have", reason)
		}
	}
	host.user = "cus_ada"
	require.Contains(t, host.visit("GET", l.ID, nil).Body.String(), "1 of 2 in use") // nothing was released

	page := host.visit("GET", "", nil)
	require.Contains(t, page.Header().Get("Content-Security-Policy"), "default-src 'none'")
	for _, ref := range strings.Split(page.Body.String(), `href="./static/`)[1:] {
		name, _, _ := strings.Cut(ref, `"`)
		is.Equal(host.visit("GET", "static/"+name, nil).Code, http.StatusOK)
	}
	is.Equal(host.visit("GET", "static/other.css", nil).Code, http.StatusNotFound)
}

// TestPortalOrigins: behind a proxy that rewrites the Host header, browsers send forms from the
// origins that are listed, also on plain HTTP, where they send no Sec-Fetch-Site.
func TestPortalOrigins(t *testing.T) {
	is := is.New(t)
	host := newPortalHost(t, licensing.Options{}, licensing.Portal{Origins: []string{"http://shop.example"}})
	l, seat := host.license("cus_ada", "Workshop")
	device := url.Values{"device": {seat.ID}}
	for _, origin := range []string{"http://evil.example", "https://shop.example", "http://shop.example:8080", "null"} {
		is.Equal(host.visit("POST", l.ID+"/file", device, "Origin", origin).Code, http.StatusForbidden)
	}
	is.Equal(host.visit("POST", l.ID+"/file", device, "Origin", "http://shop.example").Code, http.StatusOK)

	defer func() { require.Contains(t, fmt.Sprint(recover()), "licensing: Portal.Origins", "shop.example/") }()
	host.Handler.Portal(licensing.Portal{Customer: mailbox, Origins: []string{"http://shop.example/"}})
}

func TestPortalInTheLayoutAndLanguageOfTheHost(t *testing.T) {
	is := is.New(t)
	host := newPortalHost(t, licensing.Options{}, licensing.Portal{
		Page: func(w http.ResponseWriter, r *http.Request, title string, body template.HTML) {
			w.Header().Set("Content-Security-Policy", "default-src 'self'")
			_, _ = io.WriteString(w, "<title>"+title+"</title><nav>Shop</nav>"+string(body))
		},
		Texts: licensing.PortalTexts{Title: "Ihre Lizenzen", Active: "Gültig", NotFound: "Nicht gefunden"},
	})
	l, _ := host.license("cus_ada", "Workshop")
	host.license("cus_ada", "Office")
	page := host.visit("GET", "", nil)
	is.Equal(page.Code, http.StatusOK)
	is.Equal(page.Header().Get("Content-Security-Policy"), "default-src 'self'")
	is.Equal(page.Header().Get("Referrer-Policy"), "") // the host sets the headers
	for _, text := range []string{"<title>Ihre Lizenzen</title><nav>Shop</nav>", "Gültig", l.Name} {
		require.Contains(t, page.Body.String(), text)
	}
	require.NotContains(t, page.Body.String(), "<html")
	page = host.visit("GET", "nothing", nil)
	is.Equal(page.Code, http.StatusNotFound)
	require.Contains(t, page.Body.String(), "Nicht gefunden")
	require.Contains(t, page.Body.String(), "<nav>Shop</nav>")
}

func TestPortalSaysWhenALicenseBeginsAndEnds(t *testing.T) {
	is := is.New(t)
	host := newPortalHost(t, licensing.Options{}, licensing.Portal{})
	now := host.Clock.Now()
	start, end := now.AddDate(0, 1, 0), now.AddDate(1, 0, 0)
	ended := now.AddDate(0, 0, -1)
	for want, p := range map[string]api.CreateLicenseParams{
		"Starts on " + start.Format("2 January 2006"):                            {StartsAt: &start, ExpiresAt: &end},
		"Ended; works until " + ended.AddDate(0, 0, 10).Format("2 January 2006"): {ExpiresAt: &ended, Terms: api.Terms{GraceSeconds: 10 * 86400}},
	} {
		p.Name, p.ProductID, p.CustomerID = "Workshop", "atlas", "cus_ada"
		l, err := host.Handler.Service().Create(t.Context(), p)
		is.NoErr(err)
		require.Contains(t, host.visit("GET", l.ID, nil).Body.String(), want)
	}
}

func TestPortalListsManyDevices(t *testing.T) {
	is := is.New(t)
	host := newPortalHost(t, licensing.Options{}, licensing.Portal{})
	rules := host.Handler.Service()
	l, err := rules.Create(t.Context(), api.CreateLicenseParams{Name: "Workshop", ProductID: `At"las / Pro`, CustomerID: "cus_ada"})
	is.NoErr(err)
	file := host.visit("POST", l.ID+"/file", url.Values{"device": {""}}) // for any device: there is no limit
	is.Equal(file.Header().Get("Content-Disposition"), `attachment; filename="At-las-Pro-`+host.Clock.Now().AddDate(0, 0, 14).Format(time.DateOnly)+`.license"`)
	_, err = rules.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, MaxActivations: api.To(int64(60))})
	is.NoErr(err)
	for i := range 55 {
		_, err := rules.Activate(t.Context(), api.ActivateKeyParams{Key: l.Key, Fingerprint: fmt.Sprint("fp-", i)})
		is.NoErr(err)
	}
	first := host.visit("GET", l.ID, nil).Body.String()
	_, next, _ := strings.Cut(first, "?devices=")
	next, _, ok := strings.Cut(next, `"`)
	is.True(ok)
	second := host.visit("GET", l.ID+"?devices="+next, nil).Body.String()
	is.Equal(strings.Count(second, `/release"`), 5)
	require.NotContains(t, first+second, "in use") // neither page has all of them
}

// TestPortalShowsNamesOfDevices: anybody can start an activation with any name, and the name
// neither reorders the page nor the words beside it.
func TestPortalShowsNamesOfDevices(t *testing.T) {
	is := is.New(t)
	titles := ""
	host := newLinkHost(t, licensing.Options{}, licensing.Portal{Page: func(w http.ResponseWriter, _ *http.Request, title string, body template.HTML) {
		titles += title
		_, _ = io.WriteString(w, string(body))
	}})
	const name, shown = "desk\u2066 \u202efdp.\u200f<", "desk\ufffd \ufffdfdp.&lt;"
	l, err := host.Handler.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Atlas \u202e", ProductID: "atlas", CustomerID: "cus_ada", Terms: api.Terms{MaxActivations: new(int64(2))}})
	is.NoErr(err)
	link := host.start(name)
	asks := host.page(link).Body.String()
	require.Contains(t, asks, `<dd dir="auto">`+shown+"</dd>")
	is.Equal(host.decide(link.Code, "approve", l.ID).Code, http.StatusSeeOther)
	page := host.visit("GET", l.ID, nil).Body.String()
	require.Contains(t, page, `<h3 dir="auto">`+shown+"</h3>", "<button>Remove <bdi>"+shown+"</bdi></button>", "<bdi>"+shown+"</bdi> added", `aria-label="Remove `+shown+`"`)
	for _, text := range []string{asks, page, titles} {
		is.Equal(strings.IndexFunc(text, func(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }), -1)
	}
	require.Contains(t, titles, "Atlas \ufffd")
}

// TestPortalReadsFormsOfABoundedSize: no customer makes the process read a large form.
func TestPortalReadsFormsOfABoundedSize(t *testing.T) {
	host := newPortalHost(t, licensing.Options{}, licensing.Portal{})
	l, _ := host.license("cus_ada", "Workshop")
	body := strings.NewReader("request=" + strings.Repeat("x", 1<<20))
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/account/licenses/"+l.ID+"/request", io.NopCloser(body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	host.mount.ServeHTTP(w, r)
	is.New(t).Equal(w.Code, http.StatusConflict)
	require.AtLeast(t, body.Len(), 1<<19) // not read
}

// TestPortalOfAHostThatDoesNotAnswer: a visitor without a page of the login gets an
// error, not an empty page.
func TestPortalOfAHostThatDoesNotAnswer(t *testing.T) {
	is := is.New(t)
	var log bytes.Buffer
	h := licensing.NewHandler(memory.New(), licensing.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	pages := h.Portal(licensing.Portal{Customer: func(http.ResponseWriter, *http.Request) (string, bool) { return "", false }})
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
	is.Equal(w.Code, http.StatusInternalServerError)
	require.Contains(t, log.String(), "without writing a response")
}

// The customer reads the name of the plan, or its ID after it was deleted, and until
// when the license includes updates.
func TestPortalShowsThePlan(t *testing.T) {
	is := is.New(t)
	host := newPortalHost(t, licensing.Options{}, licensing.Portal{})
	rules := host.Handler.Service()
	_, err := selling.New(rules).PutPlan(t.Context(), api.PutPlanParams{ID: "price_1", Name: "Atlas yearly", ProductID: "atlas"})
	is.NoErr(err)
	l, err := rules.Create(t.Context(), api.CreateLicenseParams{Name: "Workshop", CustomerID: "cus_ada", PlanID: "price_1"})
	is.NoErr(err)
	require.Contains(t, host.visit("GET", l.ID, nil).Body.String(), "<dt>Plan</dt><dd dir=\"auto\">Atlas yearly</dd>")
	is.NoErr(selling.New(rules).DeletePlan(t.Context(), api.DeletePlanParams{ID: "price_1"}))
	require.Contains(t, host.visit("GET", l.ID, nil).Body.String(), "price_1")
	require.NotContains(t, host.visit("GET", l.ID, nil).Body.String(), "updates until")
	_, err = rules.Update(t.Context(), api.UpdateLicenseParams{ID: l.ID, UpdatesUntil: api.To(time.Date(2027, 1, 31, 0, 0, 0, 0, time.UTC))})
	is.NoErr(err)
	require.Contains(t, host.visit("GET", l.ID, nil).Body.String(), `<dt>Includes updates until</dt><dd><time datetime="2027-01-31T00:00:00Z">30 January 2027</time>`)
}

// A page with five licenses of a plan makes one store call more than the same list over the
// API, for the name of the plan, also if licenses have ended or are in their grace period.
// TestPortalTrial: a list tells licenses of the same name apart by their plans, and a trial
// has nothing to renew: its customer is led to the shop.
func TestPortalTrial(t *testing.T) {
	is := is.New(t)
	host := newPortalHost(t, licensing.Options{}, licensing.Portal{
		Buy:   func(productID string) string { return "https://shop.example/buy/" + productID },
		Renew: func(api.License) string { return "https://shop.example/renew" },
	})
	ctx, sell := t.Context(), host.Handler.Selling()
	for id, name := range map[string]string{"try": "Atlas trial", "year": "Atlas yearly"} {
		_, err := sell.PutPlan(ctx, api.PutPlanParams{ID: id, Name: name, ProductID: "atlas", Duration: api.Duration{Days: 14}, Terms: api.Terms{MaxActivations: new(int64(0))}})
		is.NoErr(err)
	}
	trial, err := sell.StartTrial(ctx, api.StartTrialParams{PlanID: "try", CustomerID: "cus_ada", Name: "Workshop"})
	is.NoErr(err)
	bought, err := sell.RecordPurchase(ctx, api.RecordPurchaseParams{Reference: "shop:1", At: host.Clock.Now(), CustomerID: "cus_ada", Name: "Workshop", PlanID: "year", State: api.PurchaseActive})
	is.NoErr(err)
	host.Clock.Advance(15 * 24 * time.Hour)

	require.Contains(t, host.visit("GET", "", nil).Body.String(), `atlas</span> · <span dir="auto">Atlas trial<`, `atlas</span> · <span dir="auto">Atlas yearly<`)
	page := host.visit("GET", trial.License.ID, nil).Body.String()
	require.Contains(t, page, "This was a trial.", `href="https://shop.example/buy/atlas">Buy a license</a>`)
	require.NotContains(t, page, "Renew", "More devices")
	page = host.visit("GET", bought.License.ID, nil).Body.String()
	require.Contains(t, page, "Renew it where you bought it.", `href="https://shop.example/renew">Renew</a>`, "More devices")
	require.NotContains(t, page, "Buy a license", "trial")
}

func TestPortalListIsCheap(t *testing.T) {
	is := is.New(t)
	st := &countingStore{Store: memory.New()}
	h := licensing.NewHandler(st, licensing.Options{Logger: discard})
	client, secret, err := h.Auth().CreateClient(t.Context(), auth.CreateClientParams{Name: "shop"})
	is.NoErr(err)
	token := strings.Split(ask(t, h, "GET", "/oauth/token?client_id="+client.ID+"&client_secret="+secret, "", "").Body.String(), `"`)[3]
	_, err = h.Selling().PutPlan(t.Context(), api.PutPlanParams{ID: "price_1", ProductID: "atlas"})
	is.NoErr(err)
	past := time.Now().Add(-time.Hour)
	for i := range 5 {
		p := api.CreateLicenseParams{Name: "Workshop", PlanID: "price_1", CustomerID: "cus_ada", ExpiresAt: &past}
		if i < 2 {
			p.GraceSeconds = 2 * 86400
		}
		_, err := h.Service().Create(t.Context(), p)
		is.NoErr(err)
	}
	pages := h.Portal(licensing.Portal{Customer: func(http.ResponseWriter, *http.Request) (string, bool) { return "cus_ada", true }})
	sum := func(calls [4]int64) int64 { return calls[0] + calls[1] + calls[2] + calls[3] }
	st.calls()
	is.Equal(strings.Count(ask(t, h, "GET", "/license?customer_id=cus_ada", token, "").Body.String(), `"Workshop"`), 5)
	api := sum(st.calls())
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
	is.Equal(strings.Count(w.Body.String(), "Ended; works until "), 2)
	is.Equal(strings.Count(w.Body.String(), "Ended on "), 3)
	require.AtMost(t, sum(st.calls()), api+1)
}

// TestPortalWaitingPurchase: a customer who has paid and has no license yet reads that
// the purchase has arrived.
func TestPortalWaitingPurchase(t *testing.T) {
	is := is.New(t)
	host := newPortalHost(t, licensing.Options{}, licensing.Portal{})
	tell := func(p api.RecordPurchaseParams) {
		t.Helper()
		p.At = host.Clock.Now()
		_, err := host.Handler.Selling().RecordPurchase(t.Context(), p)
		is.NoErr(err)
	}
	tell(api.RecordPurchaseParams{Reference: "shop:1", CustomerID: "cus_ada", PlanID: "price_1"})
	require.Contains(t, host.visit("GET", "", nil).Body.String(), "You have no licenses yet.") // it is not paid
	tell(api.RecordPurchaseParams{Reference: "shop:1", State: api.PurchaseActive})
	page := host.visit("GET", "", nil).Body.String()
	require.Contains(t, page, "We have your purchase of "+host.Clock.Now().Format("2 January 2006"))
	require.NotContains(t, page, "You have no licenses yet.")
	host.user = "cus_bob"
	require.NotContains(t, host.visit("GET", "", nil).Body.String(), "We have your purchase")
	host.user = "cus_ada"
	_, err := host.Handler.Selling().PutPlan(t.Context(), api.PutPlanParams{ID: "price_1", ProductID: "atlas"})
	is.NoErr(err)
	tell(api.RecordPurchaseParams{Reference: "shop:1"})
	require.NotContains(t, host.visit("GET", "", nil).Body.String(), "We have your purchase")
}

// TestPortalLimitsForms by customer, and no pages.
func TestPortalLimitsForms(t *testing.T) {
	is := is.New(t)
	host := newPortalHost(t, licensing.Options{Limits: licensing.LimitOptions{KeyRate: 5}}, licensing.Portal{})
	l, err := host.Handler.Service().Create(t.Context(), api.CreateLicenseParams{Name: "n", ProductID: "atlas", CustomerID: "cus_ada"})
	is.NoErr(err)
	other, seat := host.license("cus_bo", "Bo's license")
	files := 0
	send := func() *httptest.ResponseRecorder {
		t.Helper()
		files++
		text, err := licensefile.NewRequest(l.Key, fmt.Sprint("machine-", files)).Text()
		is.NoErr(err)
		return host.visit("POST", l.ID+"/request", url.Values{"request": {text}})
	}
	for range 10 { // the burst
		is.Equal(send().Code, http.StatusOK)
	}
	w := send()
	is.Equal(w.Code, http.StatusTooManyRequests)
	is.True(w.Header().Get("Retry-After") != "")
	require.Contains(t, w.Body.String(), "Try again in a minute")
	seats, err := host.Handler.Service().ListActivations(t.Context(), api.ListActivationsParams{LicenseID: l.ID})
	is.NoErr(err)
	is.Equal(len(seats.Data), 10)

	is.Equal(host.visit("GET", l.ID, nil).Code, http.StatusOK)
	host.user = "cus_bo"
	is.Equal(host.visit("POST", other.ID+"/release", url.Values{"device": {seat.ID}}).Code, http.StatusSeeOther)
	host.user = "cus_ada"
	host.Clock.Advance(time.Second)
	is.Equal(send().Code, http.StatusOK)
}
