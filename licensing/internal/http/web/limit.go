package web

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/rate"
	"github.com/seed-d8a106b4/licensekit/licensing/api"
	"github.com/seed-d8a106b4/licensekit/licensing/licensefile"
)

// ClientKey returns the key by which the requests of a client are counted.
func ClientKey(clientID string) string { return "client:" + clientID }

// LimitCustomer counts one request inside a Site for a customer, and returns a problem
// if it exceeds the limit. The ID is counted by a digest, so that a Limiter does not
// store it.
func LimitCustomer(r *http.Request, id string) error {
	return exchangeOf(r.Context()).site.take(r, "customer:"+keyDigest(id))
}

// LimitAddress counts one request inside a Site for its address, and returns a problem if
// it exceeds the limit.
func LimitAddress(r *http.Request) error {
	s := exchangeOf(r.Context()).site
	return s.take(r, s.cfg.AddressKey(r))
}

// keyDigest returns what stands for a text in the keys of a Limiter.
func keyDigest(text string) string {
	digest := sha256.Sum256([]byte(text))
	return hex.EncodeToString(digest[:16])
}

// limitKey counts one request for a license key, in any of its forms, whether or not a
// license has it. It is counted by a digest, never by the key.
func (s *Site) limitKey(r *http.Request, typed string) error {
	if typed == "" || s.cfg.Limiter == nil {
		return nil
	}
	return s.take(r, "key:"+licensefile.KeyHash(typed))
}

// take counts one request and returns a problem if it exceeds the limit. No request
// counts for an empty key.
func (s *Site) take(r *http.Request, key string) error {
	if key == "" || s.cfg.Limiter == nil {
		return nil
	}
	wait, ok := s.cfg.Limiter.Allow(r.Context(), key)
	if ok {
		return nil
	}
	return NewProblem(http.StatusTooManyRequests, api.CodeRateLimited,
		"Too many requests. Retry after the time in Retry-After.").WithHeader("Retry-After", retryAfter(wait))
}

// AddressKey returns the key by which the requests of an address are counted; for
// IPv6, those of its /64 network. It is empty if the address is unknown. Without
// ClientIP, a private or loopback peer is assumed to be a proxy, whose
// clients must not share one limit.
func (c Config) AddressKey(r *http.Request) string {
	ip := c.clientAddress(r)
	if !ip.IsValid() || c.ClientIP == nil && (ip.IsPrivate() || ip.IsLoopback() || ip.IsLinkLocalUnicast()) {
		return ""
	}
	key := "address:" + rate.Source(ip).String()
	if ip.Is6() {
		key += "/64"
	}
	return key
}

// clientAddress returns the address that r comes from, by ClientIP or,
// without it, that of the connection; not valid: unknown.
func (c Config) clientAddress(r *http.Request) netip.Addr {
	client := rate.Peer
	if c.ClientIP != nil {
		client = c.ClientIP
	}
	return client(r).Unmap().WithZone("")
}

// retryAfter formats a wait for Retry-After: whole seconds, rounded up, with
// random extra time so that clients do not all retry in the same second.
func retryAfter(wait time.Duration) string {
	seconds := max(1, int64(math.Ceil(wait.Seconds())))
	return strconv.FormatInt(seconds+rand.Int64N(seconds/4+2), 10)
}
