// Package leave is how something of a customer goes: deletion, transfer to another
// customer, correction and change of a customer's ID, and erasure; and how it is exported. One
// list, traces, names everything that says something of a customer; all of them go through it.
//
// Each of these may take several Updates; the functions say what holds between them.
package leave

import "github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"

// A Service has the rules of this package for a call.
type Service struct{ *call.Call }

// Of returns the rules for a call.
func Of(c *call.Call) Service { return Service{c} }
