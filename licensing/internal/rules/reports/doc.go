// Package reports answers whether this may be used: reports of usage by license key and by
// license, which are counted, or refused with a verdict.
package reports

import "github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"

// A Service has the rules of this package for a call.
type Service struct{ *call.Call }

// Of returns the rules for a call.
func Of(c *call.Call) Service { return Service{c} }
