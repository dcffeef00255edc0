// Package licenses is the license itself: how it is stored, created, read, changed, moved
// between states, renewed and given another key. One way leads to every change of a
// license: edit and Replace, which write one revision and one event.
//
// Leases belong to the license, because its terms decide how long they are. Here lives
// nothing that knows whether a program may run, or who has paid.
package licenses

import (
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
)

// A Service has the rules of this package for a call.
type Service struct {
	*call.Call
}

// Of returns the rules for a call.
func Of(c *call.Call) Service { return Service{c} }
