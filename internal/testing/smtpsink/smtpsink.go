// Package smtpsink is a mail server for tests.
package smtpsink

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/textproto"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Sink is an SMTP server that keeps what it gets. Addr is its host and port.
type Sink struct {
	Addr    string
	secure  *tls.Config // for STARTTLS; nil: it is not offered
	mu      sync.Mutex
	lines   []string    // that it was sent, without the messages
	refuse  string      // an address that it refuses
	arrived chan string // messages
}

// New returns a Sink without TLS that ends with the test.
func New(t *testing.T) *Sink { return start(t, nil, false) }

// NewTLS returns a Sink that ends with the test. It is encrypted from the beginning, or it
// offers STARTTLS.
func NewTLS(t *testing.T, secure *tls.Config, implicit bool) *Sink { return start(t, secure, implicit) }

func start(t *testing.T, secure *tls.Config, implicit bool) *Sink {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	s := &Sink{Addr: ln.Addr().String(), arrived: make(chan string, 10)}
	if implicit {
		ln = tls.NewListener(ln, secure)
	} else {
		s.secure = secure
	}
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

// Refuse makes the server refuse an address, and no other.
func (s *Sink) Refuse(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = address
}

func (s *Sink) serve(conn net.Conn) {
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
		s.lines = append(s.lines, line)
		refused := s.refuse != "" && strings.HasPrefix(line, "RCPT") && strings.Contains(line, s.refuse)
		s.mu.Unlock()
		switch {
		case refused:
			fmt.Fprint(conn, "550 no such mailbox\r\n")
		case strings.HasPrefix(line, "EHLO") && s.secure != nil:
			fmt.Fprint(conn, "250-sink\r\n250 STARTTLS\r\n")
		case strings.HasPrefix(line, "STARTTLS") && s.secure != nil:
			fmt.Fprint(conn, "220 go ahead\r\n")
			conn = tls.Server(conn, s.secure)
			r = textproto.NewReader(bufio.NewReader(conn))
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

// Lines returns the commands that the server got.
func (s *Sink) Lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines)
}

// Waiting returns how many messages Next has not returned.
func (s *Sink) Waiting() int { return len(s.arrived) }

// Next returns the next message.
func (s *Sink) Next(t *testing.T) (m *mail.Message, body string) {
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
