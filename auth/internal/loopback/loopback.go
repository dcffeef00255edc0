// Package loopback recognizes requests that a browser on the same machine sends
// without TLS.
package loopback

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Plain reports whether r came over plain HTTP to a loopback name. In this case
// a browser may refuse to store a Secure cookie, and the cookie needs no such
// protection. A proxy that terminates TLS may call the service by such a name
// too; then the Origin header of a form shows how the browser reached it.
func Plain(r *http.Request) bool {
	if r.TLS != nil || !isLoopback(r.Host) {
		return false
	}
	origin := r.Header.Get("Origin")
	host, plain := strings.CutPrefix(origin, "http://")
	return origin == "" || plain && isLoopback(host)
}

// isLoopback reports whether a host, with or without a port, is this machine.
func isLoopback(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.Trim(host, "[]"))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}
