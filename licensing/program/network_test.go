package program

import (
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// TestNetworkSentences: a certificate that is not trusted, a proxy that asks for a sign-in and
// a missing host are three faults, of which each has a sentence for the user.
func TestNetworkSentences(t *testing.T) {
	const text = "407 Please sign in"
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // otherwise, closing resets the connection
		conn, _, err := w.(http.Hijacker).Hijack()
		if err == nil {
			io.WriteString(conn, "HTTP/1.1 "+text+"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			conn.Close()
		}
	}))
	defer proxy.Close()
	usualProxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusProxyAuthRequired)
	}))
	defer usualProxy.Close()
	service := httptest.NewUnstartedServer(http.NotFoundHandler())
	service.Config.ErrorLog = log.New(io.Discard, "", 0)
	service.StartTLS()
	defer service.Close()
	dead := httptest.NewServer(nil)
	dead.Close()
	through := func(proxy *httptest.Server) *http.Transport {
		at, err := url.Parse(proxy.URL)
		if err != nil {
			t.Fatal(err)
		}
		return &http.Transport{Proxy: http.ProxyURL(at)}
	}
	jwks, _ := newKey(t)
	const signIn = "The proxy of this network asks for a sign-in; ask the administrator"
	for name, tt := range map[string]struct {
		url       string
		transport http.RoundTripper // nil: that of the program
		standard  *http.Transport   // in place of http.DefaultTransport
		want      string
	}{
		"certificate":           {url: service.URL, want: "The certificate of the licensing service is not trusted on this machine; check the clock"},
		"proxy for HTTPS":       {url: "https://acme.example", standard: through(proxy), want: signIn},
		"proxy of an option":    {url: "https://acme.example", transport: through(usualProxy), want: signIn},
		"proxy for HTTP":        {url: "http://acme.example", transport: through(proxy), want: signIn},
		"missing host":          {url: "https://missing.example", transport: noHost{}, want: "The host missing.example was not found; check the network connection."},
		"nothing listens there": {url: dead.URL, want: "The licensing service cannot be reached; check the network connection."},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			if tt.standard != nil {
				before := http.DefaultTransport
				defer func() { http.DefaultTransport = before }()
				http.DefaultTransport = tt.standard
			}
			o := Options{URL: tt.url, Keys: jwks, ProductID: "atlas", Key: "k", Fingerprint: "pc-1", Dir: tempDir(t)}
			if tt.transport != nil {
				o.HTTPClient = &http.Client{Transport: tt.transport}
			}
			l, err := Open(o)
			is.NoErr(err)
			defer l.Close()
			s := l.Status()
			is.Equal(s.Code, CodeUnreachable)
			require.HasPrefix(t, s.Message(), tt.want)
			require.HasPrefix(t, s.Warnings[0].Detail, strings.TrimSuffix(strings.TrimSuffix(tt.want, "; check the network connection."), "."))
			err = l.SetKey(t.Context(), "other")
			require.ErrorIs(t, err, CodeUnreachable)
			if !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("%v, because %v", err, errors.Unwrap(err))
			}
		})
	}
}

// noHost is a network whose DNS does not know the host.
type noHost struct{}

func (noHost) RoundTrip(r *http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: r.URL.Hostname(), IsNotFound: true}}
}
