package webhook

import "github.com/seed-d8a106b4/licensekit/internal/inner"

// inside leads the other packages of this module to the methods of internals,
// with [inner.Of].
type inside = inner.Methods[internals]

// internals are the methods of a Service for the handler and the dashboard. Other
// files declare more of them.
type internals struct{ *Service }

// Of returns the methods for s.
func (internals) Of(s *Service) internals { return internals{s} }

// Options returns the options in effect, with defaults filled in.
func (s internals) Options() Options { return s.opts }
