package mail

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// A shop has customer pages with sign-in by mail.
type shop struct {
	t      *testing.T
	h      *licensing.Handler
	store  store.Store
	signIn *SignIn
	root   string // URL of the server
	url    string // of the account pages
	mails  chan Message

	mu   sync.Mutex
	from string // the address of visitors
	now  time.Time
}

func newShop(t *testing.T, claimFrom ...string) *shop {
	t.Helper()
	s := &shop{t: t, store: memory.New(), mails: make(chan Message, 99), from: "192.0.2.1", now: time.Now()}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.root, s.url = server.URL, server.URL+"/account/"
	s.h = licensing.NewHandler(s.store, licensing.Options{
		PortalURL: s.url + "licenses", ClaimFrom: claimFrom,
		ClientIP: func(*http.Request) netip.Addr {
			s.mu.Lock()
			defer s.mu.Unlock()
			return netip.MustParseAddr(s.from)
		},
		Now: func() time.Time {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.now
		},
	})
	s.signIn = &SignIn{URL: s.url, Shop: "Vendor Ltd", Send: func(_ context.Context, m Message) error {
		s.mails <- m
		return nil
	}}
	mux.Handle("/licensing/", http.StripPrefix("/licensing", s.h))
	mux.Handle("/account/", http.StripPrefix("/account", s.signIn.Handler(s.h, licensing.Portal{})))
	return s
}

func (s *shop) advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func (s *shop) visitFrom(addr string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from = addr
}

// create creates a license as a caller.
func (s *shop) create(by license.Caller, name, product, customer, email string) api.License {
	s.t.Helper()
	l, err := s.h.Service().As(by).Create(s.t.Context(), api.CreateLicenseParams{Name: name, ProductID: product, CustomerID: customer, Metadata: map[string]string{"email": email}})
	is.New(s.t).NoErr(err)
	return l
}

// link starts the link of a program.
func (s *shop) link(p api.StartLinkParams) (l api.Link) {
	s.t.Helper()
	is := is.New(s.t)
	body, err := json.Marshal(p)
	is.NoErr(err)
	resp, err := http.Post(s.root+"/licensing/license/link", "application/json", bytes.NewReader(body))
	is.NoErr(err)
	defer resp.Body.Close()
	is.NoErr(json.NewDecoder(resp.Body).Decode(&l))
	return l
}

// A browser has the cookies of a customer.
type browser struct {
	t    *testing.T
	s    *shop
	http *http.Client
}

func (s *shop) browser() *browser {
	jar, err := cookiejar.New(nil)
	is.New(s.t).NoErr(err)
	return &browser{s.t, s, &http.Client{Jar: jar}}
}

