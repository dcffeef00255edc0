// Package keymail mails license keys to customers, and links to their pages.
package keymail

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/bidi"
	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
)

// Subscriber mails the key of a license to the address in its metadata when it is
// created, when it gets a new key, and when another customer gets it. It logs a license
// without an address. Events contain no keys, so it gets the license. Several processes may
// have this subscriber on one store: each event is handled by one of them.
func Subscriber(get func(ctx context.Context, id string) (api.License, error), send func(ctx context.Context, m Mail) error) licensing.Subscriber {
	return licensing.Subscriber{
		Name:        "mail",
		Types:       []string{api.EventLicenseCreated, api.EventLicenseRekeyed, api.EventLicenseTransferred},
		MaxAttempts: 10, // nine minutes; then the event is a dead letter, and later ones continue
		Handle: func(ctx context.Context, e api.Event) error {
			data, err := e.Decode()
			if err != nil || data.Imported {
				return err // the customer has the key already
			}
			l, err := get(ctx, e.Subject)
			if errors.Is(err, api.ErrNotFound) {
				return nil // deleted in the meantime
			}
			if err != nil {
				return err // the event is retried after a pause, and later events wait
			}
			if l.Metadata["email"] == "" {
				slog.WarnContext(ctx, "no mail of a key: the metadata of the license has no email", "license_id", l.ID)
				return nil
			}
			name := bidi.Visible(l.Name)
			return send(ctx, Mail{
				ID: e.ID, At: e.Timestamp, To: bidi.Visible(l.Metadata["email"]), Subject: "Your license key for " + name,
				Text: fmt.Sprintf("The license key of %s is:\r\n\r\n    %s\r\n\r\nKeep it: the program asks for it when you install it again.\r\n", name, l.Key),
			})
		},
	}
}

// A Server is where messages are sent from.
type Server struct {
	Addr string    // host and port
	From string    // address of the sender
	Auth smtp.Auth // nil: none
}

// Send sends one message with SMTP. An address that is refused is an error: correct
// it, and retry the dead letter.
func (s Server) Send(ctx context.Context, m Mail) error {
	to, err := mail.ParseAddress(m.To)
	if err != nil {
		return fmt.Errorf("mail %s: %w", m.ID, err)
	}
	host, _, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", s.Addr)
	if err != nil {
		return err
	}
	deadline, _ := ctx.Deadline()
	conn.SetDeadline(deadline)
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	defer c.Close()
	if ok, _ := c.Extension("STARTTLS"); ok {
		if err := c.StartTLS(&tls.Config{ServerName: host}); err != nil {
			return err
		}
	}
	if s.Auth != nil {
		if err := c.Auth(s.Auth); err != nil { // which refuses to send a password without TLS
			return err
		}
	}
	if err := errors.Join(c.Mail(s.From), c.Rcpt(to.Address)); err != nil {
		return fmt.Errorf("mail %s: %w", m.ID, err)
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(m.text(s.From, to)); err != nil {
		return err
	}
	if err := w.Close(); err != nil { // the server has accepted the message
		return err
	}
	c.Quit()
	return nil
}

// NewServer returns the server at addr, host:port. It signs in if user is not empty.
func NewServer(addr, from, user, password string) Server {
	s := Server{Addr: addr, From: from}
	if user != "" {
		host, _, _ := net.SplitHostPort(addr)
		s.Auth = smtp.PlainAuth("", user, password, host)
	}
	return s
}

// text returns the message (RFC 5322).
func (m Mail) text(from string, to *mail.Address) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "From: %s\r\nTo: %s\r\nSubject: %s\r\nDate: %s\r\nMessage-ID: <%s@licensing>\r\n",
		(&mail.Address{Address: from}).String(), to, mime.QEncoding.Encode("utf-8", m.Subject), m.At.Format(time.RFC1123Z), m.ID)
	b.WriteString("MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n")
	body := quotedprintable.NewWriter(&b)
	io.WriteString(body, m.Text)
	body.Close()
	return b.Bytes()
}
