package auth

import (
	"slices"
	"strings"
)

// The scopes of the service. A client has a set of scopes, and each of its tokens
// has all or some of them.
const (
	ScopeLicenseRead  = "license:read"  // read licenses, their seats and verdicts
	ScopeLicenseWrite = "license:write" // create, change and delete licenses
	ScopeEventRead    = "event:read"    // read the event feed
	ScopeWebhookWrite = "webhook:write" // read and change webhook endpoints
	// ScopeCustomerWrite allows a client to export, rename and erase customers, of all
	// products.
	ScopeCustomerWrite = "customer:write"
	ScopeSalesRead     = "sales:read" // read what was sold, of all products
	// ScopeTokenIntrospect allows a client to introspect the tokens of other
	// clients, as a service needs to that receives them. Without it a client
	// can introspect only its own.
	ScopeTokenIntrospect = "token:introspect"
)

// Scopes returns all scopes that a client can have, in their usual order.
func Scopes() []string {
	return []string{ScopeLicenseRead, ScopeLicenseWrite, ScopeEventRead, ScopeWebhookWrite, ScopeCustomerWrite, ScopeSalesRead, ScopeTokenIntrospect}
}

// parseScope reads the scope parameter of RFC 6749 section 3.3: names separated
// by single spaces. It returns false for anything else.
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

// sortScopes sorts scopes in the order of [Scopes].
func sortScopes(scopes []string) {
	order := Scopes()
	slices.SortFunc(scopes, func(a, b string) int { return slices.Index(order, a) - slices.Index(order, b) })
}
