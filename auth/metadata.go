package auth

import "net/http"

// Metadata returns the authorization server metadata (RFC 8414).
func (a *Auth) Metadata(publicURL string) http.Handler { return http.NotFoundHandler() }
