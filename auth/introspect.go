package auth

import "net/http"

// ServeIntrospect is the introspection endpoint (RFC 7662).
func (a *Auth) ServeIntrospect(w http.ResponseWriter, r *http.Request) {}
