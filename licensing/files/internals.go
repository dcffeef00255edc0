package files

import "github.com/seed-d8a106b4/licensekit/store"

// Internal returns methods for the other packages of this module. Programs must
// not use them: they change without notice.
func (s *Service) Internal() internals { return internals{s} }

type internals struct{ s *Service }

// In returns a Service whose calls are part of a running Update, through its
// store. After the Update, call Flush.
func (i internals) In(st store.Store) *Service {
	in := *i.s
	in.st = st
	return &in
}

// Flush makes the next signature read the keys from the store.
func (i internals) Flush() { i.s.cache.flush() }