func (b *browser) do(resp *http.Response, err error) (status int, at, text string) {
	b.t.Helper()
	is := is.New(b.t)
	is.NoErr(err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	is.NoErr(err)
	return resp.StatusCode, strings.TrimPrefix(resp.Request.URL.String(), b.s.url), string(body)
}

func (b *browser) get(page string) (status int, at, text string) {
	b.t.Helper()
	return b.do(b.http.Get(b.s.url + page))
}

func (b *browser) post(page string, form url.Values) (status int, at, text string) {
	b.t.Helper()
	return b.do(b.http.PostForm(b.s.url+page, form))
}

func (b *browser) ask(address string) (status int, text string) {
	b.t.Helper()
	status, _, text = b.post("sign-in", url.Values{"email": {address}})
	return status, text
}

// link asks for a link and returns its token.
func (b *browser) link(address string) string {
	b.t.Helper()
	status, text := b.ask(address)
	is.New(b.t).Equal(status, http.StatusOK)
	require.Contains(b.t, text, "on its way to you", "15 minutes")
	return b.s.token()
}

// token returns the token of the next mail.
func (s *shop) token() string {
	s.t.Helper()
	select {
	case m := <-s.mails:
		require.Contains(s.t, m.Text, "Vendor Ltd", s.url+"link#", "15 minutes")
		_, after, _ := strings.Cut(m.Text, "#")
		return strings.Fields(after)[0]
	case <-time.After(10 * time.Second):
		s.t.Fatal("no mail")
		return ""
	}
}

func (b *browser) follow(token string) (status int, at, text string) {
	b.t.Helper()
	return b.post("link", url.Values{"token": {token}})
}

// idle waits until no request waits for a mail.
func (s *shop) idle() {
	s.t.Helper()
	for range 1000 {
		if len(s.signIn.waiting) == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.t.Fatal("requests wait for mails")
}

// TestAddress: an address opens the licenses that have it, of all customers, and no other
// license of these customers, whoever gave it to them: rule 2. A correction of it takes effect
// during the session, and so does a purchase: rule 3.
func TestAddress(t *testing.T) {
	is := is.New(t)
	s := newShop(t)
	limited := license.Caller{Products: []string{"beacon"}}
	victim := s.create(license.Caller{}, "License of the victim", "atlas", "cus_v", "victim@customer.example")
	s.create(limited, "License of the attacker", "beacon", "cus_v", "attacker@evil.example")
	s.create(license.Caller{}, "As a guest", "atlas", "mail:victim@customer.example", "Victim <Victim@Customer.example>")

	b := s.browser()
	_, at, text := b.follow(b.link("attacker@evil.example"))
	is.Equal(at, "licenses/")
	require.Contains(t, text, "License of the attacker", "Sign out")
	require.NotContains(t, text, victim.Key, "License of the victim")
	status, _, _ := b.get("licenses/" + victim.ID)
	is.Equal(status, http.StatusNotFound)

	b = s.browser()
	_, _, text = b.follow(b.link("VICTIM@customer.example"))
	require.Contains(t, text, "License of the victim", "As a guest")
	require.NotContains(t, text, "License of the attacker")
	bought := s.create(license.Caller{}, "Bought now", "atlas", "cus_new", "victim@customer.example")
	_, err := s.h.Service().Update(t.Context(), api.UpdateLicenseParams{ID: victim.ID, Metadata: api.To(map[string]*string{"email": new("eve@customer.example")})})
	is.NoErr(err)
	_, _, text = b.get("licenses/")
	require.Contains(t, text, "As a guest", "Bought now")
	require.NotContains(t, text, "License of the victim")
	status, _, _ = b.get("licenses/" + bought.ID)
	is.Equal(status, http.StatusOK)
	is.Equal(len(s.mails), 0)
}

// TestOnce: a link signs in once, concurrently too, and by no page that is only opened; it ends
// after 15 minutes, a session after 24 hours and when the customer signs out, and neither stands
// for the other: rules 4 and 5.
func TestOnce(t *testing.T) {
	is := is.New(t)
	s := newShop(t)
	s.create(license.Caller{}, "License of Ada", "atlas", "ada", "ada@customer.example")
	link := s.browser().link("ada@customer.example")
	for range 3 { // a program that checks mail and runs scripts
		_, _, text := s.browser().get("link#" + link)
		require.Contains(t, text, script)
		require.NotContains(t, text, "submit")
	}
	var signedIn []*browser
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			b := s.browser()
			if status, _, _ := b.follow(link); status == http.StatusOK {
				mu.Lock()
				defer mu.Unlock()
				signedIn = append(signedIn, b)
			}
		})
	}
	all.Wait()
	is.Equal(len(signedIn), 1)
	b := signedIn[0]
	root, err := url.Parse(s.url)
	is.NoErr(err)
	session := b.http.Jar.Cookies(root)[0]
	is.Equal(session.Name, sessionCookie)
	for _, forged := range []string{link, session.Value, "", "x", newToken().String(), session.Value + "A"} {
		status, _, text := s.browser().follow(forged)
		is.Equal(status, http.StatusForbidden)
		require.Contains(t, text, "was used, has ended, or is incomplete")
	}
	at := func(b *browser) string {
		t.Helper()
		_, at, _ := b.get("licenses/")
		return at
	}
	is.Equal(at(b), "licenses/")
	forger := s.browser()
	forger.http.Jar.SetCookies(root, []*http.Cookie{{Name: sessionCookie, Value: link, Path: "/account/"}})
	is.Equal(at(forger), "sign-in")
	thief := s.browser()
	thief.http.Jar.SetCookies(root, []*http.Cookie{{Name: sessionCookie, Value: session.Value, Path: "/account/"}})
	is.Equal(at(thief), "licenses/")
	_, to, _ := b.post("sign-out", nil)
	is.Equal(to, "sign-in")
	is.Equal(at(b), "sign-in")
	is.Equal(at(thief), "sign-in")

	s.advance(mailPause)
	link = b.link("ada@customer.example")
	s.advance(linkTTL - time.Millisecond)
	_, to, _ = b.follow(link)
	is.Equal(to, "licenses/")
	link = s.browser().link("ada@customer.example")
	s.advance(linkTTL)
	status, _, _ := s.browser().follow(link)
	is.Equal(status, http.StatusForbidden)
	s.advance(sessionTTL - linkTTL - time.Millisecond)
	is.Equal(at(b), "licenses/")
	s.advance(time.Millisecond)
	is.Equal(at(b), "sign-in")
}

