package mail

import (
	"context"
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/rate"
	"github.com/seed-d8a106b4/licensekit/internal/texts"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/store"
)

// A SignIn signs in customers by links that they get by mail. Set its fields, and mount its
// Handler. It is safe for concurrent use.
type SignIn struct {
	URL  string                                     // of the mount as customers see it, such as https://shop.example/account
	Send func(ctx context.Context, m Message) error // of a Server

	Shop  string // the name under the mails; empty: none
	Texts Texts

	h         *licensing.Handler
	url       *url.URL
	texts     Texts
	byNetwork *rate.Limiter
	byAddress *rate.Limiter
	waiting   chan struct{} // has an element for each request that waits
	searching chan struct{} // has one while a request is looked up
}

// The cookies. That of the page that the customer came from is read once.
const (
	sessionCookie = "licensekit_customer"
	pageCookie    = "licensekit_page"
)

// maxPage is how long the reference of the page that the customer came from may be.
const maxPage = 500

// Handler returns the handler of the customer pages of h with the pages of the sign-in:
// licenses/, sign-in, link and sign-out. Mount it at URL; Options.PortalURL is then URL with
// /licenses:
//
//	mux.Handle("/account/", http.StripPrefix("/account", signIn.Handler(h, licensing.Portal{})))
//
// It sets p.Mailbox and p.SignOut. Forms from other sites are refused, except from the origin
// of URL and from p.Origins. Handler panics if URL is not an absolute URL or if Send is nil.
func (s *SignIn) Handler(h *licensing.Handler, p licensing.Portal) http.Handler {
	u, err := url.Parse(strings.TrimSuffix(s.URL, "/"))
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		panic("mail: SignIn.URL must be the URL of the mount, such as https://shop.example/account")
	}
	if s.Send == nil {
		panic("mail: SignIn.Send is required, such as the method of a Server")
	}
	s.h, s.url = h, u
	s.texts = texts.Default(s.Texts)
	s.texts.Sent = fill(s.texts.Sent, "minutes", minutes)
	s.byNetwork = rate.New(asksPerMinute, time.Minute, asksPerMinute)
	s.byAddress = rate.New(1, mailPause, 1)
	s.waiting, s.searching = make(chan struct{}, mostWaiting), make(chan struct{}, 1)

	p.Mailbox, p.SignOut = s.mailbox, "../sign-out"
	p.Origins = append([]string{u.Scheme + "://" + u.Host}, p.Origins...)
	protection := http.NewCrossOriginProtection()
	for _, origin := range p.Origins {
		if err := protection.AddTrustedOrigin(origin); err != nil {
			panic("mail: " + err.Error())
		}
	}
	own := http.NewServeMux()
	show := func(page string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { s.show(w, http.StatusOK, page) }
	}
	for _, root := range []string{"GET /{$}", "GET /licenses"} {
		own.HandleFunc(root, func(w http.ResponseWriter, _ *http.Request) { redirect(w, "licenses/") })
	}
	own.HandleFunc("GET /sign-in", show("ask"))
	own.HandleFunc("POST /sign-in", s.ask)
	own.HandleFunc("GET /link", show("link"))
	own.HandleFunc("POST /link", s.open)
	own.HandleFunc("POST /sign-out", s.signOut)
	own.Handle("/licenses/", http.StripPrefix("/licenses", h.Portal(p)))
	return protection.Handler(own)
}

// minutes is how long a link lasts, as mails and pages say.
var minutes = strconv.Itoa(int(linkTTL.Minutes()))

func (s *SignIn) log() *slog.Logger  { return s.h.Service().Options().Logger }
func (s *SignIn) now() time.Time     { return inner.Of(s.h.Service()).Call().Clock() }
func (s *SignIn) store() store.Store { return inner.Of(s.h.Service()).Call().Store }

// mailbox returns the address that is signed in. Without a session, it remembers the page
// and redirects to the sign-in.
func (s *SignIn) mailbox(w http.ResponseWriter, r *http.Request) (address string, ok bool) {
	address, err := sessionOf(r).open(r.Context(), s.store(), sessionKind, s.now())
	if err == nil {
		return address, true
	}
	if !errors.Is(err, errEnded) {
		s.fail(w, r, "mail: the session of a customer cannot be read", err)
		return "", false
	}
	if page := r.URL.RequestURI(); r.Method == http.MethodGet && len(page) < maxPage {
		s.setCookie(w, pageCookie, encode(page), linkTTL)
	}
	redirect(w, strings.Repeat("../", max(1, strings.Count(r.URL.EscapedPath(), "/")))+"sign-in")
	return "", false
}

func sessionOf(r *http.Request) token {
	c, err := r.Cookie(sessionCookie)
	if err != nil {
		return nil
	}
	return parseToken(c.Value)
}

// setCookie sets a cookie for the pages; a ttl below zero removes it.
func (s *SignIn) setCookie(w http.ResponseWriter, name, value string, ttl time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: name, Value: value, Path: s.url.EscapedPath() + "/", MaxAge: int(ttl.Seconds()), HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.url.Scheme == "https",
	})
}

// open starts a session with the token of a link, and shows the page that the customer came
// from.
func (s *SignIn) open(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	session, err := s.exchange(r.Context(), parseToken(strings.TrimSpace(r.PostFormValue("token"))), sessionOf(r))
	if errors.Is(err, errEnded) {
		s.show(w, http.StatusForbidden, "gone")
		return
	}
	if err != nil {
		s.fail(w, r, "mail: a customer cannot be signed in", err)
		return
	}
	s.setCookie(w, sessionCookie, session.String(), sessionTTL)
	s.setCookie(w, pageCookie, "", -time.Second)
	redirect(w, "licenses"+cameFrom(r))
}

// encode returns the value of a cookie with a page.
func encode(page string) string { return base64.RawURLEncoding.EncodeToString([]byte(page)) }

// cameFrom returns the page that the customer came from, as a path below the licenses.
func cameFrom(r *http.Request) string {
	c, err := r.Cookie(pageCookie)
	if err != nil {
		return "/"
	}
	text, err := base64.RawURLEncoding.DecodeString(c.Value)
	u, wrong := url.Parse(string(text))
	if err != nil || wrong != nil {
		return "/"
	}
	return (&url.URL{Path: path.Clean("/" + u.Path), RawQuery: u.RawQuery}).RequestURI()
}

// signOut ends the session.
func (s *SignIn) signOut(w http.ResponseWriter, r *http.Request) {
	if err := s.end(r.Context(), sessionOf(r)); err != nil {
		s.fail(w, r, "mail: a customer cannot be signed out", err)
		return
	}
	s.setCookie(w, sessionCookie, "", -time.Second)
	redirect(w, "sign-in")
}

// redirect sends the browser to a page, by a reference that is relative to that of the request.
func redirect(w http.ResponseWriter, to string) {
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}
