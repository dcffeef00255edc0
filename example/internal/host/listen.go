package host

import (
	"fmt"
	"io"
	"net"
	"strconv"
)

// portsToTry is how many ports listen tries, the one asked for included.
const portsToTry = 100

// listen listens on addr, or on the next port that is free, and then says so.
// The example speaks plain HTTP, hands out credentials and signs everyone in as a
// customer, so it accepts other than loopback addresses only with lan, and warns.
func listen(addr string, lan bool, out io.Writer) (net.Listener, error) {
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("-addr must be host:port, such as 127.0.0.1:8080: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		if !lan {
			return nil, fmt.Errorf("-addr %s is not a loopback address: use 127.0.0.1, [::1] or localhost, or add -lan", addr)
		}
		fmt.Fprintln(out, "Warning: everyone on the network can read what this application sends, and is signed in to it as a customer.")
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("-addr %s: the port must be a number from 0 to 65535", addr)
	}
	var first error
	for p := port; p < port+portsToTry && p <= 65535; p++ {
		ln, err := net.Listen("tcp", net.JoinHostPort(host, strconv.FormatUint(p, 10)))
		if err == nil {
			if p != port {
				fmt.Fprintf(out, "Port %d is taken; using %d instead.\n", port, p)
			}
			return ln, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}