// TestStored: the store has no token, and no address but in the license, and what has ended is
// removed: rule 6. Another process on the store knows the session.
func TestStored(t *testing.T) {
	is := is.New(t)
	s := newShop(t)
	l := s.create(license.Caller{}, "License of Ada", "atlas", "ada", "ada@customer.example")
	b := s.browser()
	_, _, _ = b.follow(b.link("ada@customer.example"))
	s.advance(mailPause)
	unused := b.link("ada@customer.example")
	root, err := url.Parse(s.url)
	is.NoErr(err)
	session := b.http.Jar.Cookies(root)[0].Value

	other := &SignIn{URL: s.url, Send: s.signIn.Send}
	pages := other.Handler(licensing.NewHandler(s.store, licensing.Options{}), licensing.Portal{})
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/licenses/", nil)
	r.AddCookie(&http.Cookie{Name: sessionCookie, Value: session})
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, r)
	is.Equal(w.Code, http.StatusOK)
	require.Contains(t, w.Body.String(), "License of Ada")

	is.NoErr(s.h.Service().Delete(t.Context(), api.DeleteLicenseParams{ID: l.ID}))
	count := func() (n int) {
		for _, kind := range []string{linkKind, sessionKind} {
			all, err := s.store.Entries(t.Context(), store.EntryQuery{Kind: kind})
			is.NoErr(err)
			n += len(all)
			for _, e := range all {
				text := e.Key + string(e.Data)
				require.NotContains(t, text, "customer.example", unused, session)
			}
		}
		return n
	}
	is.Equal(count(), 2)
	s.advance(sessionTTL)
	s.create(license.Caller{}, "License of Ada", "atlas", "ada", "ada@customer.example")
	b.link("ada@customer.example")
	is.Equal(count(), 1)
}

// TestReturn: after the sign-in, the customer is on the page that asked for it, such as that of
// a program that asks to be activated: rule 7. No page leads to another host.
func TestReturn(t *testing.T) {
	is := is.New(t)
	s := newShop(t)
	s.create(license.Caller{}, "License of Ada", "atlas", "ada", "ada@customer.example")
	b := s.browser()
	link := s.link(api.StartLinkParams{ProductID: "atlas", Fingerprint: "pc-1", Name: "Ada's computer"})
	_, at, _ := b.do(b.http.Get(link.URL))
	is.Equal(at, "sign-in")
	_, _ = b.ask("ada@customer.example")
	m := <-s.mails
	require.NotContains(t, m.Text, link.Code)
	_, after, _ := strings.Cut(m.Text, "#")
	_, at, text := b.follow(strings.Fields(after)[0])
	is.Equal(at, "licenses/link?code="+link.Code)
	require.Contains(t, text, "Ada&#39;s computer", "License of Ada")
	s.advance(mailPause)
	_, at, _ = b.follow(b.link("ada@customer.example")) // the cookie was used
	is.Equal(at, "licenses/")

	_, at, _ = s.browser().get("")
	is.Equal(at, "sign-in")
	for _, page := range []string{"//evil.example/", "/..//evil.example", "/%2e%2e/%2e%2e/%2f%2fevil.example", "https://evil.example/", `/\evil.example`, "/\r\nX: y"} {
		s.advance(mailPause)
		b := s.browser()
		root, err := url.Parse(s.url)
		is.NoErr(err)
		token := b.link("ada@customer.example")
		b.http.Jar.SetCookies(root, []*http.Cookie{{Name: pageCookie, Value: encode(page), Path: "/account/"}})
		_, at, _ := b.follow(token)
		is.True(strings.HasPrefix(at, "licenses/"))
	}
}

