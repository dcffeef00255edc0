package maillink

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"net/mail"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/seed-d8a106b4/licensekit/example/internal/keymail"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
)

// The pages are plain. That of a link posts the token by a script; without JavaScript, the
// customer types it in. Its action is a URL without the token, which the address of the
// licenses would inherit.
const (
	head = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>Your licenses</title><style>` +
		style + `</style><main><h1>Your licenses</h1>`
	style = `main { font: 1rem/1.5 system-ui; max-width: 40rem; margin: auto; padding: 1rem } input, button { font: inherit; padding: .25rem .5rem; max-width: 100%; box-sizing: border-box }`

	linkPage   = head + `<form method="post" action="?"><p><label for="token">What follows # in the link</label> <input id="token" name="token" required autocomplete="off"> <button>Show licenses</button></p></form></main><script>` + script + `</script></html>`
	signInPage = head + `<form method="post"><p><label for="email">Your email address</label> <input id="email" name="email" type="email" required autocomplete="email"> <button>Send a link</button></p></form></main></html>`
	sentPage   = head + `<p>If you have a license, a link to it is on its way to you.</p></main></html>`

	script = `const form = document.forms[0]; form.token.value = location.hash.slice(1); history.replaceState(null, "", location.pathname); if (form.token.value) form.submit()`
)

var policy = "default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'; style-src " + digest(style) + "; script-src " + digest(script)

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

func show(w http.ResponseWriter, page string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Cache-Control", "no-store")
	io.WriteString(w, page)
}

const (
	pause    = time.Minute // between two mails to one address
	mostNow  = 1000        // requests in that time
	mostEach = 10          // of one visitor
)

// A SignIn is the page where customers ask for a link. The answer does not say whether an
// address is known.
type SignIn struct {
	Links
	Licenses *license.Service
	Send     func(ctx context.Context, m keymail.Mail) error
	ClientIP func(*http.Request) netip.Addr // as in licensing.Options

	mu    sync.Mutex
	asked map[string]asking
}

// An asking is when a link was asked for, and from which network.
type asking struct {
	at   time.Time
	from netip.Prefix // none: a private address, such as that of a proxy
}

func (s *SignIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		show(w, signInPage)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	if to := strings.ToLower(r.PostFormValue("email")); isAddress(to) && s.mayAsk(to, asking{time.Now(), s.network(r)}) {
		go func() { // so that the time of the answer says nothing, either
			ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), time.Minute)
			defer cancel()
			if err := s.mail(ctx, to); err != nil {
				slog.Error("no mail of a link", "error", err)
			}
		}()
	}
	show(w, sentPage)
}

// isAddress reports whether a text is one address and no more. Anybody can send any text,
// and one such as "a" would search all licenses.
func isAddress(text string) bool {
	a, err := mail.ParseAddress(text)
	return err == nil && a.Address == text
}

// network returns where a request comes from.
func (s *SignIn) network(r *http.Request) (from netip.Prefix) {
	peer, _ := netip.ParseAddrPort(r.RemoteAddr)
	addr := peer.Addr().Unmap()
	if s.ClientIP != nil {
		addr = s.ClientIP(r)
	}
	if addr.Is6() {
		from, _ = addr.Prefix(64)
	} else if addr.IsValid() {
		from, _ = addr.Prefix(32)
	}
	if addr.IsPrivate() || addr.IsLoopback() {
		from = netip.Prefix{}
	}
	return from
}

// mayAsk limits how many mails are sent.
func (s *SignIn) mayAsk(address string, now asking) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	same := 0
	for a, before := range s.asked {
		if now.at.Sub(before.at) > pause {
			delete(s.asked, a)
		} else if before.from == now.from && now.from.IsValid() {
			same++
		}
	}
	if _, soon := s.asked[address]; soon || same == mostEach || len(s.asked) == mostNow {
		return false
	}
	if s.asked == nil {
		s.asked = make(map[string]asking)
	}
	s.asked[address] = now
	return true
}

// mail mails a link to an address, which is in lower case, if the metadata of a license has
// it.
func (s *SignIn) mail(ctx context.Context, address string) error {
	page, err := s.Licenses.Mailbox(address).List(ctx, api.ListLicensesParams{Limit: 1})
	if err != nil || len(page.Data) == 0 {
		return err
	}
	text := "Open this link within 24 hours to see your licenses:\r\n\r\n" + s.To(address) + "\r\n"
	return s.Send(ctx, keymail.Mail{ID: rand.Text(), At: time.Now(), To: address, Subject: "Your licenses", Text: text})
}
