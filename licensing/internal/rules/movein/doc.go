// Package movein moves licenses in and out: import and export as lines of JSON, and as CSV
// for the dashboard and for licensekit move-in. A row is refused for itself and never affects another.
package movein

import (
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/find"
)

// A Service has the rules of this package for a call.
type Service struct {
	*call.Call
	Find find.Service
}
