package webhook

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/internal/testing/require"
)

// serve answers on a raw connection, for what a server would not say.
func serve(t *testing.T, answer func(net.Conn)) (url string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				conn.Read(make([]byte, 64<<10))
				answer(conn)
			}()
		}
	}()
	return "http://" + ln.Addr().String() + "/"
}

// TestOverloadedReceivers: the answers after which the webhook pauses.
func TestOverloadedReceivers(t *testing.T) {
	is := is.New(t)
	for code, slow := range map[int]bool{204: false, 400: false, 410: false, 429: true, 500: false, 502: true, 503: true, 504: true} {
		o := post(t, &receivers{answer: func(string) int { return code }}, "https://x.example/")
		is.Equal(o.attempt.StatusCode, code)
		is.Equal(o.slow, slow)
	}
}

// TestWhatAReceiverCanDoToUs tries to keep a sender, or to fill it.
func TestWhatAReceiverCanDoToUs(t *testing.T) {
	endless := func(head string, chunk []byte) func(net.Conn) {
		return func(conn net.Conn) {
			io.WriteString(conn, head)
			for {
				if _, err := conn.Write(chunk); err != nil {
					return
				}
			}
		}
	}
	junk := []byte(strings.Repeat("x", 64<<10))
	for name, test := range map[string]struct {
		answer func(net.Conn)
		kind   outcomeKind
		why    string
	}{
		"an endless body":   {endless("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n", junk), delivered, ""},
		"an endless header": {endless("HTTP/1.1 200 OK\r\nX: ", junk), failed, "connection failed or invalid HTTP"},
		"no HTTP":           {endless("hello", junk), failed, "connection failed or invalid HTTP"},
		"nothing":           {func(net.Conn) {}, failed, "connection lost"},
		"a cut answer":      {func(c net.Conn) { io.WriteString(c, "HTTP/1.1 200") }, failed, "connection lost"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			o := post(t, newTransport(&guard{allowPrivate: true}, nil), serve(t, test.answer))
			runtime.ReadMemStats(&after)
			is.Equal(o.kind, test.kind)
			is.Equal(o.attempt.Error, test.why)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, 4<<20)
		})
	}
}

// TestARefusedConnectionIsTriedAgain is a receiver that restarts.
func TestARefusedConnectionIsTriedAgain(t *testing.T) {
	is := is.New(t)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	is.NoErr(err)
	ln.Close()
	o := post(t, newTransport(&guard{allowPrivate: true}, nil), "http://"+ln.Addr().String())
	is.Equal(o.kind, failed)
	is.Equal(o.attempt.Error, "connection refused")
}

func TestARedirectIsNotFollowed(t *testing.T) {
	is := is.New(t)
	target, _, reached := receiver(t)
	for _, code := range []int{301, 302, 303, 307, 308} {
		s := httptest.NewServer(http.RedirectHandler(target, code))
		o := post(t, newTransport(&guard{allowPrivate: true}, nil), s.URL)
		s.Close()
		is.Equal(o.kind, failed)
		is.Equal(o.attempt.Error, fmt.Sprint("answered ", code))
	}
	is.Equal(reached.Load(), int64(0))
}

func TestAnInvalidCertificateIsRefused(t *testing.T) {
	is := is.New(t)
	var reached atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshake
	s.StartTLS()
	defer s.Close()
	o := post(t, newTransport(&guard{allowPrivate: true}, nil), s.URL)
	is.Equal(o.kind, failed)
	is.Equal(o.attempt.Error, "invalid certificate")
	is.Equal(reached.Load(), int64(0))
}

func TestRetryAfter(t *testing.T) {
	is := is.New(t)
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "120": 2 * time.Minute, "-5": 0, "1.5": 0, "soon": 0, "99999999999999999999": 0,
		"Mon, 01 Jun 2026 13:00:00 GMT": time.Hour, "Mon, 01 Jun 2026 11:00:00 GMT": 0,
	} {
		is.Equal(retryAfter(http.Header{"Retry-After": {value}}, now), want)
	}
	wait, ok := nextAttempt(1, 100*24*time.Hour)
	is.True(ok)
	is.Equal(wait, 24*time.Hour) // capped
	_, ok = nextAttempt(10, time.Hour)
	is.True(!ok)
}

// TestAFailedAttemptKeepsTheResponse checks what is kept of response bodies.
func TestAFailedAttemptKeepsTheResponse(t *testing.T) {
	cut := strings.Repeat("x", 1022)
	for name, test := range map[string]struct {
		status int
		body   string
		want   string // empty: nothing is kept
	}{
		"success":          {200, "fine", ""},
		"failure":          {500, "no such order\n", "no such order\n"},
		"no body":          {500, "", ""},
		"long body":        {500, strings.Repeat("x", 9000), strings.Repeat("x", 1024)},
		"cut character":    {500, cut + "€" + "x", cut},
		"whole character":  {500, cut[1:] + "€" + "x", cut[1:] + "€"},
		"invalid UTF-8":    {404, "a\xff\xfeb\x00c", "a?b?c"},
		"invalid at limit": {404, cut + "\xff\xff", cut + "?"},
	} {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				io.WriteString(w, test.body)
			}))
			defer s.Close()
			o := post(t, newTransport(&guard{allowPrivate: true}, nil), s.URL)
			is.Equal(o.attempt.StatusCode, test.status)
			is.Equal(o.attempt.Response != nil, test.want != "")
			if o.attempt.Response != nil {
				is.Equal(*o.attempt.Response, test.want)
			}
		})
	}
}
