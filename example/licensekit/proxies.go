package main

import (
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// proxies are the networks of trusted proxies.
type proxies []netip.Prefix

func parseProxies(list []string) (p proxies, err error) {
	for _, word := range list {
		prefix, err := netip.ParsePrefix(word)
		if addr, notAddr := netip.ParseAddr(word); notAddr == nil {
			prefix, err = addr.Prefix(addr.BitLen())
		}
		if err != nil {
			return nil, errors.New("must be addresses and networks such as 127.0.0.1,10.0.0.0/8")
		}
		p = append(p, prefix.Masked())
	}
	return p, nil
}

// clientIP is for Options.ClientIP. From the last address of X-Forwarded-For to the
// first, each was added by the proxy that is after it, and counts if that is trusted.
func (p proxies) clientIP(r *http.Request) netip.Addr {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{} // unknown
	}
	addr := peer.Addr().Unmap()
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		if !p.trust(addr) {
			return addr
		}
		next, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			return addr
		}
		addr = next.Unmap()
	}
	return addr
}

func (p proxies) trust(addr netip.Addr) bool {
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(addr) })
}
