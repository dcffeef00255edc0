package auth

import "net/http"

// ServeToken is the token endpoint.
func (a *Auth) ServeToken(w http.ResponseWriter, r *http.Request) {}
