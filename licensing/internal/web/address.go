package web

import (
	"net/http"
	"net/netip"
)

// clientAddress returns the address that r comes from, by Config.ClientIP or,
// without it, that of the connection; empty: unknown.
func (s *Site) clientAddress(r *http.Request) string {
	var ip netip.Addr
	if s.cfg.ClientIP != nil {
		ip = s.cfg.ClientIP(r)
	} else if peer, err := netip.ParseAddrPort(r.RemoteAddr); err == nil {
		ip = peer.Addr()
	}
	if !ip.IsValid() {
		return ""
	}
	return ip.Unmap().WithZone("").String()
}
