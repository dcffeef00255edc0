package files

import (
	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/store"
)

// inside leads the other packages of this module to the methods of internals,
// with [inner.Of].
type inside = inner.Methods[internals]

// internals are the methods of a Service for the handler and the dashboard. Other
// files declare more of them.
type internals struct{ s *Service }

// Of returns the methods for s.
func (internals) Of(s *Service) internals { return internals{s} }

// In returns a Service whose calls are part of a running Update, through its
// store. After the Update, call Flush.
func (i internals) In(st store.Store) *Service {
	in := *i.s
	in.st = st
	return &in
}

// Flush makes the next signature read the keys from the store.
func (i internals) Flush() { i.s.cache.flush() }
