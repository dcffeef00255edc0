// Package plans is what a license is made from: plans, which hold the terms that a shop
// sells, and the fields that a plan fills in.
//
// Here lives nothing that knows of licenses, or of who buys them: applying a plan to a
// license is in purchases.
package plans

import (
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
)

// A Service has the rules of this package for a call.
type Service struct {
	*call.Call
}

// Of returns the rules for a call.
func Of(c *call.Call) Service { return Service{c} }
