// Package meters answers how much of something has been used: the periods and limits of
// the meters of a license, what counted in each period, and the events about that.
//
// What is counted is decided in a [Ledger], which reads before it decides, and is written
// in the same Update. Here lives nothing that knows whether a license is valid: see reports.
package meters

import "github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"

// A Service has the rules of this package for a call.
type Service struct{ *call.Call }

// Of returns the rules for a call.
func Of(c *call.Call) Service { return Service{c} }
