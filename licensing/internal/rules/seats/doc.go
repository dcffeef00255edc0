// Package seats answers whether this program may run: the verdict with its reasons, and
// what follows from it: activations and their leases, the seats that are taken, held by a
// license file or spent, and license files.
//
// A call decides on a Reader what the license allows, and writes then. Here lives nothing
// that changes a license.
package seats

import (
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
)

// A Service has the rules of this package for a call.
type Service struct {
	*call.Call
}

// Of returns the rules for a call.
func Of(c *call.Call) Service { return Service{c} }

// asHolder acts for a license key holder: see Call.AsHolder.
func (s Service) asHolder() Service { return Of(s.AsHolder()) }
