package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
	"github.com/seed-d8a106b4/licensekit/internal/testing/smtpsink"
	"github.com/seed-d8a106b4/licensekit/internal/texts"
)

// TestServerRequiresTLS: a server on another machine gets nothing over a connection that is
// not encrypted, unless "off" says so; and nothing over one whose certificate is not of its
// name.
func TestServerRequiresTLS(t *testing.T) {
	example := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate, of example.com
	defer example.Close()
	secure := &tls.Config{Certificates: example.TLS.Certificates}
	roots := x509.NewCertPool()
	roots.AddCert(example.Certificate())
	const (
		plain    = "no TLS"
		starttls = "STARTTLS"
		implicit = "TLS from the beginning"
	)
	for _, test := range []struct{ host, mode, server, wrong string }{
		{"example.com", "", plain, "STARTTLS"},
		{"192.0.2.1", "", plain, "STARTTLS"},
		{"localhost.example.com", "", plain, "STARTTLS"},
		{"example.com", "starttls", plain, "STARTTLS"},
		{"127.0.0.1", "starttls", plain, "STARTTLS"},
		{"example.com", "off", plain, ""},
		{"127.0.0.1", "", plain, ""},
		{"::1", "", plain, ""},
		{"localhost", "", plain, ""},
		{"example.com", "", starttls, ""},
		{"other.example", "", starttls, "certificate"},
		{"example.com", "implicit", implicit, ""},
		{"other.example", "implicit", implicit, "certificate"},
		{"example.com", "implicit", plain, "tls"},
	} {
		t.Run(strings.Join([]string{test.host, test.mode, test.server}, ","), func(t *testing.T) {
			is := is.New(t)
			sink := smtpsink.New(t)
			if test.server != plain {
				sink = smtpsink.NewTLS(t, secure, test.server == implicit)
			}
			s := Server{Addr: net.JoinHostPort(test.host, "587"), From: "Vendor <keys@vendor.example>", TLS: test.mode, roots: roots}
			s.dial = func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, sink.Addr)
			}
			is.NoErr(s.Validate())
			err := s.Send(t.Context(), Message{ID: "evt_1", At: time.Now(), To: "ada@customer.example", Subject: "Key", Text: "K"})
			if test.wrong == "" {
				is.NoErr(err)
				m, body := sink.Next(t)
				is.Equal([]string{m.Header.Get("To"), strings.TrimSpace(body)}, []string{"<ada@customer.example>", "K"})
				return
			}
			is.True(err != nil)
			require.Contains(t, err.Error(), test.wrong, "evt_1")
			for _, line := range sink.Lines() {
				if strings.HasPrefix(line, "MAIL") || strings.HasPrefix(line, "RCPT") || strings.HasPrefix(line, "AUTH") {
					t.Errorf("the server got %s", line)
				}
			}
		})
	}
}

// TestServerValidate: each field that is wrong is named.
func TestServerValidate(t *testing.T) {
	is := is.New(t)
	is.NoErr(Server{Addr: "smtp.example.com:587", From: "keys@vendor.example", User: "u", Password: "p", TLS: "implicit"}.Validate())
	err := Server{Addr: "smtp.example.com", From: "Vendor", User: "u", TLS: "ssl"}.Validate()
	is.True(err != nil)
	require.Contains(t, err.Error(), "Server.Addr", "Server.From", "Server.User", "Server.TLS")
}

// TestTexts: a text of another language stands in the place of the English one, in every mail,
// not only in the first.
func TestTexts(t *testing.T) {
	is := is.New(t)
	german := texts.Default(Texts{KeyText: "Guten Tag {name}, {key} {unknown}"})
	is.Equal(german.KeySubject, "Your license key for {product}")
	values := []string{"name", "{key}", "key", "K-1"}
	for range 2 {
		is.Equal(fill(german.KeyText, values...), "Guten Tag {key}, K-1 {unknown}")
	}
	is.Equal(values, []string{"name", "{key}", "key", "K-1"})
}
