package main

import (
	"net/http/httptest"
	"testing"

	"github.com/matryer/is"
)

// TestClientIP: what a client writes into X-Forwarded-For itself does not count.
func TestClientIP(t *testing.T) {
	is := is.New(t)
	trusted, err := parseProxies([]string{"127.0.0.1", "10.0.0.0/8", "::1"})
	is.NoErr(err)
	for _, tt := range []struct{ peer, header, want string }{
		{"127.0.0.1:999", "203.0.113.7", "203.0.113.7"},
		{"[::ffff:127.0.0.1]:999", "203.0.113.7", "203.0.113.7"},
		{"[::1]:999", "2001:db8::1", "2001:db8::1"},
		{"127.0.0.1:999", "192.0.2.1, 203.0.113.7, 10.1.2.3", "203.0.113.7"}, // two proxies
		{"127.0.0.1:999", "", "127.0.0.1"},
		{"127.0.0.1:999", "somewhere", "127.0.0.1"},
		{"198.51.100.2:999", "203.0.113.7", "198.51.100.2"}, // not from a proxy
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = tt.peer
		r.Header.Set("X-Forwarded-For", tt.header)
		is.Equal(trusted.clientIP(r).String(), tt.want) // for each request
	}
	_, err = parseProxies([]string{"127.0.0.1/8/9"})
	is.True(err != nil)
}
