package host

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/textproto"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/seed-d8a106b4/licensekit/licensing"
	"github.com/seed-d8a106b4/licensekit/licensing/license"
	"github.com/seed-d8a106b4/licensekit/store/sqlite"
)

// A sink is an SMTP server that keeps what it gets.
type sink struct {
	addr    string
	mu      sync.Mutex
	refuse  string      // an address that it refuses
	arrived chan string // messages
}

func newSink(t *testing.T) *sink {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	s := &sink{addr: ln.Addr().String(), arrived: make(chan string, 10)}
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return s
}

func (s *sink) setRefused(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = address
}

func (s *sink) serve(conn net.Conn) {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	r := textproto.NewReader(bufio.NewReader(conn))
	fmt.Fprint(conn, "220 sink\r\n")
	for {
		line, err := r.ReadLine()
		if err != nil {
			return
		}
		s.mu.Lock()
		refused := s.refuse != "" && strings.HasPrefix(line, "RCPT") && strings.Contains(line, s.refuse)
		s.mu.Unlock()
		switch {
		case refused:
			fmt.Fprint(conn, "550 no such mailbox\r\n")
		case strings.HasPrefix(line, "DATA"):
			fmt.Fprint(conn, "354 go ahead\r\n")
			text, err := r.ReadDotBytes()
			if err != nil {
				return
			}
			s.arrived <- string(text)
			fmt.Fprint(conn, "250 kept\r\n")
		case strings.HasPrefix(line, "QUIT"):
			fmt.Fprint(conn, "221 bye\r\n")
			return
		default:
			fmt.Fprint(conn, "250 ok\r\n")
		}
	}
}

// next returns the next message.
func (s *sink) next(t *testing.T) (m *mail.Message, body string) {
	t.Helper()
	select {
	case text := <-s.arrived:
		m, err := mail.ReadMessage(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(quotedprintable.NewReader(m.Body))
		if err != nil {
			t.Fatal(err)
		}
		return m, string(data)
	case <-time.After(30 * time.Second):
		t.Fatal("no message arrived")
	}
	return nil, ""
}

// TestKeysAreMailed: a new license and a new key are mailed, once each; a license
// without an address and an imported one are not; a refused address is a dead letter,
// which does not delay the others and can be retried.
func TestKeysAreMailed(t *testing.T) {
	is := is.New(t)
	s := newSink(t)
	st, err := sqlite.Open(filepath.Join(t.TempDir(), "licensing.db"))
	is.NoErr(err)
	defer st.Close()
	var h *licensing.Handler
	get := func(ctx context.Context, id string) (license.License, error) { return h.Service().Get(ctx, id) }
	sub := mailKeys(get, mailServer{Addr: s.addr, From: "keys@vendor.example"}.send)
	sub.MaxAttempts, sub.FromStart = 1, true
	h = licensing.NewHandler(st, licensing.Options{Logger: slog.New(slog.DiscardHandler), Subscribers: []licensing.Subscriber{sub}})
	s.setRefused("gone@customer.example")

	create := func(name, email string) license.License {
		p := license.CreateParams{Name: name, ProductID: "atlas", CustomerID: "ada", Metadata: map[string]string{}}
		if email != "" {
			p.Metadata["email"] = email
		}
		l, err := h.Service().Create(t.Context(), p)
		is.NoErr(err)
		return l
	}
	row := `{"name":"Old","product_id":"atlas","customer_id":"ada","key":"KEY-OF-ANOTHER-SYSTEM-1","created_at":"2024-01-01T00:00:00Z","metadata":{"email":"old@customer.example"}}`
	is.NoErr(h.Service().Import(t.Context(), strings.NewReader(row), func(r license.ImportResult) error {
		is.Equal(r.Result, license.ImportCreated)
		return nil
	}))
	create("No address", "")
	create("Gone", "gone@customer.example")
	create("Broken", "not an address")
	ada := create("Ada Lövelace", "Ada <ada@customer.example>")

	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { h.Run(ctx) })
	defer work.Wait()
	defer cancel()

	m, body := s.next(t)
	is.Equal(m.Header.Get("To"), `"Ada" <ada@customer.example>`)
	is.True(strings.Contains(m.Header.Get("Message-ID"), "evt_"))
	is.True(strings.Contains(body, ada.Name) && strings.Contains(body, ada.Key))
	again, err := h.Service().Rekey(t.Context(), license.RekeyParams{ID: ada.ID})
	is.NoErr(err)
	_, body = s.next(t)
	is.True(strings.Contains(body, again.Key) && !strings.Contains(body, ada.Key))

	letters, err := h.DeadLetters(t.Context(), "mail")
	is.NoErr(err)
	is.Equal(len(letters), 2)
	s.setRefused("")
	is.NoErr(h.RetryDeadLetter(t.Context(), letters[0]))
	m, _ = s.next(t)
	is.Equal(m.Header.Get("To"), "<gone@customer.example>")
	is.Equal(len(s.arrived), 0)
}
