package maillink

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/example/internal/keymail"
	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/memory"
)

// TestLink: a customer asks for a link, gets it by mail, and sees the licenses that have the
// address and no others, also not those of the same customer: an API client that is limited to
// a product gives its license any address. The answer is the same for an unknown address, and
// an ended or forged token is refused.
func TestLink(t *testing.T) {
	is := is.New(t)
	h := licensing.NewHandler(memory.New(), licensing.Options{})
	for customer, email := range map[string]string{"ada": "Ada <Ada@customer.example>", "bob": "bob@customer.example", "eve": "ada@customer.example.org"} {
		_, err := h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "License of " + customer, ProductID: "atlas", CustomerID: customer, Metadata: map[string]string{"email": email}})
		is.NoErr(err)
	}
	limited := h.Service().As(license.Caller{Products: []string{"beacon"}})
	_, err := limited.Create(t.Context(), api.CreateLicenseParams{Name: "License of the attacker", ProductID: "beacon", CustomerID: "ada", Metadata: map[string]string{"email": "attacker@evil.example"}})
	is.NoErr(err)
	mails := make(chan keymail.Mail, 9)
	mux := http.NewServeMux()
	server := httptest.NewServer(http.NewCrossOriginProtection().Handler(mux))
	defer server.Close()
	links := Links{Key: []byte(strings.Repeat("k", 32)), URL: server.URL + "/account/link"}
	mux.Handle("/account/link", links)
	mux.Handle("/account/sign-in", &SignIn{Links: links, Licenses: h.Service(), Send: func(_ context.Context, m keymail.Mail) error {
		mails <- m
		return nil
	}})
	mux.Handle("/account/licenses/", http.StripPrefix("/account/licenses", h.Portal(licensing.Portal{Mailbox: func(w http.ResponseWriter, r *http.Request) (string, bool) {
		address, ok := links.Mailbox(r)
		if !ok {
			http.Redirect(w, r, "/account/sign-in", http.StatusSeeOther)
		}
		return address, ok
	}})))
	jar, err := cookiejar.New(nil)
	is.NoErr(err)
	browser := &http.Client{Jar: jar}
	read := func(resp *http.Response, err error) string {
		t.Helper()
		is.NoErr(err)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		is.NoErr(err)
		return string(text)
	}
	post := func(page, field, value string) string {
		t.Helper()
		return read(browser.PostForm(server.URL+"/account/"+page, url.Values{field: {value}}))
	}

	require.Contains(t, read(browser.Get(server.URL+"/account/licenses/")), "Send a link")
	is.Equal(post("sign-in", "email", "nobody@customer.example"), sentPage)
	is.Equal(post("sign-in", "email", "ada@customer.example"), sentPage)
	is.Equal(post("sign-in", "email", "ada@customer.example"), sentPage) // too soon for a second mail
	m := <-mails
	is.Equal(m.To, "ada@customer.example") // nothing else of what the metadata has
	address, token, _ := strings.Cut(strings.Fields(m.Text)[len(strings.Fields(m.Text))-1], "#")
	is.Equal(address, links.URL)
	require.Contains(t, read(browser.Get(address)), script)

	const bob = "bob@customer.example"
	soon := time.Now().Add(time.Hour)
	for name, forged := range map[string]string{
		"ended": links.token("mail-link", bob, time.Now().Add(-time.Second)), "of a session": links.token("mail-session", bob, soon),
		"of another key": Links{Key: []byte("other")}.token("mail-link", bob, soon), "of a customer": links.token("link", bob, soon), "cut": token[:len(token)-1], "none": "", "no text": "bGluaw",
	} {
		if text := post("link", "token", forged); !strings.Contains(text, "Ask for another one") {
			t.Errorf("a token that is %s: %s", name, text)
		}
	}
	is.Equal(len(jar.Cookies(&url.URL{Scheme: "http", Host: strings.TrimPrefix(server.URL, "http://"), Path: "/account/licenses/"})), 0)
	require.Contains(t, post("link?token="+token, "other", ""), "Ask for another one") // not from a URL
	request, err := http.NewRequestWithContext(t.Context(), "POST", address, strings.NewReader("token="+token))
	is.NoErr(err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", "https://other.example")
	resp, err := browser.Do(request)
	is.NoErr(err)
	resp.Body.Close()
	is.Equal(resp.StatusCode, http.StatusForbidden)

	text := post("link", "token", token) // and follows to the licenses
	require.Contains(t, text, "License of ada")
	require.NotContains(t, text, "License of bob", "License of eve", "License of the attacker")
	is.Equal(len(mails), 0)

	post("sign-in", "email", "attacker@evil.example")
	m = <-mails
	_, token, _ = strings.Cut(strings.TrimSpace(m.Text), "#")
	text = post("link", "token", token)
	require.Contains(t, text, "License of the attacker")
	require.NotContains(t, text, "License of ada")
	page, err := h.Service().List(t.Context(), api.ListLicensesParams{CustomerID: "ada", ProductID: "atlas"})
	is.NoErr(err)
	require.Contains(t, read(browser.Get(server.URL+"/account/licenses/"+page.Data[0].ID)), "There is no such page")
}

