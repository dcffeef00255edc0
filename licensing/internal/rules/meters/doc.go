// Package meters answers how much of something has been used: the periods and limits of
// the meters of a license, reports of usage, what counted in each period, and the events
// about that.
//
// What is counted is decided in a [Ledger], which reads before it decides, and is written
// in the same Update. Whether a license is valid is the answer of Call.MayUse.
package meters

import "github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"

// A Service has the rules of this package for a call.
type Service struct{ *call.Call }

// Of returns the rules for a call.
func Of(c *call.Call) Service { return Service{c} }
