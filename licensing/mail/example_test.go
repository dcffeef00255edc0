package mail_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/licensing/mail"
	"github.com/seed-d8a106b4/licensekit/store"
)

// newShop returns a service that mails keys, with customer pages to which customers
// sign in by mail.
func newShop(st store.Store, server mail.Server) http.Handler {
	var h *licensing.Handler
	keys := mail.Keys{
		Licenses: func() *license.Service { return h.Service() }, Send: server.Send,
		Shop: "Acme Ltd", Pages: "https://shop.example/account/licenses/",
	}
	h = licensing.NewHandler(st, licensing.Options{
		PortalURL:    "https://shop.example/account/licenses",
		ProductNames: map[string]string{"atlas": "Atlas for Desktop"},
		Subscribers:  []licensing.Subscriber{keys.Subscriber()},
	})
	signIn := &mail.SignIn{URL: "https://shop.example/account", Send: server.Send, Shop: "Acme Ltd"}
	mux := http.NewServeMux()
	mux.Handle("/licensing/", http.StripPrefix("/licensing", h))
	mux.Handle("/account/", http.StripPrefix("/account", signIn.Handler(h, licensing.Portal{})))
	return mux
}

// A Service sends messages by the HTTP API of Resend. Those of other services differ in the
// names of the fields.
type Service struct {
	URL   string // https://api.resend.com/emails
	Token string
	From  string // address of the sender
}

// Send sends one message. The service sends a message with the same ID once.
func (s Service) Send(ctx context.Context, m mail.Message) error {
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	body, err := json.Marshal(map[string]any{"from": s.From, "to": []string{m.To}, "subject": m.Subject, "text": m.Text})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+s.Token)
	r.Header.Set("Idempotency-Key", m.ID)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("mail %s: %s", m.ID, resp.Status)
	}
	return nil
}
