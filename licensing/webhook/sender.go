package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/seed-d8a106b4/licensekit/internal/version"
)

const (
	sendTimeout = 15 * time.Second // for one request, from DNS lookup to the end of the response
	answerMost  = 4 << 10          // response body bytes that are read
	excerptMost = 1 << 10          // response body bytes of a failed attempt that are kept
	headerMost  = 16 << 10         // response header bytes
)

// A sender makes single requests to receivers.
type sender struct {
	client *http.Client
	now    func() time.Time
}

// newSender returns a sender that connects directly, without a proxy, to
// addresses that the guard allows, or uses the host's transport if there is one.
func newSender(opts Options, now func() time.Time) *sender {
	transport := opts.Transport
	if transport == nil {
		transport = newTransport(&guard{allowPrivate: opts.AllowPrivate, ports: opts.Ports}, nil)
	}
	return &sender{now: now, client: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func newTransport(g *guard, resolver *net.Resolver) *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: g.control, Resolver: resolver}
	return &http.Transport{
		Proxy:                  nil, // with a proxy, the guard would only see its address
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: headerMost,
		MaxIdleConnsPerHost:    targetSlots,
		IdleConnTimeout:        30 * time.Second,
		DisableCompression:     true,
	}
}

// send makes one Standard Webhooks request. Any 2xx is a success; a redirect is a
// failure.
func (s *sender) send(ctx context.Context, address string, m message, at time.Time, signature string) outcome {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(m.body))
	if err != nil {
		return failure("invalid address")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", version.UserAgent("licensekit"))
	req.Header.Set("webhook-id", m.id)
	req.Header.Set("webhook-timestamp", strconv.FormatInt(at.Unix(), 10))
	req.Header.Set("webhook-signature", signature)
	resp, err := s.client.Do(req)
	if err != nil {
		return failure(describe(err))
	}
	defer resp.Body.Close()
	body := io.LimitReader(resp.Body, answerMost)
	o := outcome{kind: delivered}
	o.attempt.StatusCode = resp.StatusCode
	if resp.StatusCode/100 != 2 {
		o.kind, o.attempt.Error = failed, "answered "+strconv.Itoa(resp.StatusCode)
		o.attempt.Response = excerpt(body)
	}
	_, _ = io.Copy(io.Discard, body) // so that the connection can be reused; only the status matters
	if o.kind == delivered {
		return o
	}
	switch resp.StatusCode {
	case http.StatusGone:
		o.gone = true
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		o.slow = true
	}
	o.retryAfter = retryAfter(resp.Header, s.now())
	return o
}

// excerpt returns the beginning of a response body as text, or nil if there is
// none. Invalid UTF-8 and control characters become question marks.
func excerpt(body io.Reader) *string {
	start, _ := io.ReadAll(io.LimitReader(body, excerptMost)) // a body that ends early is kept too
	for cut := 1; len(start) == excerptMost && cut < utf8.UTFMax; cut++ {
		if tail := start[len(start)-cut:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				start = start[:len(start)-cut]
			}
			break
		}
	}
	text := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t' {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(string(start), "?"))
	if text == "" {
		return nil
	}
	return &text
}

func failure(why string) outcome {
	o := outcome{kind: failed}
	o.attempt.Error = why
	return o
}

// describe summarizes an error for the operator of the webhook, without any
// resolved address.
func describe(err error) string {
	var dns *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.Is(err, errAddress):
		return errAddress.Error()
	case errors.Is(err, errPort):
		return errPort.Error()
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return "no response in time"
	case errors.As(err, &dns):
		return "unknown host"
	case errors.As(err, &certificate):
		return "invalid certificate"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection lost"
	}
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return "no response in time"
	}
	return "connection failed or invalid HTTP"
}
