package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/mail"
	"net/smtp"
	"time"
)

// A Server sends messages by SMTP.
type Server struct {
	Addr string // host and port
	From string // the sender: an address, or a name and an address, "Acme <keys@acme.example>"

	User, Password string // empty: no sign-in

	// TLS is how the connection is encrypted: "starttls", which is an error if the server
	// does not offer it; "implicit", as on port 465; or "off". Default: "starttls", and
	// "off" for a server on this machine.
	TLS string

	// For tests; nil: the network, and the roots of this machine.
	dial  func(ctx context.Context, network, addr string) (net.Conn, error)
	roots *x509.CertPool
}

// Validate returns an error that names each field that is wrong.
func (s Server) Validate() error {
	var wrong []error
	add := func(is bool, text string) {
		if is {
			wrong = append(wrong, errors.New("mail: Server."+text))
		}
	}
	_, _, err := net.SplitHostPort(s.Addr)
	add(err != nil, "Addr must be host:port, such as smtp.example.com:587")
	_, err = mail.ParseAddress(s.From)
	add(err != nil, "From must be an address such as licenses@example.com or Acme <licenses@example.com>")
	add((s.User == "") != (s.Password == ""), "User needs Password, and the other way around")
	add(s.TLS != "" && s.TLS != "starttls" && s.TLS != "implicit" && s.TLS != "off", "TLS must be starttls, implicit or off")
	return errors.Join(wrong...)
}

// Send sends one message. An address that the server refuses is an error: correct it, and
// retry the dead letter.
func (s Server) Send(ctx context.Context, m Message) error {
	if err := s.send(ctx, m); err != nil {
		return fmt.Errorf("mail %s: %w", m.ID, err)
	}
	return nil
}

func (s Server) send(ctx context.Context, m Message) error {
	to, err := mail.ParseAddress(m.To)
	if err != nil {
		return err
	}
	from, err := mail.ParseAddress(s.From)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := cmp.Or(c.Mail(from.Address), c.Rcpt(to.Address)); err != nil {
		return err
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(m.encode(from, to)); err != nil {
		return err
	}
	if err := w.Close(); err != nil { // the server has accepted the message
		return err
	}
	c.Quit()
	return nil
}

// connect returns a connection that is encrypted as TLS says, after the sign-in.
func (s Server) connect(ctx context.Context) (*smtp.Client, error) {
	host, _, err := net.SplitHostPort(s.Addr)
	if err != nil {
		return nil, err
	}
	security := s.TLS
	if local := host == "localhost" || net.ParseIP(host).IsLoopback(); security == "" && !local {
		security = "starttls"
	}
	dial := s.dial
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	conn, err := dial(ctx, "tcp", s.Addr)
	if err != nil {
		return nil, err
	}
	deadline, _ := ctx.Deadline()
	conn.SetDeadline(deadline)
	secure := &tls.Config{ServerName: host, RootCAs: s.roots}
	if security == "implicit" {
		conn = tls.Client(conn, secure)
	}
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if security == "starttls" {
		if err = c.StartTLS(secure); err != nil { // also if the server does not offer it
			err = fmt.Errorf("STARTTLS: %w; see Server.TLS", err)
		}
	}
	if err == nil && s.User != "" {
		err = c.Auth(smtp.PlainAuth("", s.User, s.Password, host)) // which sends no password without TLS
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}
