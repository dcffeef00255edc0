package program

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// errProxySignIn is the answer 407 of a proxy.
var errProxySignIn = errors.New("the proxy asks for a sign-in")

// refuseSignIn recognizes a proxy that asks for a sign-in, whatever its text is.
func refuseSignIn(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode == http.StatusProxyAuthRequired {
		return errProxySignIn
	}
	return nil
}

// unreached returns one sentence for the user about why the service did not answer; empty:
// only that it cannot be reached.
func unreached(err error) string {
	if err == nil {
		return ""
	}
	if errors.As(err, new(*tls.CertificateVerificationError)) {
		return "The certificate of the licensing service is not trusted on this machine; check the clock, and ask the administrator whether a proxy replaces certificates."
	}
	// The transport of Options.HTTPClient has only the text.
	if errors.Is(err, errProxySignIn) || strings.Contains(err.Error(), http.StatusText(http.StatusProxyAuthRequired)) {
		return "The proxy of this network asks for a sign-in; ask the administrator for an address of the proxy with a user name and a password."
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound {
		return "The host " + dns.Name + " was not found; check the network connection."
	}
	return ""
}
