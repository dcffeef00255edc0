// Package purchases is what a customer has bought: purchases that a payment provider
// reports in any order, what they make of a license, trials, and plans that are applied to
// licenses. The terms of a license that purchases made are computed from all of them.
//
// Here lives nothing that knows of payment providers.
package purchases

import (
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
)

// A Service has the rules of this package for a call.
type Service struct {
	*call.Call
}

// Of returns the rules for a call.
func Of(c *call.Call) Service { return Service{c} }
