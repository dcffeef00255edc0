// Package refusals keeps what was refused and how much was asked: why validations and
// activations failed, by license and by reason, and the traffic of each day. It counts in
// memory and stores in batches, so that a validation that changes nothing writes nothing.
package refusals

import (
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
)

// A Service has the rules of this package for a call.
type Service struct {
	*call.Call
	Pending *Pending
}