// TestMayAsk: a mail address may be used once a minute, a visitor may ask ten times, and
// all together 1,000 times.
func TestMayAsk(t *testing.T) {
	is := is.New(t)
	var s SignIn
	now := time.Now()
	asks := func(address, from string, after time.Duration) bool {
		r := httptest.NewRequest("POST", "/", nil)
		r.RemoteAddr = from
		return s.mayAsk(address, asking{now.Add(after), s.network(r)})
	}
	is.True(asks("ada", "192.0.2.1:9", 0))
	is.True(!asks("ada", "198.51.100.7:9", pause))
	is.True(asks("ada", "198.51.100.7:9", pause+1))
	n := map[string]int{}
	for i := range 2 * mostNow {
		for _, from := range []string{"192.0.2.1:9", "[2001:db8::1]:9", "[2001:db8::2]:9", "10.0.0.1:9"} {
			if asks(time.Duration(i).String()+"@"+from, from, pause+2) {
				n[from]++
			}
		}
	}
	is.Equal(n["192.0.2.1:9"], mostEach)
	is.Equal(n["[2001:db8::1]:9"]+n["[2001:db8::2]:9"], mostEach)
	is.Equal(n["10.0.0.1:9"], mostNow-2*mostEach-1)
	s.ClientIP = func(*http.Request) netip.Addr { return netip.MustParseAddr("192.0.2.1") }
	for i := range mostEach + 1 {
		is.Equal(asks(time.Duration(i).String(), "10.0.0.1:9", 3*pause), i < mostEach)
	}
}

// TestOnlyAddresses: what is no address searches nothing, which takes long for a short
// text, and no second spelling of an address gets a second mail.
func TestOnlyAddresses(t *testing.T) {
	is := is.New(t)
	h := licensing.NewHandler(memory.New(), licensing.Options{})
	const address = "ada@customer.example"
	_, err := h.Service().Create(t.Context(), api.CreateLicenseParams{Name: "Workshop", ProductID: "atlas", CustomerID: "ada", Metadata: map[string]string{"email": address}})
	is.NoErr(err)
	mails := 0
	s := SignIn{Licenses: h.Service(), Send: func(context.Context, keymail.Mail) error {
		mails++
		return nil
	}}
	for _, text := range []string{"", "a", "Workshop", "ada@", "@customer.example", "Ada <" + address + ">", address + " a", strings.Repeat("a", 1025)} {
		r := httptest.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader(url.Values{"email": {text}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		is.Equal(w.Body.String(), sentPage)
		is.Equal(len(s.asked), 0)
	}
	for _, spelling := range []string{address, "ada@cu\u017ftomer.example"} { // a long s
		is.NoErr(s.mail(t.Context(), spelling))
		is.Equal(mails, 1)
	}
}
