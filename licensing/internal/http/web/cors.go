package web

import (
	"net/http"
	"slices"
)

// The headers that browser programs may send and read.
const (
	corsRequestHeaders  = "Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, X-Request-Id"
	corsResponseHeaders = "ETag, Idempotency-Replayed, Licensing-Version, Link, Location, Retry-After, X-Request-Id"
)

// allowOrigin lets programs from the configured origins read the response and
// answers their preflight requests. OAuth endpoints receive secrets and never
// allow browser access.
func (s *Site) allowOrigin(x *exchange, r *http.Request, allowed string) {
	if len(s.cfg.AllowedOrigins) == 0 {
		return
	}
	h := x.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if !slices.Contains(s.cfg.AllowedOrigins, origin) {
		return
	}
	h.Set("Access-Control-Allow-Origin", origin)
	if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
		h.Set("Access-Control-Allow-Methods", allowed)
		h.Set("Access-Control-Allow-Headers", corsRequestHeaders)
		h.Set("Access-Control-Max-Age", "600")
		return
	}
	h.Set("Access-Control-Expose-Headers", corsResponseHeaders)
}
