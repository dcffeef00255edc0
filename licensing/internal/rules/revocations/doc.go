// Package revocations is which license files are refused before they expire: until when a
// license may have files, which of their generations are accepted, and the revocation list
// of a product.
package revocations

import "github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"

// A Service has the rules of this package for a call.
type Service struct {
	*call.Call
}

// Of returns the rules for a call.
func Of(c *call.Call) Service { return Service{c} }
