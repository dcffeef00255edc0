package webhook

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"syscall"
)

// A guard decides which addresses may be dialed. It checks the resolved address
// at the time of dialing, so earlier DNS answers and unusual spellings of the
// address do not matter.
type guard struct {
	allowPrivate bool
	ports        []int // none: any
}

var (
	errAddress = errors.New("the address is not public")
	errPort    = errors.New("the port is not one of Options.Webhooks.Ports")
)

// control implements the Control function of a net.Dialer.
func (g *guard) control(_, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return errAddress
	}
	if len(g.ports) > 0 && !slices.Contains(g.ports, int(to.Port())) {
		return errPort
	}
	if !g.allows(to.Addr()) {
		return errAddress
	}
	return nil
}

// allows reports whether a connection to addr may be made.
func (g *guard) allows(addr netip.Addr) bool {
	zone := addr.Zone() != ""
	addr = addr.WithZone("").Unmap()
	switch {
	case contains(metadata, addr):
		return false
	case contains(private, addr):
		return g.allowPrivate
	case zone || contains(never, addr) || addr.Is6() && !publicIPv6.Contains(addr):
		return false
	}
	return g.allowPrivate || !isOwn(addr)
}

func contains(prefixes []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// isOwn reports whether addr belongs to this machine. If its addresses cannot be
// listed, isOwn returns true.
func isOwn(addr netip.Addr) bool {
	own, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(own, func(a net.Addr) bool {
		p, err := netip.ParsePrefix(a.String())
		return err == nil && p.Addr().WithZone("").Unmap() == addr
	})
}

// publicIPv6 is the globally routable part of IPv6.
var publicIPv6 = netip.MustParsePrefix("2000::/3")

// metadata are addresses of cloud metadata services, which expose secrets, that
// are not link-local.
var metadata = prefixes("100.100.100.200/32", "168.63.129.16/32", "fd00:ec2::254/128", "fd20:ce::254/128")

// private are private networks and this machine.
var private = prefixes(
	"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", // RFC 1918
	"100.64.0.0/10", // carriers' networks, RFC 6598
	"127.0.0.0/8", "::1/128",
	"fc00::/7", // unique local, RFC 4193
)

// never are addresses that no webhook needs: link-local addresses, including
// cloud metadata services; protocols that embed another address; and addresses
// for documentation, tests and future use. Most are in the IANA registries of
// special-purpose addresses.
var never = prefixes(
	"0.0.0.0/8",
	"169.254.0.0/16",
	"192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.175.48.0/24",
	"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
	"224.0.0.0/4", "240.0.0.0/4",

	"::/96", "::ffff:0:0/96", "::ffff:0:0:0/96",
	"64:ff9b::/96", "64:ff9b:1::/48", // IPv4 within IPv6, RFC 6052 and 8215
	"100::/64", "100:0:0:1::/64",
	"2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20", "5f00::/16",
	"fe80::/10", "fec0::/10", "ff00::/8",
)

func prefixes(list ...string) []netip.Prefix {
	parsed := make([]netip.Prefix, len(list))
	for i, p := range list {
		parsed[i] = netip.MustParsePrefix(p)
	}
	return parsed
}
