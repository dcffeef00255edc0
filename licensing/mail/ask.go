package mail

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/bidi"
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/base/feed"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
)

const (
	asksPerMinute = 10              // of a network
	mailPause     = 5 * time.Minute // between two mails to one address; less than linkTTL, so that asking keeps no customer out
	mostWaiting   = 1000            // requests that are not answered by a mail yet
	maxForm       = 4 << 10         // bytes
)

// ask mails a link to an address. The answer does not say whether the address is known, and
// does not wait for the mail.
func (s *SignIn) ask(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	address := strings.ToLower(strings.TrimSpace(r.PostFormValue("email")))
	if network := inner.Of(s.h).AddressKey(r); network != "" && s.byNetwork.Take(network, s.now()) > 0 {
		w.Header().Set("Retry-After", "60")
		s.show(w, http.StatusTooManyRequests, "many")
		return
	}
	if address == "" || call.Address(address) != address {
		s.show(w, http.StatusOK, "sent")
		return
	}
	select {
	case s.waiting <- struct{}{}:
		ctx := context.WithoutCancel(r.Context())
		go feed.Contain(ctx, s.log(), "sign_in_mail", func() error { s.answer(ctx, address); return nil })
		s.show(w, http.StatusOK, "sent")
	default:
		s.fail(w, r, "mail: no link is sent", errFull)
	}
}

// errFull means that the queue of requests is full.
var errFull = errors.New("too many requests wait")

// answer mails a link to an address if a license has it or can get it by a claim, and it has
// got none in the last minutes. It logs errors.
func (s *SignIn) answer(ctx context.Context, address string) {
	defer func() { <-s.waiting }()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	known, err := len(s.h.Service().Options().ClaimFrom) > 0, error(nil)
	if !known {
		known, err = s.knows(ctx, address)
	}
	if err == nil && known && s.byAddress.Take(address, s.now()) == 0 {
		sent := false // nor if Send panics
		defer func() {
			if !sent {
				s.byAddress.Return(address)
			}
		}()
		err = s.send(ctx, address)
		sent = err == nil
	}
	if err != nil {
		s.log().ErrorContext(ctx, "mail: no link is sent", slog.Any("error", err))
	}
}

// MailLink mails a link to an address at the request of an operator, for
// licensing.DashboardOptions.Mailer. It is not limited to one mail in five minutes. It returns
// an error if no license has the address. It panics before Handler was called, which gives s
// its service.
func (s *SignIn) MailLink(ctx context.Context, address string) error {
	if s.h == nil {
		panic("mail: SignIn.MailLink needs the service: call SignIn.Handler before the service answers requests")
	}
	address = call.Address(address)
	known, err := s.knows(ctx, address)
	if err == nil && !known {
		err = errors.New("mail: no license has the address")
	}
	if err != nil {
		return err
	}
	return s.send(ctx, address)
}

// MailChange tells a customer at the former address that support has changed it, for
// licensing.DashboardOptions.Mailer.
func (s *SignIn) MailChange(ctx context.Context, former, address string) error {
	if s.h == nil {
		panic("mail: SignIn.MailChange needs the service: call SignIn.Handler before the service answers requests")
	}
	values := []string{"former", former, "address", bidi.Visible(address), "shop", s.Shop}
	return s.Send(ctx, Message{
		ID: rand.Text(), At: s.now(), To: former,
		Subject: fill(s.texts.ChangeSubject, values...), Text: fill(s.texts.signed(s.texts.ChangeText, s.Shop), values...),
	})
}

// knows reports whether a license has an address. It looks for one address at a time.
func (s *SignIn) knows(ctx context.Context, address string) (bool, error) {
	select {
	case s.searching <- struct{}{}:
		defer func() { <-s.searching }()
	case <-ctx.Done():
		return false, ctx.Err()
	}
	page, err := s.h.Service().Mailbox(address).List(ctx, api.ListLicensesParams{Limit: 1})
	return len(page.Data) > 0, err
}

// send mails a link to an address.
func (s *SignIn) send(ctx context.Context, address string) error {
	link := newToken()
	if err := s.put(ctx, link, address); err != nil {
		return err
	}
	values := []string{"url", s.url.String() + "/link#" + link.String(), "minutes", minutes, "shop", s.Shop}
	return s.Send(ctx, Message{
		ID: rand.Text(), At: s.now(), To: address,
		Subject: fill(s.texts.LinkSubject, values...), Text: fill(s.texts.signed(s.texts.LinkText, s.Shop), values...),
	})
}
