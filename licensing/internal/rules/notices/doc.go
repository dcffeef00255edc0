// Package notices tells that licenses are about to expire, have expired or have lapsed:
// each license and each notice once, whatever process runs, and however late.
package notices

import (
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
)

// A Service has the rules of this package for a call.
type Service struct {
	*call.Call
}

// Of returns the rules for a call.
func Of(c *call.Call) Service { return Service{c} }
