package webhook

// Internal returns methods for the other packages of this module. Programs must
// not use them: they change without notice.
func (s *Service) Internal() internals { return internals{s} }

// internals are the methods of a Service for the handler.
type internals struct{ *Service }

// Options returns the options in effect, with defaults filled in.
func (s internals) Options() Options { return s.opts }
