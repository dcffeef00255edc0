// Package sales counts what was sold: by day and plan, from the events of the feed, and the
// licenses in force. It has no prices.
//
// One consumer of the feed adds to an entry for each day. Numbers and position are written
// in one Update, so that an interrupted count repeats nothing and misses nothing. An entry
// of each license in force says what the totals have of it, so they are its sum whatever
// becomes of the events. A report adds in memory what the consumer has not counted yet.
package sales

import (
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
)

// A Service has the rules of this package for a call.
type Service struct {
	*call.Call
}

// Of returns the rules for a call.
func Of(c *call.Call) Service { return Service{c} }
