package dashboard_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/auth/operator"
	"github.com/seed-d8a106b4/licensekit/internal/hashcost"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// mount is the path of the service in the tests. It has three segments.
const mount = "/tenants/acme/licensing"

const password = "the ferry leaves before breakfast"

func init() { hashcost.ForTests() }

// site is a host application with the service and a clock that tests control.
type site struct {
	*licensing.Handler
	t    *testing.T
	st   store.Store
	base string // URL of the mount
	log  *logBuffer

	mu  sync.Mutex
	now time.Time
}

// logBuffer is a log that tests can read.
type logBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func newSite(t *testing.T) *site { return newSiteOn(t, memory.New(), licensing.Options{}) }

func newSiteOn(t *testing.T, st store.Store, opts licensing.Options) *site {
	t.Helper()
	s := &site{t: t, st: st, log: &logBuffer{}, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	opts.Now = s.clock
	opts.Logger = slog.New(slog.NewTextHandler(s.log, nil))
	s.Handler = licensing.NewHandler(st, opts)
	mux := http.NewServeMux()
	mux.Handle(mount+"/", http.StripPrefix(mount, s.Handler))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.base = server.URL + mount
	return s
}

func (s *site) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *site) advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

// operator creates an operator with the common password.
func (s *site) operator(email string, role operator.Role) operator.Operator {
	s.t.Helper()
	op, err := s.Operators().Create(s.t.Context(), operator.CreateParams{Email: email, Password: password, Role: role})
	is.New(s.t).NoErr(err)
	return op
}

func (s *site) license(p api.CreateLicenseParams) api.License {
	s.t.Helper()
	if p.ProductID == "" {
		p.ProductID = "atlas"
	}
	if p.CustomerID == "" {
		p.CustomerID = "harbour-pilots"
	}
	l, err := s.Service().Create(s.t.Context(), p)
	is.New(s.t).NoErr(err)
	return l
}

// visitor is an HTTP client with cookies. It does not follow redirects.
type visitor struct {
	s      *site
	client *http.Client
}

func (s *site) visitor() *visitor {
	jar, err := cookiejar.New(nil)
	is.New(s.t).NoErr(err)
	return &visitor{s, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// signedIn returns a visitor who is signed in.
func (s *site) signedIn(email string) *visitor {
	s.t.Helper()
	v := s.visitor()
	a := v.post("sign-in", "email", email, "password", password)
	is.New(s.t).Equal(a.StatusCode, http.StatusSeeOther)
	return v
}

// admin creates an admin and returns a visitor who is signed in as this admin.
func (s *site) admin() *visitor {
	s.t.Helper()
	s.operator("ada@example.com", operator.RoleAdmin)
	return s.signedIn("ada@example.com")
}

// reply is a response with its body.
type reply struct {
	*http.Response
	body string
}

// get requests a page below dashboard/.
func (v *visitor) get(page string) reply {
	v.s.t.Helper()
	req, err := http.NewRequestWithContext(v.s.t.Context(), http.MethodGet, v.s.base+"/dashboard/"+page, nil)
	is.New(v.s.t).NoErr(err)
	return v.do(req)
}

// post submits a form of names and values.
func (v *visitor) post(page string, form ...string) reply {
	v.s.t.Helper()
	values := url.Values{}
	for i := 0; i < len(form); i += 2 {
		values.Add(form[i], form[i+1])
	}
	req, err := http.NewRequestWithContext(v.s.t.Context(), http.MethodPost, v.s.base+"/dashboard/"+page, strings.NewReader(values.Encode()))
	is.New(v.s.t).NoErr(err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return v.do(req)
}

// change posts a form for a change of what the page shows now.
func (v *visitor) change(page string, form ...string) reply {
	v.s.t.Helper()
	return v.post(page, append(form, "version", v.get(page).hidden("version"))...)
}

func (v *visitor) do(req *http.Request) reply {
	v.s.t.Helper()
	is := is.New(v.s.t)
	resp, err := v.client.Do(req)
	is.NoErr(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	is.NoErr(err)
	return reply{resp, strings.ReplaceAll(string(body), "<wbr>", "")} // the text as it reads
}

// hidden returns the value of a hidden input of the page.
func (r reply) hidden(name string) string {
	m := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(r.body)
	if m == nil {
		return ""
	}
	return m[1]
}

// says reports whether the page contains the text.
func (r reply) says(text string) bool { return strings.Contains(r.body, text) }

// to returns the target of a redirect, without the token of its notice.
func (r reply) to() string {
	return regexp.MustCompile(`[?&]done=\w{26}$`).ReplaceAllString(r.Header.Get("Location"), "")
}

// follow opens the target of a redirect.
func (v *visitor) follow(r reply) reply {
	v.s.t.Helper()
	is := is.New(v.s.t)
	to, err := r.Location()
	is.NoErr(err)
	req, err := http.NewRequestWithContext(v.s.t.Context(), http.MethodGet, to.String(), nil)
	is.NoErr(err)
	return v.do(req)
}

// notice returns the notice of the page.
func (r reply) notice() string {
	m := regexp.MustCompile(`<p class="note good" role="status">([^<]*)</p>`).FindStringSubmatch(r.body)
	if m == nil {
		return ""
	}
	return m[1]
}
