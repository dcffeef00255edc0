package web

import (
	"net/http"
	"net/netip"
)

// clientAddress returns the address that r comes from, by Config.ClientIP or,
// without it, that of the connection; not valid: unknown.
func (s *Site) clientAddress(r *http.Request) netip.Addr {
	if s.cfg.ClientIP != nil {
		return s.cfg.ClientIP(r).Unmap().WithZone("")
	}
	peer, _ := netip.ParseAddrPort(r.RemoteAddr)
	return peer.Addr().Unmap().WithZone("")
}
