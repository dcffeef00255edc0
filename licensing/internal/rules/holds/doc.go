// Package holds is which customers are suspended: with a customer, all licenses of the
// customer are, also later ones. Each change of a license makes the
// suspension of its customer one of the license; see package licenses.
package holds

import "github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"

// A Service has the rules of this package for a call.
type Service struct {
	*call.Call
}

// Of returns the rules for a call.
func Of(c *call.Call) Service { return Service{c} }
