package auth

import (
	"net/http"
	"strings"
)

// ServeToken is the token endpoint of RFC 6749 for the client credentials
// grant. It accepts POST with a form or a JSON object and, unless
// [TokenOptions.DisableGET] is set, GET with a query. The client authenticates
// with Basic authentication or the parameters client_id and client_secret.
// Without the parameter scope, the token has all scopes of the client.
func (a *Auth) ServeToken(w http.ResponseWriter, r *http.Request) {
	methods := []string{http.MethodGet, http.MethodPost}
	if a.opts.Tokens.DisableGET {
		methods = methods[1:]
	}
	if r.Method == http.MethodGet {
		w.Header().Set("Referrer-Policy", "no-referrer")
	}
	a.serve(w, r, methods, func() (any, error) {
		req, err := a.readRequest(w, r, "grant_type", "scope")
		if err != nil {
			return nil, err
		}
		if err := checkGrantType(r.Method, req.params["grant_type"]); err != nil {
			return nil, err
		}
		client, err := a.authenticate(r, req.creds, true)
		if err != nil {
			return nil, err
		}
		raw, t, err := a.issue(r, client, req.params["scope"])
		if err != nil {
			return nil, err
		}
		return struct {
			AccessToken string `json:"access_token"`
			TokenType   string `json:"token_type"`
			ExpiresIn   int64  `json:"expires_in"`
			Scope       string `json:"scope"`
		}{raw, "Bearer", int64(t.ExpiresAt.Sub(t.IssuedAt).Seconds()), strings.Join(t.Scopes, " ")}, nil
	})
}

// checkGrantType returns an error unless the grant is client_credentials. A GET
// request, which RFC 6749 does not have, may omit it.
func checkGrantType(method, grantType string) error {
	switch {
	case grantType == "client_credentials", grantType == "" && method == http.MethodGet:
		return nil
	case grantType == "":
		return invalidRequest("The parameter grant_type is missing; it must be client_credentials.")
	}
	return &Error{
		Status: http.StatusBadRequest, Code: "unsupported_grant_type",
		Description: "The grant_type must be client_credentials.",
	}
}
