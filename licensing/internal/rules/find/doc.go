// Package find reads many: lists, searches, counts, the overview, customers and products,
// devices, purchases and events. It writes nothing.
//
// A search examines licenses for a limited time and says where it stopped. Counts are kept
// for a while, and dropped when this process changes a license.
package find

import (
	"sync/atomic"

	"github.com/seed-d8a106b4/licensekit/licensing/internal/rules/call"
)

// A Service has the rules of this package for a call.
type Service struct {
	*call.Call
	Kept     *Kept
	Searched *atomic.Int64 // how long the searches of a request took; nil: each has its own time
	keyless  bool          // Search looks for no key
}
