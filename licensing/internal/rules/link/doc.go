// Package link answers how a program gets its license without a typed key: it starts a
// link and polls it, and a customer who is signed in approves or declines it, as in the
// device authorization grant of RFC 8628.
//
// Nothing is activated before the approval, which stores the activation, ends the code and
// marks the link in one Update. Here lives nothing that decides on seats: see package seats.
package link

import "github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"

// A Service has the rules of this package for a call.
type Service struct{ *call.Call }

// Of returns the rules for a call.
func Of(c *call.Call) Service { return Service{c} }
