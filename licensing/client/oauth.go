package client

import "context"

// A Token is an access token.
type Token struct {
	AccessToken string `json:"access_token"`
	ExpiresIn   int64  `json:"expires_in"` // seconds
	Scope       string `json:"scope"`      // separated by spaces
}

type tokenRequest struct {
	GrantType string `json:"grant_type"`
	Scope     string `json:"scope,omitempty"`
}

// IssueTokenParams are the parameters of [Client.IssueToken].
type IssueTokenParams struct {
	Scope string // separated by spaces; empty: all scopes of the API client
}

// IssueToken returns a new access token, for example one with fewer scopes for
// another program. A Client gets the tokens that it uses by itself. It fails
// with [api.CodeInvalidClient] or [api.CodeInvalidScope].
func (c *Client) IssueToken(ctx context.Context, p IssueTokenParams) (Token, error) {
	return call[Token](ctx, c, "POST /oauth/token", credentials, tokenRequest{"client_credentials", p.Scope})
}

type tokenQuestion struct {
	Token string `json:"token"`
}

// RevokeToken revokes an access token of the API client. Unknown tokens are
// ignored.
func (c *Client) RevokeToken(ctx context.Context, token string) error {
	_, err := call[struct{}](ctx, c, "POST /oauth/revoke", credentials, tokenQuestion{token})
	return err
}

// An Introspection describes an access token. If Active is false, all other
// fields are empty.
type Introspection struct {
	Active    bool   `json:"active"`
	Scope     string `json:"scope"` // separated by spaces
	ClientID  string `json:"client_id"`
	Subject   string `json:"sub"`
	ExpiresAt int64  `json:"exp"` // Unix time
	IssuedAt  int64  `json:"iat"` // Unix time
}

// IntrospectToken describes an access token of the API client or, with the
// scope token:introspect, of any.
func (c *Client) IntrospectToken(ctx context.Context, token string) (Introspection, error) {
	return call[Introspection](ctx, c, "POST /oauth/introspect", credentials, tokenQuestion{token})
}

// Metadata describes the authorization server (RFC 8414).
type Metadata struct {
	Issuer                                    string   `json:"issuer"`
	TokenEndpoint                             string   `json:"token_endpoint"`
	RevocationEndpoint                        string   `json:"revocation_endpoint"`
	IntrospectionEndpoint                     string   `json:"introspection_endpoint"`
	GrantTypesSupported                       []string `json:"grant_types_supported"`
	ResponseTypesSupported                    []string `json:"response_types_supported"`
	ScopesSupported                           []string `json:"scopes_supported"`
	TokenEndpointAuthMethodsSupported         []string `json:"token_endpoint_auth_methods_supported"`
	RevocationEndpointAuthMethodsSupported    []string `json:"revocation_endpoint_auth_methods_supported"`
	IntrospectionEndpointAuthMethodsSupported []string `json:"introspection_endpoint_auth_methods_supported"`
}

// GetMetadata returns the metadata of the authorization server. It fails with
// [api.CodeNotFound] if the service does not know its public URL.
func (c *Client) GetMetadata(ctx context.Context) (Metadata, error) {
	return call[Metadata](ctx, c, "GET /.well-known/oauth-authorization-server", anonymous, nil)
}
