package licensing

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/rate"
	"github.com/seed-d8a106b4/licensekit/licensing/files"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/http/web"
)

// A Limiter bounds how often callers may send requests. Allow counts one
// request of the caller named by key ("client:" and an id, "address:" and an
// address, "key:" and the digest of a license key, or "customer:" and the digest
// of a customer ID) and returns true, or false and how long to wait if the request
// is one too many. It must be safe for concurrent use. If it cannot reach its counters, it decides whether the
// request is allowed.
type Limiter interface {
	Allow(ctx context.Context, key string) (wait time.Duration, ok bool)
}

// rates is a [Limiter] that counts in the memory of this process.
type rates struct {
	byKind map[string]*rate.Limiter // by what a key begins with
	now    func() time.Time
}

// isOffice reports whether the handler is to be an office.
func (o Options) isOffice() bool {
	return slices.ContainsFunc(o.SigningKeys, func(k files.SigningKey) bool { return k.Office != "" })
}

// keyRate returns the limit of requests with one license key; not positive: there is none.
// All programs of an office have the same key, so its limit would be that of all together.
func (o Options) keyRate() int {
	if o.isOffice() {
		return -1
	}
	return o.Limits.KeyRate
}

// limiter returns Limiter or, without it, the rates of Limits; nil: none is limited.
func (o Options) limiter() Limiter {
	if o.Limiter != nil {
		return o.Limiter
	}
	limits := rates{map[string]*rate.Limiter{}, o.Now}
	for kind, perSecond := range map[string]int{"client": o.Limits.ClientRate, "address": o.Limits.AddressRate, "key": o.keyRate(), "customer": o.Limits.KeyRate} {
		if perSecond > 0 {
			limits.byKind[kind] = rate.New(perSecond, time.Second, 2*perSecond)
		}
	}
	if len(limits.byKind) == 0 {
		return nil
	}
	return limits
}

// Allow implements [Limiter].
func (r rates) Allow(_ context.Context, key string) (wait time.Duration, ok bool) {
	kind, _, _ := strings.Cut(key, ":")
	limit := r.byKind[kind]
	if limit == nil {
		return 0, true
	}
	wait = limit.Take(key, r.now())
	return wait, wait == 0
}

// limitClients returns the limit of clients for [auth.Options]: requests to the
// OAuth endpoints count like API requests.
func limitClients(limiter Limiter) func(context.Context, string) time.Duration {
	if limiter == nil {
		return nil
	}
	return func(ctx context.Context, clientID string) time.Duration {
		wait, ok := limiter.Allow(ctx, web.ClientKey(clientID))
		if ok {
			return 0
		}
		return max(wait, time.Second)
	}
}
