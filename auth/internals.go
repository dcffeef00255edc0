package auth

//lint:file-ignore U1000 package inner reaches these methods through a promoted method, which the check does not see.

import (
	"net/http"

	"github.com/seed-d8a106b4/licensekit/internal/inner"
	"github.com/seed-d8a106b4/licensekit/store"
)

// inside leads the other packages of this module to the methods of internals,
// with [inner.Of].
type inside = inner.Methods[internals]

// internals are the methods of an Auth for the dashboard.
type internals struct{ a *Auth }

// Of returns the methods for a.
func (internals) Of(a *Auth) internals { return internals{a} }

// Options returns the options in force, with all defaults filled in.
func (i internals) Options() Options { return i.a.opts }

// In returns an Auth whose calls are part of a running Update, through its store.
// After the Update, call Flush.
func (i internals) In(st store.Store) *Auth {
	in := *i.a
	in.st = st
	return &in
}

// Observe makes the OAuth endpoints call seen with the ID of the client that a request
// names, whether or not the client then proves it, if it has the form of one; and with
// the error of a store that fails. Call it before the first request.
func (i internals) Observe(seen func(r *http.Request, clientID string, failed error)) {
	i.a.seen = seen
}

// Flush makes the next verification of a token read the store.
func (i internals) Flush() { i.a.cache.flush() }
