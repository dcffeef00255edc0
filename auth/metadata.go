package auth

import (
	"net/http"
	"strings"
)

// Metadata returns a handler of the authorization server metadata of RFC 8414
// for a service at publicURL, an absolute URL without query and fragment. If
// publicURL is empty, the handler answers 404.
//
// If publicURL has a path, mount the handler at the root of the host, at
// /.well-known/oauth-authorization-server followed by that path. Many clients
// also look below publicURL.
func (a *Auth) Metadata(publicURL string) http.Handler {
	issuer := strings.TrimRight(publicURL, "/")
	methods := []string{"client_secret_basic", "client_secret_post"}
	doc := struct {
		Issuer                       string   `json:"issuer"`
		TokenEndpoint                string   `json:"token_endpoint"`
		RevocationEndpoint           string   `json:"revocation_endpoint"`
		IntrospectionEndpoint        string   `json:"introspection_endpoint"`
		GrantTypes                   []string `json:"grant_types_supported"`
		ResponseTypes                []string `json:"response_types_supported"`
		Scopes                       []string `json:"scopes_supported"`
		TokenEndpointMethods         []string `json:"token_endpoint_auth_methods_supported"`
		RevocationEndpointMethods    []string `json:"revocation_endpoint_auth_methods_supported"`
		IntrospectionEndpointMethods []string `json:"introspection_endpoint_auth_methods_supported"`
	}{
		issuer, issuer + "/oauth/token", issuer + "/oauth/revoke", issuer + "/oauth/introspect",
		[]string{"client_credentials"}, []string{}, Scopes(), methods, methods, methods,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case issuer == "":
			a.opts.Fail(w, r, &Error{Status: http.StatusNotFound, Code: "not_found", Description: "There is no metadata because the public URL of the service is not set."})
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			a.opts.Fail(w, r, &Error{Status: http.StatusMethodNotAllowed, Code: "method_not_allowed", Description: "The method must be GET or HEAD."})
		case r.URL.RawQuery != "":
			a.opts.Fail(w, r, invalidRequest("This request has no parameters; omit the query."))
		case r.ContentLength != 0:
			a.opts.Fail(w, r, &Error{Status: http.StatusBadRequest, Code: "unexpected_body", Description: "This request does not take a body; omit it."})
		default:
			w.Header().Set("Cache-Control", "public, max-age=3600")
			writeJSON(w, http.StatusOK, "application/json", doc)
		}
	})
}
