package client

import (
	"encoding/json"
	"net/http"
)

// Has reports whether the license is valid and has an entitlement, whatever
// its value. Like Status, it does no I/O.
func (p *Program) Has(entitlement string) bool {
	s := &p.current().status
	_, ok := s.Entitlements[entitlement]
	return ok && s.Valid
}

// Number returns the value of an entitlement, and whether the license is valid
// and has it as a number.
func (p *Program) Number(entitlement string) (n float64, ok bool) {
	s := &p.current().status
	if n, ok = s.Entitlements[entitlement].(float64); !ok || !s.Valid {
		return 0, false
	}
	return n, true
}

// Require returns middleware that answers 403 while the license is not valid
// or lacks one of the entitlements: a problem document with the code
// license_denied.
func (p *Program) Require(entitlements ...string) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s := &p.current().status
			if !s.Valid {
				deny(w, "The license of this application is not valid: "+string(s.Code)+".")
				return
			}
			for _, name := range entitlements {
				if _, ok := s.Entitlements[name]; !ok {
					deny(w, "The license of this application does not include "+name+".")
					return
				}
			}
			next.ServeHTTP(w, r)
		})
	}
}

// deny answers 403 with a problem document, as the service does.
func deny(w http.ResponseWriter, detail string) {
	body, err := json.Marshal(struct {
		Type   string `json:"type"`
		Title  string `json:"title"`
		Status int    `json:"status"`
		Code   string `json:"code"`
		Detail string `json:"detail"`
	}{"about:blank", http.StatusText(http.StatusForbidden), http.StatusForbidden, "license_denied", detail})
	if err != nil {
		panic(err) // strings can always be encoded
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusForbidden)
	w.Write(append(body, '\n'))
}
