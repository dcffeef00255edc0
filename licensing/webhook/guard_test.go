package webhook

import (
	"context"
	"encoding/binary"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"
)

// refusedAddresses has one of each network that no webhook may lead to, and
// the edges of the wide ones.
var refusedAddresses = []string{
	"0.0.0.0", "0.1.2.3", "10.0.0.0", "10.255.255.255", "100.64.0.1", "100.127.255.255", "100.100.100.200", "127.0.0.1", "168.63.129.16", "127.255.255.254",
	"169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.0.192", "192.0.2.1", "192.31.196.1", "192.52.193.1",
	"192.88.99.1", "192.168.0.1", "192.168.255.255", "192.175.48.1", "198.18.0.1", "198.19.255.255", "198.51.100.1",
	"203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
	"::", "::1", "::127.0.0.1", "::8.8.8.8", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0:8.8.8.8",
	"64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1", "100::1", "100:0:0:1::1", "2001::1", "2001:2::1", "2001:10::1",
	"2001:20::1", "2001:db8::1", "2002:7f00:1::1", "2620:4f:8000::1", "3fff::1", "5f00::1", "4000::1", "fc00::1", "fd00:ec2::254",
	"fe80::1", "fe80::1%1", "2606:4700::1111%1", "febf::1", "fec0::1", "ff02::1",
}

var allowedAddresses = []string{"1.1.1.1", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "::ffff:8.8.8.8", "2606:4700::1111", "2a00:1450::1"}

func TestTheGuardRefusesEveryNetworkOfTheList(t *testing.T) {
	is := is.New(t)
	g := &guard{}
	for _, a := range refusedAddresses {
		if g.allows(netip.MustParseAddr(a)) {
			t.Errorf("%s is let through", a)
		}
		is.Equal(g.control("tcp", net.JoinHostPort(a, "443"), nil), errAddress)
	}
	for _, a := range allowedAddresses {
		is.NoErr(g.control("tcp", net.JoinHostPort(a, "443"), nil))
	}
	is.Equal(g.control("tcp", "somewhere:443", nil), errAddress)

	// The machine's own, however public they are.
	own, err := net.InterfaceAddrs()
	is.NoErr(err)
	for _, a := range own {
		is.True(!g.allows(netip.MustParsePrefix(a.String()).Addr()))
	}

	private := &guard{allowPrivate: true, ports: []int{443, 8443}}
	for _, a := range []string{"10.0.0.1", "127.0.0.1", "::1", "fd00::1", "1.1.1.1"} {
		is.NoErr(private.control("tcp", net.JoinHostPort(a, "8443"), nil))
		is.Equal(private.control("tcp", net.JoinHostPort(a, "22"), nil), errPort)
	}
	for _, a := range []string{"169.254.169.254", "100.100.100.200", "168.63.129.16", "::ffff:168.63.129.16", "fd00:ec2::254", "fd20:ce::254", "fe80::1%1", "0.0.0.0", "::", "224.0.0.1", "64:ff9b::a00:1"} {
		is.Equal(private.control("tcp", net.JoinHostPort(a, "443"), nil), errAddress)
	}
}

// A receiver counts the requests that reach it.
func receiver(t *testing.T) (url string, port string, reached *atomic.Int64) {
	reached = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(s.Close)
	_, port, _ = net.SplitHostPort(s.Listener.Addr().String())
	return s.URL, port, reached
}

// post sends one message.
func post(t *testing.T, transport http.RoundTripper, url string) outcome {
	t.Helper()
	s := newSender(Options{Transport: transport}, time.Now)
	defer s.client.CloseIdleConnections()
	return s.send(t.Context(), url, message{id: "evt_1", body: []byte("{}")}, time.Now(), "v1,x")
}

// TestSpellingsOfLoopback dials what a check of the text would let through. A
// spelling that the resolver does not take never comes as far as the guard.
func TestSpellingsOfLoopback(t *testing.T) {
	_, port, reached := receiver(t)
	for _, host := range []string{"127.0.0.1", "localhost", "LOCALHOST", "[::ffff:127.0.0.1]", "[::1]", "0.0.0.0", "[::]", "0", "127.1", "2130706433", "0x7f000001", "017700000001", "①②⑦.0.0.1", "127.0.0.1."} {
		is := is.New(t)
		o := post(t, nil, "http://"+host+":"+port+"/")
		is.Equal(o.kind, failed)
		is.Equal(o.attempt.StatusCode, 0)
	}
	is.New(t).Equal(reached.Load(), int64(0))
}

// TestANameThatRebinds says the first time that it is a public address, and
// then that it is loopback.
func TestANameThatRebinds(t *testing.T) {
	is := is.New(t)
	_, port, reached := receiver(t)
	var asked atomic.Int64
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		here, there := net.Pipe()
		go answerName(there, func() netip.Addr {
			if asked.Add(1) == 1 {
				return netip.MustParseAddr("192.0.9.9") // public, as far as anybody knows
			}
			return netip.MustParseAddr("127.0.0.1")
		})
		return here, nil
	}}
	addrs, err := resolver.LookupHost(t.Context(), "rebinds.example")
	is.NoErr(err)
	is.Equal(addrs, []string{"192.0.9.9"})
	is.True((&guard{}).allows(netip.MustParseAddr(addrs[0]))) // a check beforehand finds nothing

	o := post(t, newTransport(&guard{}, resolver), "http://rebinds.example:"+port+"/")
	is.Equal(o.attempt.Error, "the address is not public")
	is.Equal(o.kind, failed)
	is.Equal(reached.Load(), int64(0))

	// The same name is reached where that is allowed: it is the guard that refuses.
	o = post(t, newTransport(&guard{allowPrivate: true}, resolver), "http://rebinds.example:"+port+"/")
	is.Equal(o.kind, delivered)
	is.Equal(reached.Load(), int64(1))
}

// answerName is a name server for one connection of DNS over TCP: it answers
// questions for an A record, and has no others.
func answerName(conn net.Conn, a func() netip.Addr) {
	defer conn.Close()
	for {
		var size [2]byte
		if _, err := conn.Read(size[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := conn.Read(query); err != nil {
			return
		}
		end := 12
		for query[end] != 0 {
			end += int(query[end]) + 1
		}
		end += 5 // the root, the type and the class
		answer := append([]byte{}, query[:end]...)
		binary.BigEndian.PutUint16(answer[2:], 0x8180)
		copy(answer[6:12], []byte{0, 0, 0, 0, 0, 0})
		if binary.BigEndian.Uint16(query[end-4:]) == 1 {
			answer[7] = 1
			answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
			answer = append(answer, a().AsSlice()...)
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

// TestAProxyInTheEnvironmentIsNotAsked sets one that would reach anything.
func TestAProxyInTheEnvironmentIsNotAsked(t *testing.T) {
	is := is.New(t)
	proxy, _, asked := receiver(t)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY"} {
		t.Setenv(name, proxy)
	}
	url, _, reached := receiver(t)
	o := post(t, newTransport(&guard{}, nil), url)
	is.Equal(o.attempt.Error, "the address is not public")
	post(t, newTransport(&guard{}, nil), "http://somewhere.invalid/")
	is.Equal(asked.Load(), int64(0))
	is.Equal(reached.Load(), int64(0))
}
