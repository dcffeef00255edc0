package auth

import "net/http"

// ServeRevoke is the revocation endpoint (RFC 7009).
func (a *Auth) ServeRevoke(w http.ResponseWriter, r *http.Request) {}
