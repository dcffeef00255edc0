// Package find reads many: lists, searches, counts, the overview, customers and products,
// devices, purchases and events. It writes nothing.
//
// A search examines a limited number of licenses and says where it stopped. Counts are kept
// for a while, and dropped when this process changes a license; an overview of many licenses
// is kept for a minute.
package find

import (
	"sync/atomic"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
)

// A Service has the rules of this package for a call.
type Service struct {
	*call.Call
	Kept     *Kept
	Searched *atomic.Int64 // how many rows the searches of a request have examined; nil: each search counts its own
	keyless  bool          // Search looks for no key
}