// TestAsking: an unknown address and a known one get the same answer: rule 8. An address gets one
// mail in five minutes, which is less than the life of a link, and a request for an unknown
// address is not counted: rule 9. A network asks ten times a minute: rule 10.
func TestAsking(t *testing.T) {
	is := is.New(t)
	s := newShop(t)
	s.create(license.Caller{}, "License of Ada", "atlas", "ada", "ada@customer.example")
	s.create(license.Caller{}, "License of Bob", "atlas", "bob", "bob@customer.example")
	b := s.browser()
	_, unknown := b.ask("nobody@customer.example")
	_, odd := b.ask("Ada <ada@customer.example>")
	_, two := b.ask("ada@customer.example, bob@customer.example")
	token := b.link("ada@customer.example")
	_, known := b.ask("ADA@customer.example ")
	is.Equal([]string{unknown, odd, two}, []string{known, known, known})
	for range 5 {
		status, _ := b.ask("ada@customer.example")
		is.Equal(status, http.StatusOK)
	}
	for _, address := range []string{"bob@customer.example", "nobody@customer.example"} {
		status, text := b.ask(address)
		is.Equal(status, http.StatusTooManyRequests)
		require.Contains(t, text, "from your network")
	}
	for i := range 30 { // a visitor with many networks
		s.visitFrom(fmt.Sprintf("2001:db8:%x::1", i))
		b.ask("ada@customer.example")
	}
	for i := range 2 * asksPerMinute { // one with many addresses in a network
		s.visitFrom(fmt.Sprintf("2001:db8:ffff::%x", i))
		status, _ := b.ask("nobody@customer.example")
		is.Equal(status == http.StatusOK, i < asksPerMinute)
	}
	s.visitFrom("198.51.100.7")
	b.link("bob@customer.example")
	s.idle()
	is.Equal(len(s.mails), 0)
	s.advance(mailPause - time.Millisecond)
	b.ask("ada@customer.example")
	s.idle()
	is.Equal(len(s.mails), 0)
	s.advance(time.Millisecond)
	b.link("ada@customer.example")
	status, _, _ := b.follow(token) // of the first mail: asking keeps nobody out
	is.Equal(status, http.StatusOK)
	is.True(mailPause < linkTTL)

	s.visitFrom("198.51.100.8")
	b.ask("late@customer.example") // has no license yet
	s.idle()
	s.create(license.Caller{}, "Late", "atlas", "late", "late@customer.example")
	b.link("late@customer.example")
}

// TestMailLink: a link that an operator mails signs in like another one. It goes only to an
// address that a license has, and does not count as a request of the customer. Before the
// handler is made, the call says what is missing.
func TestMailLink(t *testing.T) {
	is := is.New(t)
	s := newShop(t)
	s.create(license.Caller{}, "License of Ada", "atlas", "ada", "ada@customer.example")
	for range 2 {
		is.NoErr(s.signIn.MailLink(t.Context(), "Ada <ADA@customer.example>"))
		_, at, _ := s.browser().follow(s.token())
		is.Equal(at, "licenses/")
	}
	s.browser().link("ada@customer.example")
	for _, address := range []string{"nobody@customer.example", "", "ada@customer.example, bob@customer.example"} {
		is.True(s.signIn.MailLink(t.Context(), address) != nil)
	}
	is.Equal(len(s.mails), 0)
	defer func() { require.Contains(t, fmt.Sprint(recover()), "call SignIn.Handler before") }()
	(&SignIn{}).MailLink(t.Context(), "ada@customer.example")
}

// TestClaim: where licenses can be claimed, a customer without one gets a link, too, and has
// the license in the session in which it was claimed. A second address cannot take it.
func TestClaim(t *testing.T) {
	is := is.New(t)
	s := newShop(t, "batch:")
	l := s.create(license.Caller{}, "Spring bundle", "atlas", "batch:spring", "reseller@shop.example")
	b := s.browser()
	_, _, text := b.follow(b.link("Ada@customer.example"))
	require.Contains(t, text, "You have no licenses yet", "Add a license")
	require.NotContains(t, text, l.Key)
	status, at, text := b.post("licenses/claim", url.Values{"key": {l.Key}})
	is.Equal(status, http.StatusOK)
	is.Equal(at, "licenses/"+l.ID+"?claimed")
	require.Contains(t, text, l.Key)
	_, _, text = b.get("licenses/")
	require.Contains(t, text, l.Key)
	b = s.browser()
	b.follow(b.link("eve@customer.example"))
	status, _, text = b.post("licenses/claim", url.Values{"key": {l.Key}})
	is.Equal(status, http.StatusConflict)
	require.Contains(t, text, "in another account")
	b = s.browser()
	b.follow(b.link("reseller@shop.example"))
	_, _, text = b.get("licenses/")
	require.Contains(t, text, "You have no licenses yet")
}

