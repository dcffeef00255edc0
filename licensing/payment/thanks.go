package payment

import (
	"context"
	"errors"
	"html/template"
	"net/http"
	"net/netip"
	"regexp"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/internal/rate"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/selling"
)

const (
	keysShown   = 24 * time.Hour   // after the session was completed
	thanksEvery = 10 * time.Second // the page asks again while there is no license
	thanksAsks  = 12               // times, so for two minutes
)

var stripeSessionID = regexp.MustCompile(`^cs_[A-Za-z0-9_]{1,200}$`)

var thanksPage = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">
{{with .Next}}<meta http-equiv="refresh" content="{{$.Every}};url=?session_id={{$.Session}}&amp;asked={{.}}">
{{end}}<title>{{.Title}}</title></head><body><main><h1>{{.Title}}</h1>
{{range .Licenses}}<p>{{.Name}}: <code>{{.Key}}</code></p>
{{else}}<p>{{.Text}}</p>
{{end}}{{with .PortalURL}}<p><a href="{{.}}">Your licenses</a></p>
{{end}}</main></body></html>
`))

type thanksText struct {
	Title, Text, Session, PortalURL string
	Licenses                        []*api.License
	Next, Every                     int // Next is 0 if the page does not ask again
}

// Thanks returns the page after a payment, for the success_url of checkout sessions:
// https://…/thanks?session_id={CHECKOUT_SESSION_ID}. It shows the keys of the session for 24
// hours, of licenses that are valid and whose customer is still that of the session; later,
// and for an ID that is unknown, it links to PortalURL. Ten requests a minute of each
// network are answered.
func (s Stripe) Thanks(sales *selling.Service) http.Handler {
	mustBe(s.Validate())
	limit, a := rate.New(10, time.Minute, 10), s.with(sales)
	clientIP := s.ClientIP
	if clientIP == nil {
		clientIP = func(r *http.Request) netip.Addr { return rate.Peer(r) }
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Content-Type": "text/html; charset=utf-8", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex",
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'", "X-Content-Type-Options": "nosniff",
		} {
			w.Header().Set(name, value)
		}
		page := thanksText{Title: "Thank you", Text: "Your keys come by mail. You find them on your customer pages, too.", PortalURL: s.PortalURL, Every: int(thanksEvery.Seconds())}
		id, at, status := r.URL.Query().Get("session_id"), a.now(), http.StatusOK
		if wait := limit.Take(rate.Key("thanks", clientIP(r)), at); wait > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
			status, page.Title, page.Text = http.StatusTooManyRequests, "Please wait", "Load this page again in a minute."
		} else if stripeSessionID.MatchString(id) {
			licenses, waits, err := a.keysOf(r.Context(), id, at)
			if err != nil {
				inner.Of(sales).Logger().ErrorContext(r.Context(), "page after a payment failed", "provider", a.provider, "error", err)
			}
			page.Licenses = licenses
			if asked, _ := strconv.Atoi(r.URL.Query().Get("asked")); waits && asked < thanksAsks {
				page.Text, page.Next, page.Session = "Your payment is being processed. This page shows your keys when that is done.", max(asked, 0)+1, id
			}
		}
		w.WriteHeader(status)
		_ = thanksPage.Execute(w, page)
	})
}

// keysOf returns the licenses of a session whose keys may be shown. It waits if the payment is
// not complete, or if something fails.
func (a stripeAccount) keysOf(ctx context.Context, id string, at time.Time) (shown []*api.License, waits bool, err error) {
	session, err := a.readSession(ctx, id)
	if answer, ok := errors.AsType[*answerError](err); ok && answer.status == http.StatusNotFound {
		return nil, false, nil
	}
	if err != nil {
		return nil, true, err
	}
	if session.Status != "complete" || at.Sub(session.paidAt()) > keysShown {
		return nil, false, nil
	}
	all, err := a.recordSession(ctx, session, at)
	for _, l := range all {
		isTheirs := l.CustomerID == a.customerOf(session) || l.CustomerID == session.Customer
		if isTheirs && (l.Status == api.LicenseActive || l.Status == api.LicenseScheduled) {
			shown = append(shown, l)
		}
	}
	return shown, err != nil || session.Payment == "unpaid", err
}
