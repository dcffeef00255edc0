package auth

import (
	"errors"
	"net/http"
	"slices"
	"strings"
)

// ServeIntrospect is the introspection endpoint of RFC 7662: POST with the
// token and the client's credentials, in the ways that [Auth.ServeToken]
// takes them. A client learns about its own tokens and, if it has the scope
// token:introspect, about the tokens of other clients; the answer to anything
// else is {"active":false}.
func (a *Auth) ServeIntrospect(w http.ResponseWriter, r *http.Request) {
	a.serve(w, r, []string{http.MethodPost}, func() (any, error) {
		client, raw, err := a.readTokenRequest(w, r)
		if err != nil {
			return nil, err
		}
		t, err := a.token(r.Context(), raw)
		if err != nil && !errors.Is(err, errBadToken) {
			return nil, err
		}
		mayAsk := t.ClientID == client.ID || slices.Contains(client.Scopes, ScopeTokenIntrospect)
		if err != nil || !mayAsk {
			return introspection{}, nil
		}
		return introspection{
			Active: true, Scope: strings.Join(t.Scopes, " "), ClientID: t.ClientID, Subject: t.ClientID,
			TokenType: "Bearer", ExpiresAt: t.ExpiresAt.Unix(), IssuedAt: t.IssuedAt.Unix(),
		}, nil
	})
}

// An introspection is the answer of RFC 7662 section 2.2. The zero value says
// that the token is not active.
type introspection struct {
	Active    bool   `json:"active"`
	Scope     string `json:"scope,omitempty"`
	ClientID  string `json:"client_id,omitempty"`
	Subject   string `json:"sub,omitempty"`
	TokenType string `json:"token_type,omitempty"`
	ExpiresAt int64  `json:"exp,omitempty"`
	IssuedAt  int64  `json:"iat,omitempty"`
}