// TestSendPanics: a Send that panics or ends its goroutine stops neither the process nor the
// next mail to the address.
func TestSendPanics(t *testing.T) {
	is := is.New(t)
	s := newShop(t)
	s.create(license.Caller{}, "License of Ada", "atlas", "ada", "ada@customer.example")
	send, calls := s.signIn.Send, atomic.Int64{}
	s.signIn.Send = func(ctx context.Context, m Message) error {
		switch calls.Add(1) {
		case 1:
			panic("no mail")
		case 2:
			runtime.Goexit()
		}
		return send(ctx, m)
	}
	for range 2 {
		status, _ := s.browser().ask("ada@customer.example")
		is.Equal(status, http.StatusOK)
		s.idle()
	}
	s.browser().link("ada@customer.example")
}

// TestFullQueue: the answer does not wait for the mail. If too many requests wait, a known and
// an unknown address get the answer 503. A mail that fails does not count.
func TestFullQueue(t *testing.T) {
	is := is.New(t)
	s := newShop(t)
	s.create(license.Caller{}, "License of Ada", "atlas", "ada", "ada@customer.example")
	stalled := make(chan error)
	send := s.signIn.Send
	s.signIn.Send = func(context.Context, Message) error { return <-stalled }
	b := s.browser()
	status, _ := b.ask("ada@customer.example")
	is.Equal(status, http.StatusOK)
	for range mostWaiting - 1 {
		s.signIn.waiting <- struct{}{}
	}
	status, _ = b.ask("") // no address waits for no mail
	is.Equal(status, http.StatusOK)
	for i, address := range []string{"ada@customer.example", "nobody@customer.example"} {
		s.visitFrom(fmt.Sprintf("192.0.2.%d", i+2))
		resp, err := b.http.PostForm(s.url+"sign-in", url.Values{"email": {address}})
		is.NoErr(err)
		is.Equal(resp.Header.Get("Retry-After"), "60")
		status, _, text := b.do(resp, err)
		is.Equal(status, http.StatusServiceUnavailable)
		require.Contains(t, text, "Try again in a minute")
	}
	for range mostWaiting - 1 {
		<-s.signIn.waiting
	}
	stalled <- errEnded
	s.idle()
	s.signIn.Send = send
	b.link("ada@customer.example")
}

// TestOtherSites: forms from other sites are refused; those of pages behind a proxy that changes
// the Host header are not.
func TestOtherSites(t *testing.T) {
	is := is.New(t)
	h := licensing.NewHandler(memory.New(), licensing.Options{})
	signIn := &SignIn{URL: "https://shop.example/account", Send: func(context.Context, Message) error { return nil }}
	pages := signIn.Handler(h, licensing.Portal{Origins: []string{"https://www.shop.example"}})
	for _, page := range []string{"sign-in", "link", "sign-out", "licenses/link"} {
		for origin, refused := range map[string]bool{"https://evil.example": true, "null": true, "https://shop.example": false, "https://www.shop.example": false} {
			r := httptest.NewRequestWithContext(t.Context(), "POST", "/"+page, strings.NewReader("token=x"))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("Origin", origin)
			w := httptest.NewRecorder()
			pages.ServeHTTP(w, r)
			is.Equal(w.Code == http.StatusForbidden && !strings.Contains(w.Body.String(), "was used"), refused)
			for _, c := range w.Result().Cookies() {
				is.True(c.Secure && c.HttpOnly && c.SameSite == http.SameSiteLaxMode && c.Path == "/account/")
			}
		}
	}
}

// TestSignInNotConfigured: what is missing is said when the handler is made.
func TestSignInNotConfigured(t *testing.T) {
	for _, s := range []*SignIn{{URL: "https://shop.example"}, {URL: "/account", Send: Server{}.Send}} {
		func() {
			defer func() { require.Contains(t, fmt.Sprint(recover()), "mail: SignIn.") }()
			s.Handler(licensing.NewHandler(memory.New(), licensing.Options{}), licensing.Portal{})
		}()
	}
}
