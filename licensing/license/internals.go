package license

//lint:file-ignore U1000 package inner reaches these methods through a promoted method, which the check does not see.

import (
	"time"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/store"
)

// inside leads the other packages of this module to the methods of internals,
// with [inner.Of].
type inside = inner.Methods[internals]

// internals are the methods of a Service for package webhook, which keeps its
// records in the same store, for the handler and for the dashboard. Other files
// declare more of them.
type internals struct{ *Service }

// Of returns the methods for s.
func (internals) Of(s *Service) internals { return internals{s} }

// Caller returns the Caller that the Service acts for.
func (s internals) Caller() Caller { return s.caller }

// Sees reports whether licenses of a product exist for the Caller. An empty
// product ID asks for all products.
func (s internals) Sees(productID string) bool { return s.sees(productID) }

// Now returns the instant a call takes place at: inside Atomically or Once,
// that of their Update.
func (s internals) Now() time.Time { return s.now() }

// Store returns the store of the Service. Inside Atomically or Once, its calls
// are part of their Update, which fails if an inner Update fails with an error
// that is not one of this package's: anything else may leave partial writes.
func (s internals) Store() store.Store { return s.joined() }
