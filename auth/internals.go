package auth

import "github.com/seed-d8a106b4/licensekit/store"

// Internal returns methods for the other packages of this module. Programs must
// not use them: they change without notice.
func (a *Auth) Internal() internals { return internals{a} }

type internals struct{ a *Auth }

// In returns an Auth whose calls are part of a running Update, through its store.
// After the Update, call Flush.
func (i internals) In(st store.Store) *Auth {
	in := *i.a
	in.st = st
	return &in
}

// Flush makes the next verification of a token read the store.
func (i internals) Flush() { i.a.cache.flush() }
