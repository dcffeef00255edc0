package auth

import (
	"slices"
	"strings"
)

// The scopes of the service. A client has a set of them, and each of its
// tokens that set or a part of it.
const (
	ScopeLicenseRead  = "license:read"  // read licenses, their seats and verdicts
	ScopeLicenseWrite = "license:write" // create, change and delete licenses
	ScopeEventRead    = "event:read"    // read the event feed
	ScopeWebhookWrite = "webhook:write" // read and change webhook endpoints
	// ScopeTokenIntrospect lets a client introspect the tokens of others,
	// as a service does that is called with them; without it a client
	// learns only about its own.
	ScopeTokenIntrospect = "token:introspect"
)

// Scopes returns all scopes that a client can have, in the order in which
// they are listed everywhere.
func Scopes() []string {
	return []string{ScopeLicenseRead, ScopeLicenseWrite, ScopeEventRead, ScopeWebhookWrite, ScopeTokenIntrospect}
}

// parseScope reads the scope parameter of RFC 6749 section 3.3: names parted
// by single spaces. It reports false for anything else.
func parseScope(s string) ([]string, bool) {
	names := strings.Split(s, " ")
	for _, name := range names {
		if !isScopeToken(name) {
			return nil, false
		}
	}
	return names, true
}

// isScopeToken reports whether s is a scope-token: printable ASCII without
// space, quotation mark and backslash.
func isScopeToken(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return s != ""
}

// sortScopes puts scopes into the order of Scopes.
func sortScopes(scopes []string) {
	order := Scopes()
	slices.SortFunc(scopes, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
}
