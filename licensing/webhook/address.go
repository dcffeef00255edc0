package webhook

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
)

// checkURL returns what is wrong with the URL of a webhook, or "". Which address
// its host has is checked when it is dialed; see guard.
func (s *Service) checkURL(address string) string {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "https" && (u.Scheme != "http" || !s.opts.AllowPrivate) ||
		u.Hostname() == "" || u.User != nil || u.Fragment != "" || u.Opaque != "":
		if s.opts.AllowPrivate {
			return "must be an http or https URL without user info or fragment"
		}
		return "must be an https URL without user info or fragment"
	case !isHost(u):
		return "must have a host of letters, digits, hyphens, underscores and dots, or an IP address"
	case u.Port() != "" && !isPort(u.Port()):
		return "must have a port between 1 and 65535, or none"
	}
	return ""
}

// isHost reports whether a URL has an IP address or a name without characters that
// cannot be seen or that no name has. The dashboard shows the name, so it must not
// look like another.
func isHost(u *url.URL) bool {
	if strings.HasPrefix(u.Host, "[") {
		addr, err := netip.ParseAddr(u.Hostname())
		return err == nil && addr.Zone() == ""
	}
	for _, r := range u.Hostname() {
		visible := !unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
		if !strings.ContainsRune("-._", r) && !(unicode.In(r, unicode.L, unicode.M, unicode.Nd) && visible) {
			return false
		}
	}
	return true
}

func isPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return err == nil && n > 0 && len(port) <= len("65535")
}
